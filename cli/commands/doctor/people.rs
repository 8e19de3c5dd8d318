//! Whether those whom the tools ask for are there.

use holdpoint::client::Client;
use holdpoint_engine::identity::{Identity, Role};
use holdpoint_engine::tool::ToolsFile;
use holdpoint_web::wire::Person;

use super::Findings;
use crate::voters::lacks;

/// The people of a running server, for whoever may ask for them.
pub(super) async fn at_server(client: &Client, tools: Option<&ToolsFile>, findings: &mut Findings) {
    let answer = match client.get("/v1/people").await {
        Ok(answer) => answer,
        Err(error) => return not_looked_at(&error.to_string(), findings),
    };
    let found = answer.body.get("data").cloned();
    let found = found.map(serde_json::from_value::<Vec<Person>>);
    match found {
        Some(Ok(people)) => look(&people, tools, findings),
        Some(Err(_)) | None => not_looked_at("the server answered without a list", findings),
    }
}

/// A finding that says so: silence would look as if all were well.
pub(super) fn not_looked_at(why: &str, findings: &mut Findings) {
    findings.warn(
        "people",
        format!("not looked at: {why}"),
        "holdpoint login EMAIL as an administrator, then run it again",
    );
}

/// Looks at them, and at what the tools ask for.
pub(super) fn look(people: &[Person], tools: Option<&ToolsFile>, findings: &mut Findings) {
    let has = |person: &Person, role: Role| person.roles.iter().any(|name| name == role.name());
    let enabled: Vec<_> = people
        .iter()
        .filter(|person| person.disabled.is_none())
        .collect();
    let approvers: Vec<_> = enabled
        .iter()
        .filter(|person| has(person, Role::Approver))
        .collect();
    if !enabled.iter().any(|person| has(person, Role::Admin)) {
        findings.warn(
            "people",
            "nobody is an administrator",
            "holdpoint user add EMAIL --name NAME --role admin --password-file FILE",
        );
    }
    let voting: Vec<_> = approvers.iter().map(|person| &person.groups).collect();
    for lack in tools
        .iter()
        .flat_map(|tools| lacks(&tools.registry, &voting))
    {
        findings.warn("approvers", lack.words, &lack.help);
    }
    findings.good(
        "people",
        format!(
            "{} can sign in, {} of them approve",
            enabled.len(),
            approvers.len()
        ),
    );
}

/// The same people, as the folder has them.
pub(super) fn in_folder(identity: &Identity, tools: Option<&ToolsFile>, findings: &mut Findings) {
    let people: Vec<Person> = identity.people().iter().map(Person::from).collect();
    look(&people, tools, findings);
}

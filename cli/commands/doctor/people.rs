//! Whether those whom the tools ask for are there.

use std::collections::BTreeSet;

use holdpoint::client::Client;
use holdpoint_engine::action::SafetyClass;
use holdpoint_engine::identity::Role;
use holdpoint_engine::tool::{Tool, ToolsFile};
use holdpoint_web::wire::Person;

use super::Findings;

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

/// What a tool asks of approvers: how many, out of which groups, and in which case.
struct Asked<'a> {
    required: u32,
    groups: &'a BTreeSet<String>,
    case: Option<&'a str>,
}

fn asked(tool: &Tool) -> impl Iterator<Item = Asked<'_>> {
    let policy = &tool.approval;
    let always = Asked {
        required: policy.required,
        groups: &policy.groups,
        case: None,
    };
    let rules = policy.rules.iter().map(|rule| Asked {
        required: rule.required,
        groups: &rule.groups,
        case: Some(&rule.reason),
    });
    std::iter::once(always).chain(rules)
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
    let groups: BTreeSet<&str> = approvers
        .iter()
        .flat_map(|person| person.groups.iter().map(String::as_str))
        .collect();
    let known = if groups.is_empty() {
        "none".to_owned()
    } else {
        groups.into_iter().collect::<Vec<_>>().join(", ")
    };
    let bound = tools
        .iter()
        .flat_map(|tools| tools.registry.iter())
        .filter(|tool| tool.class == SafetyClass::ApprovalBound);
    for tool in bound {
        for asked in asked(tool) {
            let counts = |person: &&&&Person| {
                asked.groups.is_empty() || !asked.groups.is_disjoint(&person.groups)
            };
            let can = approvers.iter().filter(counts).count();
            if can < usize::try_from(asked.required).unwrap_or(usize::MAX) {
                missing(&tool.name, &asked, can, &known, findings);
            }
        }
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

fn missing(tool: &str, asked: &Asked<'_>, can: usize, known: &str, findings: &mut Findings) {
    let case = asked
        .case
        .map_or_else(String::new, |reason| format!(" where it is {reason:?}"));
    let group = asked
        .groups
        .first()
        .map_or_else(String::new, |group| format!(" --group {group}"));
    findings.warn(
        "approvers",
        format!(
            "{tool} needs {} approvals{case}, and {can} people can give one",
            asked.required
        ),
        &format!("holdpoint user add … --role approver{group}; groups with approvers: {known}"),
    );
}

/// The same people, as the folder has them.
pub(super) fn in_folder(
    people: &[holdpoint_engine::identity::Person],
    tools: Option<&ToolsFile>,
    findings: &mut Findings,
) {
    let people: Vec<Person> = people.iter().map(Person::from).collect();
    look(&people, tools, findings);
}

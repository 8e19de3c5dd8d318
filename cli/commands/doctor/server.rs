//! The running server, and what is stuck in it.

use serde_json::Value;

use super::Findings;
use crate::client::{Client, ServerArgs};
use crate::output::field;

/// How many stuck actions are explained one by one.
const EXPLAINED_MAX: usize = 20;

/// Asks the server how it is; with a token, also for actions that do not move.
pub(super) async fn look(args: &ServerArgs, held: bool, findings: &mut Findings) {
    let client = match Client::new(args) {
        Ok(client) => client,
        Err(failure) => {
            findings.bad(
                "server",
                failure.message(),
                "correct --server and --token-file",
            );
            return;
        }
    };
    if let Err(failure) = client.get_text("/livez").await {
        let words = failure.message().to_owned();
        if held {
            findings.bad(
                "server",
                format!("{words}, but a process holds the data folder"),
                "name its address with --server; if it hangs, restart it: nothing acknowledged is lost",
            );
        } else {
            findings.warn("server", words, "start it with `holdpoint serve`");
        }
        return;
    }
    match client.get_text("/readyz").await {
        Ok(()) => findings.good("server", format!("{} is ready", client.server())),
        Err(failure) => findings.bad(
            "server",
            format!(
                "{} takes no actions: {}",
                client.server(),
                failure.message()
            ),
            "look at its log; after a failed write it waits for a restart",
        ),
    }
    if !client.has_token() {
        findings.warn(
            "actions",
            "not looked at: there is no token",
            "holdpoint login EMAIL as an operator or auditor, then run it again",
        );
        return;
    }
    let path = format!("/v1/actions?status=unknown&limit={EXPLAINED_MAX}");
    match client.get(&path).await {
        Err(failure) => findings.warn("actions", failure.message(), "use the token of an operator"),
        Ok(answer) => {
            let actions = answer.body.get("data").and_then(Value::as_array);
            let actions = actions.map_or(&[][..], Vec::as_slice);
            if actions.is_empty() {
                findings.good("actions", "none has an unknown outcome");
            }
            for action in actions {
                explain(action, findings);
            }
        }
    }
}

/// Why an action of unknown outcome does not move, and what would move it.
fn explain(action: &Value, findings: &mut Findings) {
    let id = field(action, "/id");
    let since = field(action, "/doubt/since");
    let next = field(action, "/doubt/next_check");
    let words = format!(
        "{id} ({}): the call went out, and whether it took effect is not known since {since}",
        field(action, "/summary")
    );
    if next == "-" {
        findings.warn(
            "actions",
            words,
            &format!(
                "nothing can be asked any more: look at the target, then `holdpoint actions settle {id} --happened|--did-not-happen --reason HOW-YOU-KNOW`"
            ),
        );
    } else {
        let quiet = field(action, "/doubt/quiet_at");
        findings.warn(
            "actions",
            words,
            &format!(
                "the tool's check is asked again at {next}; \"not found\" counts only after {quiet}, when no copy of the call can be on its way"
            ),
        );
    }
}

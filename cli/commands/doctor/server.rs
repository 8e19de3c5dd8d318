//! The running server, and what is stuck in it.

use holdpoint_engine::tool::ToolsFile;
use serde_json::Value;

use super::folder::Looked;
use super::{Explained, Findings, NONE, people, webhooks};
use crate::client::{self, ServerArgs};
use crate::commands::pause;
use crate::output::field;

/// How many stuck actions are explained one by one.
const EXPLAINED_MAX: usize = 20;

/// Asks the server how it is; with a token, also for actions that do not move.
pub(super) async fn look(
    args: &ServerArgs,
    folder: Looked,
    tools: Option<&ToolsFile>,
    findings: &mut Findings,
) {
    let client = match client::connect(args) {
        Ok(client) => client,
        Err(failure) => {
            findings.bad(
                "server",
                failure.in_a_line(),
                "correct --server and --token-file",
            );
            return;
        }
    };
    if let Err(error) = client.get_text("/livez").await {
        let words = error.to_string();
        if folder == Looked::Held {
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
        Err(error) => findings.bad(
            "server",
            format!("{} takes no actions: {error}", client.server()),
            "what it says is what to do; after a failed write it waits for a restart, and its log says why",
        ),
    }
    if !client.has_token() {
        findings.warn(
            "actions",
            "not looked at: there is no token",
            "holdpoint login EMAIL as an operator or auditor, then run it again",
        );
        let help = "holdpoint login EMAIL as an operator or auditor, then run it again";
        webhooks::not_looked_at("there is no token", help, findings);
        if folder != Looked::Within {
            people::not_looked_at("there is no token", findings);
        }
        return;
    }
    match client.get("/v1/pause").await {
        Err(error) => findings.warn("pause", error.to_string(), "look at the log of the server"),
        Ok(answer) if answer.body.get("paused").and_then(Value::as_bool) == Some(true) => {
            findings.warn(
                "pause",
                pause::words(&answer.body),
                "nothing new is sent; `holdpoint resume` once the reason is gone",
            );
        }
        Ok(_) => findings.good("pause", "not paused: what is due is sent"),
    }
    if folder != Looked::Within {
        people::at_server(&client, tools, findings).await;
    }
    // Whoever may ask this may see all endpoints too.
    match client.get("/v1/attention").await {
        Err(error) => {
            findings.warn(
                "actions",
                format!("not looked at: {error}"),
                "use the token of an operator, an auditor or an administrator",
            );
            let why = "this token does not see all endpoints";
            webhooks::not_looked_at(why, webhooks::WHOSE_TOKEN, findings);
        }
        Ok(answer) => {
            let found = answer.body.get("data").and_then(Value::as_array);
            let found = found.map_or(&[][..], Vec::as_slice);
            if found.is_empty() {
                findings.good("actions", NONE);
            }
            for one in found.iter().take(EXPLAINED_MAX) {
                explain(one, findings);
            }
            let total = |trouble: &str| {
                answer.body[format!("{trouble}_total")]
                    .as_u64()
                    .unwrap_or(0)
            };
            let totals =
                ["unknown", "stuck", "short", "alarm"].map(|trouble| (trouble, total(trouble)));
            more(totals, found, findings);
            webhooks::at_server(&client, findings).await;
        }
    }
}

/// How many of them were not explained, and where they are listed.
fn more(totals: [(&str, u64); 4], found: &[Value], findings: &mut Findings) {
    let told = found.iter().take(EXPLAINED_MAX);
    let of = |trouble: &str| told.clone().filter(|one| one["trouble"] == trouble).count() as u64;
    let left = totals.map(|(trouble, total)| total.saturating_sub(of(trouble)));
    if let Some(words) = super::more_in_words(left) {
        findings.warn(
            "actions",
            words,
            "`holdpoint actions ls --status unknown` (or approved, accepted, staged, failed) lists them all; the \
             page /outcomes of the server explains the first of each",
        );
    }
}

/// Why an action does not move, and what would move it.
fn explain(one: &Value, findings: &mut Findings) {
    let tried = one.get("tried").and_then(Value::as_array);
    let tried: Vec<&str> = tried
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let why = Explained {
        id: &field(one, "/id"),
        summary: &field(one, "/summary"),
        trouble: &field(one, "/trouble"),
        since: &field(one, "/since"),
        next: &field(one, "/next"),
        tried: &tried,
    };
    findings.warn("actions", why.words(), &field(one, "/help"));
}

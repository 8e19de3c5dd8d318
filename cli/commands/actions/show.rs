//! `holdpoint actions show`, and how an action is laid out for reading.

use std::fmt::Write as _;

use clap::Args;
use holdpoint::client::Client;
use serde_json::Value;

use crate::client::{self, ServerArgs};
use crate::commands::pause::Watch;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::{Output, field};

/// The arguments of `actions show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The action, act_…
    id: String,
    /// Its receipt instead: the account of what was done, for the caller
    #[arg(long, conflicts_with = "events")]
    receipt: bool,
    /// Its history as well
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Prints one action.
pub(super) async fn run(args: ShowArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = super::path(&args.id)?;
    if args.receipt {
        let receipt = client.get(&format!("{path}/receipt")).await?;
        output.value(&receipt.body)?;
        return Ok(ExitCode::Ok);
    }
    let mut action = client.get(&path).await?.body;
    if args.events {
        let events = client.get(&format!("{path}/events")).await?.body;
        if output.json {
            if let Value::Object(members) = &mut action {
                members.insert("events".to_owned(), events);
            }
            output.value(&action)?;
        } else {
            output.line(&describe(&action))?;
            crate::commands::events::print_table(&events, output)?;
        }
        return Ok(ExitCode::Ok);
    }
    if output.json {
        output.value(&action)?;
    } else {
        output.line(describe(&action).trim_end())?;
        note_next(&action, output);
    }
    note_pause(&client, &action, output).await;
    Ok(ExitCode::Ok)
}

/// Everything about an action, escaped, one fact a line.
pub(super) fn describe(action: &Value) -> String {
    let mut out = String::new();
    for (name, pointer) in [
        ("id", "/id"),
        ("status", "/status"),
        ("tool", "/tool"),
        ("class", "/safety_class"),
        ("summary", "/summary"),
        ("caller", "/caller/name"),
        ("kind of caller", "/caller/kind"),
        ("caller's words", "/reason"),
        ("created", "/created_at"),
        ("updated", "/updated_at"),
        ("not before", "/not_before"),
        ("due", "/due_at"),
        ("revision", "/revision"),
        ("digest", "/digest"),
        ("idempotency key", "/idempotency_key"),
    ] {
        line(&mut out, name, action, pointer);
    }
    block(&mut out, "arguments", action.get("args"));
    request(&mut out, action.get("request"));
    snapshot(&mut out, action.get("snapshot"));
    approval(&mut out, action.get("approval"));
    for attempt in array(action.get("attempts")) {
        let _ = writeln!(out, "attempt {}", escape::text(&field(attempt, "/number")));
        for (name, pointer) in [
            ("  started", "/started_at"),
            ("  ended", "/ended_at"),
            ("  result", "/result"),
            ("  HTTP status", "/http_status"),
            ("  window", "/window"),
            ("  worker", "/lease/name"),
            ("  worker's key", "/lease/worker"),
            ("  lease until", "/lease/until"),
        ] {
            line(&mut out, name, attempt, pointer);
        }
    }
    block(&mut out, "result", action.get("result"));
    let diff = array(action.get("diff"));
    if !diff.is_empty() {
        out.push_str("moved since the approval\n");
        for change in diff {
            let shown = |name: &str| {
                change
                    .get(name)
                    .map_or_else(|| "-".to_owned(), escape::json)
            };
            let _ = writeln!(
                out,
                "  {}: {} -> {}",
                escape::text(&field(change, "/path")),
                shown("approved"),
                shown("now"),
            );
        }
    }
    out
}

fn request(out: &mut String, request: Option<&Value>) {
    let Some(request) = request.filter(|request| !request.is_null()) else {
        return;
    };
    let _ = writeln!(
        out,
        "what will be sent\n  {} {}",
        escape::text(&field(request, "/method")),
        escape::text(&field(request, "/url"))
    );
    if let Some(headers) = request.get("headers").filter(|headers| !headers.is_null()) {
        block(out, "  headers", Some(headers));
    }
    block(out, "  body", request.get("body"));
}

fn snapshot(out: &mut String, snapshot: Option<&Value>) {
    let Some(snapshot) = snapshot.filter(|snapshot| !snapshot.is_null()) else {
        return;
    };
    out.push_str("the state it was decided on\n");
    line(out, "  read", snapshot, "/taken_at");
    line(out, "  digest", snapshot, "/digest");
    block(out, "  watched", snapshot.get("watched"));
    block(out, "  state", snapshot.get("state"));
}

fn approval(out: &mut String, approval: Option<&Value>) {
    let Some(approval) = approval.filter(|approval| !approval.is_null()) else {
        return;
    };
    out.push_str("approval\n");
    line(out, "  required", approval, "/required");
    if array(approval.get("groups")).is_empty() {
        out.push_str("  by: any approver\n");
    } else {
        block(out, "  groups", approval.get("groups"));
    }
    line(out, "  deadline", approval, "/deadline");
    line(out, "  held until", approval, "/hold_until");
    for reason in array(approval.get("because")) {
        let _ = writeln!(
            out,
            "  because: {}",
            escape::text(reason.as_str().unwrap_or_default())
        );
    }
    for words in array(approval.get("short")) {
        let words = escape::text(words.as_str().unwrap_or_default());
        let _ = writeln!(out, "  short: {words}");
    }
    for vote in array(approval.get("votes")) {
        let _ = writeln!(
            out,
            "  vote: {} by {} ({}) at {}, reason: {}",
            escape::text(&field(vote, "/vote")),
            escape::text(&field(vote, "/name")),
            escape::text(&field(vote, "/person")),
            escape::text(&field(vote, "/at")),
            escape::text(&field(vote, "/reason")),
        );
    }
}

fn line(out: &mut String, name: &str, value: &Value, pointer: &str) {
    let text = field(value, pointer);
    if text != "-" {
        let _ = writeln!(out, "{name}: {}", escape::text(&text));
    }
}

/// A JSON value, in full, indented under its name.
fn block(out: &mut String, name: &str, value: Option<&Value>) {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return;
    };
    let indent = name.len() - name.trim_start().len() + 2;
    let text = escape::json_pretty(value);
    if text.contains('\n') {
        let _ = writeln!(out, "{name}:");
        for line in text.lines() {
            let _ = writeln!(out, "{:indent$}{line}", "");
        }
    } else {
        let _ = writeln!(out, "{name}: {text}");
    }
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Says what a person can do about an action.
pub(super) fn note_next(action: &Value, output: Output) {
    if let Some(next) = next_step(action) {
        output.note(&next);
    }
    for words in array(action.pointer("/approval/short")) {
        output.note(&escape::text(words.as_str().unwrap_or_default()));
    }
}

/// Says whether a pause keeps an action where it is.
pub(super) async fn note_pause(client: &Client, action: &Value, output: Output) {
    if matches!(field(action, "/status").as_str(), "approved" | "accepted") {
        Watch::default().tell(client, output).await;
    }
}

/// What a person can do about an action in this status.
fn next_step(action: &Value) -> Option<String> {
    let id = escape::text(&field(action, "/id"));
    let pulled = action.pointer("/request/method").and_then(Value::as_str) == Some("WORK");
    Some(match action.get("status").and_then(Value::as_str)? {
        "approved" | "accepted" if pulled => {
            "it waits for a worker to take it; its key needs the scope work:TOOL".to_owned()
        }
        "staged" => format!(
            "it waits for people: `holdpoint actions approve {id}`, or reject {id} --reason WHY"
        ),
        "approved" | "accepted" if field(action, "/not_before") != "-" => format!(
            "it is scheduled, and not called before {}; `holdpoint actions cancel {id}` takes it back until then",
            escape::text(&field(action, "/not_before"))
        ),
        "approved" => {
            format!("it is approved and will be called; `holdpoint actions wait {id}` follows it")
        }
        "unknown" => format!(
            "whether it happened is not known yet; where no check can tell, look at the target, then `holdpoint actions settle {id} --happened|--did-not-happen --reason WHY`"
        ),
        "replan_required" => {
            "the world is no longer the one that was approved; propose it again from what is true now"
                .to_owned()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn hostile_text_in_any_field_is_escaped() {
        let evil = "\u{1b}[31mpaid\u{202e}\nstatus: succeeded";
        let action = json!({
            "id": evil, "status": "staged", "summary": evil, "reason": evil, "args": { evil: evil },
            "caller": { "name": evil }, "request": { "method": evil, "url": evil, "body": evil },
            "snapshot": { "digest": evil, "state": evil }, "diff": [ { "path": evil, "now": evil } ],
            "approval": { "because": [evil], "votes": [ { "person": evil, "reason": evil } ] },
        });
        let text = super::describe(&action);
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
        assert!(
            !text.lines().any(|line| line == "status: succeeded"),
            "{text}"
        );
    }

    #[test]
    fn arguments_are_shown_in_full() {
        let long = "x".repeat(10_000);
        assert!(super::describe(&json!({ "args": { "note": long } })).contains(&long));
    }
}

//! Endpoints and messages as people and programs read them.

use serde_json::{Value, json};

use crate::commands::admin::Admin;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::{Output, field};

/// A secret, once.
pub(super) fn print_secret(secret: &str, endpoint: &Value, what: &str, output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "secret": secret, "endpoint": endpoint }))?;
    } else {
        output.line(&escape::text(secret))?;
    }
    output.note(&format!(
        "{what} {}; the line on stdout is the secret, and it is not shown again",
        escape::text(&field(endpoint, "/id"))
    ));
    Ok(ExitCode::Ok)
}

fn state(endpoint: &Value) -> String {
    match endpoint.pointer("/disabled/reason").and_then(Value::as_str) {
        Some(reason) => format!(
            "disabled ({}): {reason}",
            field(endpoint, "/disabled/cause")
        ),
        None if endpoint["silent"].is_string() => {
            format!("enabled, but {}", field(endpoint, "/silent"))
        }
        None if endpoint["trying"].is_null() => "enabled".to_owned(),
        None => format!(
            "enabled, {} attempts at position {}, the next at {}",
            field(endpoint, "/trying/attempts"),
            field(endpoint, "/trying/position"),
            field(endpoint, "/trying/next_attempt_at")
        ),
    }
}

fn words(endpoint: &Value, key: &str) -> String {
    let names = endpoint.get(key).and_then(Value::as_array);
    let names: Vec<_> = names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if names.is_empty() {
        "all".to_owned()
    } else {
        names.join(", ")
    }
}

/// One endpoint.
pub(super) fn print(endpoint: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(endpoint)?;
        return Ok(ExitCode::Ok);
    }
    let rows = [
        ("id", field(endpoint, "/id")),
        ("name", field(endpoint, "/name")),
        ("url", field(endpoint, "/url")),
        ("owner", field(endpoint, "/owner")),
        ("types", words(endpoint, "types")),
        ("tools", words(endpoint, "tools")),
        ("state", state(endpoint)),
        ("position", field(endpoint, "/position")),
        ("old secret until", field(endpoint, "/old_secret_until")),
        ("created", field(endpoint, "/created_at")),
        ("changed", field(endpoint, "/updated_at")),
    ];
    for (name, value) in rows {
        output.line(&format!("{name:<18}{}", escape::text(&value)))?;
    }
    Ok(ExitCode::Ok)
}

/// Endpoints as a table.
pub(super) fn print_list(endpoints: &[Value], admin: &Admin, output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "data": endpoints }))?;
    } else if endpoints.is_empty() {
        // A server lists those of the credential only; others may have made some.
        let none = match admin {
            Admin::Server(_) => {
                "no webhook endpoints that you may see; whoever may make one does it with `holdpoint webhooks add`"
            }
            Admin::Folder { .. } => {
                "no webhook endpoints yet; make one with `holdpoint webhooks add`"
            }
        };
        output.note(none);
    } else {
        let rows = endpoints.iter().map(|endpoint| {
            [
                field(endpoint, "/id"),
                field(endpoint, "/name"),
                field(endpoint, "/url"),
                words(endpoint, "types"),
                field(endpoint, "/position"),
                state(endpoint),
            ]
        });
        output.table(["id", "name", "url", "types", "position", "state"], rows)?;
    }
    Ok(ExitCode::Ok)
}

fn last_attempt(delivery: &Value) -> String {
    let last = delivery["attempts"].as_array().and_then(|all| all.last());
    let Some(last) = last else {
        return "-".to_owned();
    };
    match last["error"].as_str() {
        Some(error) => error.to_owned(),
        None => format!("answered {}", field(last, "/http_status")),
    }
}

/// What came of a message that was sent by hand.
pub(super) fn print_sent(delivery: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(delivery)?;
    } else {
        output.line(&escape::text(&format!(
            "{} {}: {}",
            field(delivery, "/id"),
            field(delivery, "/status"),
            last_attempt(delivery)
        )))?;
    }
    if delivery["status"] == "delivered" {
        return Ok(ExitCode::Ok);
    }
    output.note("it was not taken");
    Ok(ExitCode::Failure)
}

/// Messages as a table.
pub(super) fn print_deliveries(deliveries: &[Value], output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "data": deliveries }))?;
    } else if deliveries.is_empty() {
        output.note("nothing was sent yet");
    } else {
        let rows = deliveries.iter().map(|delivery| {
            [
                field(delivery, "/id"),
                field(delivery, "/type"),
                field(delivery, "/status"),
                field(delivery, "/attempts_made"),
                field(delivery, "/next_attempt_at"),
                last_attempt(delivery),
            ]
        });
        let head = ["id", "type", "status", "attempts", "next", "last attempt"];
        output.table(head, rows)?;
    }
    Ok(ExitCode::Ok)
}

//! Sessions of the Codex command line: `response_item` lines.

use serde_json::{Map, Value};

use super::error::RecordingError;
use super::gather::{Answered, Called, Gather, text_of};
use super::reader::{Line, take_text};
use crate::canon::{parse_answer, parse_strict};

pub(super) fn line(gather: &mut Gather, line: Line) -> Result<(), RecordingError> {
    let Line { mut members, .. } = line;
    gather.moment(members.get("timestamp"));
    if members.get("type").and_then(Value::as_str) != Some("response_item") {
        return Ok(());
    }
    let Some(Value::Object(mut payload)) = members.remove("payload") else {
        return Err(gather.error("a \"response_item\" without a \"payload\""));
    };
    match payload.get("type").and_then(Value::as_str) {
        Some("message") => message(gather, &payload),
        Some("function_call") => {
            let id = take_text(&mut payload, "call_id");
            let tool = take_text(&mut payload, "name");
            let (Some(id), Some(tool)) = (id, tool) else {
                let what = "a \"function_call\" without the texts \"call_id\" and \"name\"";
                return Err(gather.error(what));
            };
            let (args, inexact) = arguments(gather, &mut payload)?;
            gather.call(Called {
                id,
                tool,
                args,
                hints: None,
                inexact,
            })?;
        }
        Some("function_call_output") => {
            let Some(id) = take_text(&mut payload, "call_id") else {
                return Err(gather.error("a \"function_call_output\" without the text \"call_id\""));
            };
            let (ok, body) = output(payload.remove("output").unwrap_or_default());
            gather.result(Answered {
                id,
                ok,
                status: None,
                body,
            })?;
        }
        Some("custom_tool_call" | "local_shell_call" | "web_search_call") => gather.foreign += 1,
        Some(_) | None => {}
    }
    Ok(())
}

fn message(gather: &mut Gather, payload: &Map<String, Value>) {
    let content = payload.get("content").and_then(Value::as_array);
    let Some(text) = content.and_then(|items| text_of(items)) else {
        return;
    };
    match payload.get("role").and_then(Value::as_str) {
        Some("assistant") => gather.say(&text),
        Some("user") => gather.about(&text),
        Some(_) | None => {}
    }
}

/// The arguments, which are JSON in a string; and whether a number of them lost its type.
fn arguments(
    gather: &Gather,
    payload: &mut Map<String, Value>,
) -> Result<(Map<String, Value>, bool), RecordingError> {
    let text = take_text(payload, "arguments").unwrap_or_default();
    if text.trim().is_empty() {
        return Ok((Map::new(), false));
    }
    let (value, inexact) = match parse_strict(text.as_bytes()) {
        Ok(value) => (value, false),
        Err(_) => match parse_answer(text.as_bytes()) {
            Ok(value) => (value, true),
            Err(error) => {
                let message = error.message;
                return Err(gather.error(format!("\"arguments\" are not JSON: {message}")));
            }
        },
    };
    match value {
        Value::Object(args) => Ok((args, inexact)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(gather.error("\"arguments\" are not a JSON object"))
        }
    }
}

/// Whether it went well, and what came back. Programs are wrapped in a report of how they ended.
fn output(output: Value) -> (bool, Value) {
    match output {
        Value::String(text) => {
            if let Some((code, rest)) = ended(&text) {
                return (code == 0, Value::String(rest.to_owned()));
            }
            let wrapped = parse_answer(text.as_bytes()).ok();
            match wrapped {
                Some(Value::Object(mut members))
                    if members.len() == 2 && members.contains_key("output") =>
                {
                    let code = members
                        .get("metadata")
                        .and_then(|meta| meta.get("exit_code"));
                    match code.and_then(Value::as_i64) {
                        Some(code) => (code == 0, members.remove("output").unwrap_or_default()),
                        None => (true, Value::String(text)),
                    }
                }
                Some(_) | None => (true, Value::String(text)),
            }
        }
        Value::Object(mut members) if members.contains_key("success") => {
            let ok = members.get("success") != Some(&Value::Bool(false));
            (ok, members.remove("content").unwrap_or_default())
        }
        other => (true, other),
    }
}

/// The exit code and the output of a report such as `Exit code: 0 … Output: …`.
fn ended(text: &str) -> Option<(i64, &str)> {
    let rest = text.strip_prefix("Exit code: ")?;
    let (code, rest) = rest.split_once('\n')?;
    let (_, body) = rest.split_once("Output:\n")?;
    Some((code.trim().parse().ok()?, body))
}

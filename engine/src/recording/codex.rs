//! Sessions of the Codex command line: `response_item` lines.

use serde_json::{Map, Value};

use super::answer::text_of;
use super::error::RecordingError;
use super::gather::{Answered, Called, Gather};
use super::reader::{Line, arguments, take_text};
use crate::canon::parse_answer_up_to;
use crate::limits::RECORDING_LINE_BYTES_MAX;

pub(super) fn line(gather: &mut Gather, line: Line) -> Result<(), RecordingError> {
    let Line {
        mut members,
        inexact,
    } = line;
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
            gather.call(Called {
                id,
                tool,
                arguments: arguments(payload.remove("arguments"), inexact),
                hints: None,
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

/// Whether it went well, and what came back. Programs are wrapped in a report of how they ended.
fn output(output: Value) -> (bool, Value) {
    match output {
        Value::String(text) => {
            if let Some((ok, rest)) = reported(&text) {
                return (ok, Value::String(rest.to_owned()));
            }
            let wrapped = parse_answer_up_to(text.as_bytes(), RECORDING_LINE_BYTES_MAX).ok();
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
        Value::Array(items) => match text_of(&items) {
            Some(text) => self::output(Value::String(text)),
            None => (true, Value::Array(items)),
        },
        Value::Object(mut members) if members.contains_key("success") => {
            let ok = members.get("success") != Some(&Value::Bool(false));
            let (inner, content) = self::output(members.remove("content").unwrap_or_default());
            (ok && inner, content)
        }
        other => (true, other),
    }
}

/// Whether a report such as `Exit code: 0 … Output: …` says that it went well, and the output.
fn reported(text: &str) -> Option<(bool, &str)> {
    const CODES: [&str; 2] = ["Exit code: ", "Process exited with code "];
    const STARTS: [&str; 6] = [
        CODES[0],
        CODES[1],
        "Chunk ID: ",
        "Wall time: ",
        "Process running with session ID ",
        "Original token count: ",
    ];
    if !STARTS.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let mut ok = true;
    let mut rest = text;
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if line.trim_end() == "Output:" {
            return Some((ok, after));
        }
        if let Some(code) = CODES.iter().find_map(|start| line.strip_prefix(start)) {
            ok &= code.trim().parse() == Ok(0_i64);
        }
        if after.is_empty() {
            return None;
        }
        rest = after;
    }
}

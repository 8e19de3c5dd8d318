//! Sessions of `OpenClaw`: `toolCall` blocks and `toolResult` messages.

use serde_json::{Map, Value};

use super::answer::text_of;
use super::error::RecordingError;
use super::gather::{Answered, Called, Gather};
use super::reader::{Line, arguments, take_text};

pub(super) fn line(gather: &mut Gather, line: Line) -> Result<(), RecordingError> {
    let Line {
        mut members,
        inexact,
    } = line;
    gather.moment(members.get("timestamp"));
    if members.get("type").and_then(Value::as_str) != Some("message") {
        return Ok(());
    }
    let Some(Value::Object(mut message)) = members.remove("message") else {
        return Err(gather.error("a \"message\" line without a \"message\""));
    };
    let content = message.remove("content").unwrap_or_default();
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => match content {
            Value::String(text) => gather.say(&text),
            Value::Array(blocks) => {
                for block in blocks {
                    if let Value::Object(block) = block {
                        said(gather, block, inexact)?;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        },
        Some("user") => match content {
            Value::String(text) => gather.about(&text),
            Value::Array(blocks) => {
                if let Some(text) = text_of(&blocks) {
                    gather.about(&text);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        },
        Some("toolResult") => {
            let Some(id) = take_text(&mut message, "toolCallId") else {
                return Err(gather.error("a \"toolResult\" without the text \"toolCallId\""));
            };
            gather.result(Answered {
                id,
                ok: message.get("isError") != Some(&Value::Bool(true)),
                status: None,
                body: content,
            })?;
        }
        Some(_) | None => {}
    }
    Ok(())
}

/// A block of the assistant.
fn said(
    gather: &mut Gather,
    mut block: Map<String, Value>,
    inexact: bool,
) -> Result<(), RecordingError> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => {
            if let Some(text) = take_text(&mut block, "text") {
                gather.say(&text);
            }
        }
        Some("toolCall") => {
            let id = take_text(&mut block, "id");
            let tool = take_text(&mut block, "name");
            let (Some(id), Some(tool)) = (id, tool) else {
                return Err(gather.error("a \"toolCall\" without the texts \"id\" and \"name\""));
            };
            gather.call(Called {
                id,
                tool,
                arguments: arguments(block.remove("arguments"), inexact),
                hints: None,
            })?;
        }
        Some(_) | None => {}
    }
    Ok(())
}

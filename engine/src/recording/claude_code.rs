//! Sessions of Claude Code: `tool_use` blocks of the assistant, `tool_result` blocks of the user.

use serde_json::{Map, Value};

use super::error::RecordingError;
use super::gather::{Answered, Called, Gather};
use super::reader::{Line, arguments, take_text};

pub(super) fn line(gather: &mut Gather, line: Line) -> Result<(), RecordingError> {
    let Line {
        mut members,
        inexact,
    } = line;
    gather.moment(members.get("timestamp"));
    let says = |key: &str| members.get(key) == Some(&Value::Bool(true));
    let (aside, is_meta) = (says("isSidechain"), says("isMeta"));
    let kind = take_text(&mut members, "type");
    let assistant = match kind.as_deref() {
        Some("assistant") => true,
        Some("user") => false,
        Some("summary") => {
            gather.name = take_text(&mut members, "summary").or(gather.name.take());
            return Ok(());
        }
        Some(_) | None => return Ok(()),
    };
    let message = members.get_mut("message").and_then(Value::as_object_mut);
    match message.and_then(|message| message.remove("content")) {
        Some(Value::String(text)) if assistant && !aside => gather.say(&text),
        Some(Value::String(text)) if !is_meta && !aside => gather.about(&text),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                if let Value::Object(block) = block {
                    if aside {
                        gather.nested += usize::from(is(&block, "tool_use"));
                    } else if assistant {
                        said(gather, block, inexact)?;
                    } else {
                        heard(gather, block, is_meta)?;
                    }
                }
            }
        }
        Some(_) | None => {}
    }
    Ok(())
}

fn is(block: &Map<String, Value>, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

/// A block of the assistant.
fn said(
    gather: &mut Gather,
    mut block: Map<String, Value>,
    inexact: bool,
) -> Result<(), RecordingError> {
    if is(&block, "text") {
        if let Some(text) = take_text(&mut block, "text") {
            gather.say(&text);
        }
    } else if is(&block, "tool_use") {
        let id = take_text(&mut block, "id");
        let tool = take_text(&mut block, "name");
        let (Some(id), Some(tool)) = (id, tool) else {
            return Err(gather.error("a \"tool_use\" without the texts \"id\" and \"name\""));
        };
        gather.call(Called {
            id,
            tool,
            arguments: arguments(block.remove("input"), inexact),
            hints: None,
        })?;
    } else if is(&block, "server_tool_use") {
        gather.foreign += 1;
    }
    Ok(())
}

/// A block of the user.
fn heard(
    gather: &mut Gather,
    mut block: Map<String, Value>,
    is_meta: bool,
) -> Result<(), RecordingError> {
    if is(&block, "text") {
        if let Some(text) = take_text(&mut block, "text").filter(|_| !is_meta) {
            gather.about(&text);
        }
    } else if is(&block, "tool_result") {
        let Some(id) = take_text(&mut block, "tool_use_id") else {
            return Err(gather.error("a \"tool_result\" without the text \"tool_use_id\""));
        };
        gather.result(Answered {
            id,
            ok: block.get("is_error") != Some(&Value::Bool(true)),
            status: None,
            body: block.remove("content").unwrap_or_default(),
        })?;
    }
    Ok(())
}

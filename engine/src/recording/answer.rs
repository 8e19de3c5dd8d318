//! What a call answered, without what servers and transcripts wrap around it.

use serde_json::{Map, Value};

use crate::canon::parse_answer_up_to;
use crate::limits::RECORDING_LINE_BYTES_MAX;

/// How many wrappers are taken off at most: text, blocks in it, text in them.
const WRAPPERS_MAX: usize = 3;

/// Kinds of the blocks that results of tools are made of.
const BLOCKS: [&str; 15] = [
    "text",
    "input_text",
    "output_text",
    "image",
    "input_image",
    "image_url",
    "audio",
    "input_audio",
    "resource",
    "resource_link",
    "document",
    "file",
    "input_file",
    "thinking",
    "refusal",
];

/// An answer as the call that made it would give it.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Its wrapper says that the call failed.
    pub(super) failed: bool,
    pub(super) status: Option<u64>,
    /// The answer as JSON, of which a step can bind values.
    pub(super) json: Option<Value>,
    /// The answer where it is text, or one number.
    pub(super) text: Option<String>,
}

/// Takes the wrappers off an answer of this tool.
pub(super) fn body(tool: &str, body: Value) -> Body {
    if !tool.starts_with("http.") {
        return unwrapped(body, WRAPPERS_MAX);
    }
    // What a page answers is no wrapper, whatever it looks like.
    let body = match body {
        Value::Array(items) => match text_of(&items) {
            Some(text) => plain(Value::String(text)),
            None => plain(Value::Array(items)),
        },
        other => plain(other),
    };
    match body.json {
        Some(Value::Object(mut members)) => {
            let status = members.get("status").and_then(Value::as_u64);
            let status = status.filter(|status| (100..600).contains(status));
            if status.is_some() && members.contains_key("body") {
                let inner = plain(members.remove("body").unwrap_or_default());
                return Body { status, ..inner };
            }
            Body {
                status,
                json: Some(Value::Object(members)),
                ..Body::default()
            }
        }
        json => Body { json, ..body },
    }
}

fn unwrapped(value: Value, depth: usize) -> Body {
    let Some(below) = depth.checked_sub(1) else {
        return plain(value);
    };
    match value {
        Value::String(text) => match json_of(&text) {
            Some(value) => unwrapped(value, below),
            None => plain(Value::String(text)),
        },
        Value::Array(items) => match text_of(&items) {
            Some(text) => unwrapped(Value::String(text), below),
            None => plain(Value::Array(items)),
        },
        Value::Object(members) if is_wrapper(&members) => {
            let failed = members.get("isError") == Some(&Value::Bool(true));
            let structured = members.get("structuredContent").filter(|s| s.is_object());
            let items = members.get("content").and_then(Value::as_array);
            let body = if let Some(structured) = structured {
                plain(structured.clone())
            } else if let Some(text) = items.and_then(|items| text_of(items)) {
                unwrapped(Value::String(text), below)
            } else if failed {
                Body::default()
            } else {
                plain(Value::Object(members))
            };
            Body {
                failed: failed || body.failed,
                ..body
            }
        }
        other => plain(other),
    }
}

/// Whether a server says with it how a call ended.
fn is_wrapper(members: &Map<String, Value>) -> bool {
    let known = |key: &String| {
        matches!(
            key.as_str(),
            "content" | "isError" | "structuredContent" | "_meta"
        )
    };
    members.keys().all(known)
        && (members.get("content").is_some_and(Value::is_array)
            || members.contains_key("structuredContent"))
}

/// An answer that nothing is wrapped around.
fn plain(value: Value) -> Body {
    let (json, text) = match value {
        Value::String(text) => match json_of(&text) {
            Some(value) => (Some(value), None),
            None => (None, Some(text)),
        },
        Value::Number(number) => (None, Some(number.to_string())),
        Value::Array(_) | Value::Object(_) => (Some(value), None),
        Value::Null | Value::Bool(_) => (None, None),
    };
    Body {
        json,
        text,
        ..Body::default()
    }
}

/// Text that is a JSON object or array.
fn json_of(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    parse_answer_up_to(text.as_bytes(), RECORDING_LINE_BYTES_MAX).ok()
}

/// The text of blocks, where all of them are blocks and one of them is text.
pub(super) fn text_of(items: &[Value]) -> Option<String> {
    let mut text: Option<String> = None;
    for item in items {
        let kind = item.get("type").and_then(Value::as_str)?;
        if !BLOCKS.contains(&kind) {
            return None;
        }
        if matches!(kind, "text" | "input_text" | "output_text") {
            let said = item.get("text").and_then(Value::as_str)?;
            match &mut text {
                Some(text) => {
                    text.push('\n');
                    text.push_str(said);
                }
                None => text = Some(said.to_owned()),
            }
        }
    }
    text
}

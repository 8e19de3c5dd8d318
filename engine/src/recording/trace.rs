//! Traces: lines of `meta`, `note`, `call` and `result`, paired by `i`.

use serde_json::{Map, Value};

use super::error::RecordingError;
use super::gather::{Answered, Called, Gather};
use super::reader::{Arguments, Line, take_text};
use crate::tool::Annotations;

pub(super) fn line(gather: &mut Gather, line: Line) -> Result<(), RecordingError> {
    let Line {
        mut members,
        inexact,
    } = line;
    gather.moment(members.get("ts").or_else(|| members.get("startedAt")));
    match members.get("t").and_then(Value::as_str) {
        Some("meta") => meta(gather, members),
        Some("note") => {
            let text = take_text(&mut members, "text")
                .ok_or_else(|| gather.error("a note without a \"text\""))?;
            gather.say(&text);
        }
        Some("call") => {
            let id = number(gather, &members)?;
            let tool = take_text(&mut members, "tool")
                .ok_or_else(|| gather.error("a call without the text \"tool\""))?;
            let args = match members.remove("args") {
                Some(Value::Object(args)) => args,
                Some(Value::Null) | None => Map::new(),
                Some(_) => return Err(gather.error("\"args\" of the call is not a JSON object")),
            };
            let hints = members.get("annotations").and_then(Value::as_object);
            gather.call(Called {
                id,
                tool,
                arguments: Arguments {
                    args,
                    inexact,
                    is_readable: true,
                },
                hints: hints.map(Annotations::of),
            })?;
        }
        Some("result") => {
            let id = number(gather, &members)?;
            let says = |key: &str| members.get(key).and_then(Value::as_bool);
            let ok =
                says("ok").ok_or_else(|| gather.error("a result without \"ok\": true or false"))?;
            let denied = says("denied") == Some(true);
            if says("dryRun") == Some(true) {
                gather.question(
                    "the call was not really made, so nothing is known of its answer. Is the step right?",
                );
                return Ok(());
            }
            gather.result(Answered {
                id,
                ok: ok && !denied,
                status: members.get("status").and_then(Value::as_u64),
                body: members.remove("body").unwrap_or_default(),
            })?;
        }
        Some(_) | None => {
            return Err(gather.error(
                "\"t\" is none of \"meta\", \"note\", \"call\", \"result\"; take the line out, or record again",
            ));
        }
    }
    Ok(())
}

fn meta(gather: &mut Gather, mut members: Map<String, Value>) {
    gather.name = take_text(&mut members, "name").or(gather.name.take());
    if let Some(description) = take_text(&mut members, "description") {
        gather.about(&description);
    }
    let tools = members.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let name = tool.get("name").and_then(Value::as_str);
        let hints = tool.get("annotations").and_then(Value::as_object);
        if let (Some(name), Some(hints)) = (name, hints) {
            gather.hints.insert(name.to_owned(), Annotations::of(hints));
        }
    }
}

/// The number that pairs a call and its result.
fn number(gather: &Gather, members: &Map<String, Value>) -> Result<String, RecordingError> {
    match members.get("i") {
        Some(number @ (Value::Number(_) | Value::String(_))) => Ok(number.to_string()),
        Some(_) | None => Err(gather.error("a call and its result need the same number \"i\"")),
    }
}

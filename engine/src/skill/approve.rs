//! The digests that a skill file holds: of the call that was approved, of a tool's input schema.
//!
//! They are made as the format's other readers make them. Those sort the keys of an object that look
//! like places in an array before all others, and by their number: `2, 10, a, b`. Nothing else here does.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::canon::{CanonicalJson, Digest};

/// The digest that `approve` names: of a tool and its arguments, with the holes unfilled.
pub fn call_digest(tool: &str, args: &Value) -> Digest {
    let mut text = "{\"args\":".to_owned();
    write(args, &mut text);
    let tool = CanonicalJson::of(&Value::String(tool.to_owned()));
    // Writing to a string cannot fail.
    let _ = write!(text, ",\"tool\":{tool}}}");
    Digest::of(text.as_bytes())
}

/// The digest that a manifest names: of a tool's input schema.
pub fn schema_digest(schema: &Value) -> Digest {
    let mut text = String::new();
    write(schema, &mut text);
    Digest::of(text.as_bytes())
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => object(members, out),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(CanonicalJson::of(value).as_str());
        }
    }
}

fn object(members: &Map<String, Value>, out: &mut String) {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_cached_key(|(key, _)| {
        let number = index(key);
        (
            number.is_none(),
            number,
            key.encode_utf16().collect::<Vec<u16>>(),
        )
    });
    out.push('{');
    for (place, (key, value)) in members.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(CanonicalJson::of(&Value::String(key.clone())).as_str());
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

/// The number of a key that looks like a place in an array: whole, without leading zeros, and below
/// 2^32 - 1.
fn index(key: &str) -> Option<u32> {
    let plain =
        key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
    let number = plain.then(|| key.parse().ok()).flatten();
    number.filter(|number| *number < u32::MAX)
}

//! Paths into JSON: `json.items.0.name`, `json["a-b"].c`.

use serde_json::Value;

use crate::canon::parse_strict;

/// A path into a JSON value; the empty one is the value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<String>);

impl Path {
    /// Reads the path that stands behind `json` at the start of a text, and says what is behind it.
    pub(super) fn take(text: &str) -> Result<(Self, &str), String> {
        let mut rest = text;
        let mut segments = Vec::new();
        loop {
            if let Some(tail) = rest.strip_prefix('.') {
                let end = tail
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(tail.len());
                if end == 0 {
                    return Err("there is a dot without a key behind it".to_owned());
                }
                segments.push(tail[..end].to_owned());
                rest = &tail[end..];
            } else if let Some(tail) = rest.strip_prefix('[') {
                let (segment, tail) = bracket(tail)?;
                segments.push(segment);
                rest = tail;
            } else {
                return Ok((Self(segments), rest));
            }
        }
    }

    /// What is at this path. A segment of digits is a place in an array, and a key in an object.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(items) => items.get(index(segment)?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }
}

/// A place in an array: digits without leading zeros.
fn index(segment: &str) -> Option<usize> {
    let plain = segment.bytes().all(|byte| byte.is_ascii_digit())
        && (segment == "0" || !segment.starts_with('0'));
    plain.then(|| segment.parse().ok()).flatten()
}

/// Reads what stands in brackets: a JSON string, or digits.
fn bracket(text: &str) -> Result<(String, &str), String> {
    let wrong =
        || "in brackets stands a key in double quotes, or a number: json[\"a-b\"]".to_owned();
    let (segment, rest) = if let Some(inner) = text.strip_prefix('"') {
        let mut escaped = false;
        let end = inner
            .find(|c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })
            .ok_or_else(wrong)?;
        let (quoted, rest) = text.split_at(end + 2);
        match parse_strict(quoted.as_bytes()) {
            Ok(Value::String(key)) => (key, rest),
            Ok(_) | Err(_) => return Err(wrong()),
        }
    } else {
        let end = text.find(']').ok_or_else(wrong)?;
        let (digits, rest) = text.split_at(end);
        if index(digits).is_none() {
            return Err(wrong());
        }
        (digits.to_owned(), rest)
    };
    Ok((segment, rest.strip_prefix(']').ok_or_else(wrong)?))
}

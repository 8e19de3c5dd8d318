//! JSON as a table: every value in full, with its type.

use holdpoint_engine::canon::CanonicalJson;
use serde_json::Value;

use crate::display::Shown;

/// Above this many characters or lines a value counts as long: a voter says that it was read.
const LONG_CHARS: usize = 1_000;
const LONG_LINES: usize = 20;

/// One value with the place it stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) struct Row {
    /// Where: a name, or names joined by `/` with `~1` for a slash inside a name.
    pub(in crate::pages) name: Shown,
    /// `text`, `number`, `true or false`, `nothing`, `empty list`, `empty object`.
    pub(in crate::pages) kind: &'static str,
    /// The value in full.
    pub(in crate::pages) value: Shown,
    /// How long it is, where that is worth saying.
    pub(in crate::pages) length: Option<String>,
    /// Whether something in it had to be written out.
    pub(in crate::pages) marked: bool,
    /// Whether it is too long to take in at a glance.
    pub(in crate::pages) is_long: bool,
    /// The amount that the summary made of it, beside the raw value.
    pub(in crate::pages) formatted: Option<Shown>,
}

/// Every value inside `json`, in the order of the canonical form. Nothing is left out.
pub(in crate::pages) fn rows(json: &CanonicalJson) -> Vec<Row> {
    let mut out = Vec::new();
    // An explicit stack: the depth of the input never becomes the depth of the calls.
    let mut stack = vec![(String::new(), json.value())];
    while let Some((path, value)) = stack.pop() {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let children = map
                    .into_iter()
                    .map(|(key, value)| (join(&path, &key), value));
                stack.extend(children.collect::<Vec<_>>().into_iter().rev());
            }
            Value::Array(items) if !items.is_empty() => {
                let children = items
                    .into_iter()
                    .enumerate()
                    .map(|(index, value)| (join(&path, &index.to_string()), value));
                stack.extend(children.collect::<Vec<_>>().into_iter().rev());
            }
            leaf @ (Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)) => out.push(row(path.strip_prefix('/').unwrap_or(&path), &leaf)),
        }
    }
    out
}

/// One value under a name, whole even where it is an object or a list.
pub(in crate::pages) fn value_row(name: &str, json: &CanonicalJson) -> Row {
    match json.value() {
        Value::Object(map) if !map.is_empty() => text_row_of(name, "object", json.as_str()),
        Value::Array(items) if !items.is_empty() => text_row_of(name, "list", json.as_str()),
        leaf @ (Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)) => row(name, &leaf),
    }
}

/// The name of a value inside another.
pub(in crate::pages) fn join(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn row(name: &str, leaf: &Value) -> Row {
    match leaf {
        Value::String(text) => text_row_of(name, "text", text),
        Value::Null => text_row_of(name, "nothing", "null"),
        Value::Bool(yes) => text_row_of(name, "true or false", if *yes { "true" } else { "false" }),
        // The canonical text, since that is what is sent.
        Value::Number(_) => text_row_of(name, "number", CanonicalJson::of(leaf).as_str()),
        Value::Array(_) => text_row_of(name, "empty list", "[]"),
        Value::Object(_) => text_row_of(name, "empty object", "{}"),
    }
}

/// One piece of text under a name.
pub(in crate::pages) fn text_row(name: &str, text: &str) -> Row {
    text_row_of(name, "text", text)
}

fn text_row_of(name: &str, kind: &'static str, text: &str) -> Row {
    let value = Shown::block(text);
    let characters = text.chars().count();
    let lines = text.lines().count();
    let length = match (characters, lines) {
        (0, _) if kind == "text" => Some("empty text".into()),
        (_, 2..) => Some(format!(
            "{characters} characters in {lines} lines, all shown"
        )),
        (80.., _) => Some(format!("{characters} characters, all shown")),
        (_, _) => None,
    };
    Row {
        name: Shown::line(name),
        kind,
        marked: value.is_marked(),
        value,
        length,
        is_long: LONG_CHARS < characters || LONG_LINES < lines,
        formatted: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(value: &Value) -> Vec<(String, &'static str, String)> {
        rows(&CanonicalJson::of(value))
            .into_iter()
            .map(|row| (row.name.plain(), row.kind, row.value.plain()))
            .collect()
    }

    #[test]
    fn incident_88_every_argument_is_listed_with_its_type() {
        let all = table(&json!({
            "a": 1, "b": "1", "c": null, "d": true, "e": [], "f": {},
            "g": [{"h/i": "x"}, 2],
        }));
        let expected = [
            ("a", "number", "1"),
            ("b", "text", "1"),
            ("c", "nothing", "null"),
            ("d", "true or false", "true"),
            ("e", "empty list", "[]"),
            ("f", "empty object", "{}"),
            ("g/0/h~1i", "text", "x"),
            ("g/1", "number", "2"),
        ];
        assert_eq!(
            all,
            expected.map(|(name, kind, value)| (name.to_owned(), kind, value.to_owned()))
        );
    }

    #[test]
    fn incident_83_a_long_script_is_shown_whole_with_its_length() {
        let script = format!("echo hello\n{}rm -rf /", "# nothing to see\n".repeat(200));
        let row = rows(&CanonicalJson::of(&json!({ "script": script }))).remove(0);
        assert!(row.value.plain().ends_with("rm -rf /"));
        assert!(row.is_long);
        assert!(
            row.length
                .is_some_and(|length| length.contains("202 lines"))
        );
    }

    #[test]
    fn a_number_is_shown_as_it_is_sent() {
        assert_eq!(table(&json!({ "n": 1e21 }))[0].2, "1e+21");
    }

    #[test]
    fn names_that_lie_are_written_out_too() {
        assert_eq!(
            table(&json!({ "amount\u{202E}": 1 }))[0].0,
            "amount⟦U+202E⟧"
        );
    }
}

//! Secrets that come back: in whatever form an answer repeats one, it is not kept.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use holdpoint_engine::canon::parse_answer;
use holdpoint_engine::skill::{Skill, Vars};
use serde_json::{Value, json};

/// From this length on a secret is looked for everywhere, as `docs/SKILLS.md` says.
const ANYWHERE_BYTES_MIN: usize = 6;

const SKILL: &str = "---
name: n
description: d
inputs: {\"s\": {\"secret\": true}}
---
### Step 1 - T
- intent: i
- action: t {}
";

/// The first line is the secret; in the rest it stands for each `@`.
pub(crate) fn hidden(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (secret, rest) = text.split_once('\n').unwrap_or((&text, "@"));
    let skill = Skill::parse(SKILL).expect("a skill");
    let Ok(vars) = Vars::given_values(&skill, &[("s".to_owned(), json!(secret))]) else {
        return;
    };
    for form in forms(secret) {
        let answer = rest.replace('@', &form);
        let kept = vars.secrets().hide(&answer);
        assert!(kept.len() <= 64 + 8 * answer.len(), "i21: {}", kept.len());
        if secret.contains(['{', '}']) {
            // What stands in its place has braces; with them both could be read as one.
            continue;
        }
        let is_sought = ANYWHERE_BYTES_MIN <= secret.len();
        assert!(
            !is_sought || !holds(&kept, secret),
            "i16: {answer:?} is kept as {kept:?}"
        );
        if let Ok(value) = parse_answer(answer.as_bytes()) {
            let kept = vars.secrets().hide_in(&value);
            let again = vars.secrets().hide_in(&kept);
            assert_eq!(kept, again, "nothing was left to be hidden");
        }
    }
}

/// The ways in which services write a text.
fn forms(secret: &str) -> [String; 7] {
    let quoted = json!(secret).to_string();
    let quoted = quoted[1..quoted.len() - 1].to_owned();
    let mut percent = String::new();
    let mut ascii = String::new();
    for byte in secret.bytes() {
        write!(percent, "%{byte:02x}").expect("a text takes more");
    }
    for unit in secret.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => ascii.push(char::from(byte)),
            Ok(byte) if byte.is_ascii() => {
                let one = json!(char::from(byte)).to_string();
                ascii.push_str(&one[1..one.len() - 1]);
            }
            Ok(_) | Err(_) => write!(ascii, "\\u{unit:04x}").expect("a text takes more"),
        }
    }
    [
        secret.to_owned(),
        quoted,
        ascii,
        percent.replace('%', "%25"),
        percent,
        STANDARD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
    ]
}

/// Whether a text, or a text in it where it is JSON, holds a secret.
fn holds(text: &str, secret: &str) -> bool {
    let is_json = text.trim_start().starts_with(['{', '[']);
    match parse_answer(text.as_bytes()) {
        Ok(value) if is_json => holds_in(&value, secret),
        Ok(_) | Err(_) => text.contains(secret),
    }
}

fn holds_in(value: &Value, secret: &str) -> bool {
    match value {
        Value::String(text) => holds(text, secret),
        Value::Array(items) => items.iter().any(|item| holds_in(item, secret)),
        Value::Object(members) => members
            .iter()
            .any(|(key, member)| holds(key, secret) || holds_in(member, secret)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

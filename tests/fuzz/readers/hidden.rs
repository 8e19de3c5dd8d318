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
    for Form { written, kept_out } in forms(secret) {
        let answer = rest.replace('@', &written);
        let kept = vars.secrets().hide(&answer);
        assert!(kept.len() <= 64 + 8 * answer.len(), "i21: {}", kept.len());
        if secret.contains(['{', '}']) {
            // What stands in its place has braces; with them both could be read as one.
            continue;
        }
        let is_sought = ANYWHERE_BYTES_MIN <= secret.len();
        assert!(
            !is_sought || !(holds(&kept, secret) || holds(&kept, &kept_out)),
            "i16: {answer:?} is kept as {kept:?}"
        );
        if let Ok(value) = parse_answer(answer.as_bytes()) {
            let kept = vars.secrets().hide_in(&value);
            let again = vars.secrets().hide_in(&kept);
            assert_eq!(kept, again, "nothing was left to be hidden");
        }
    }
}

/// A way in which services write a text.
struct Form {
    written: String,
    /// What of it is the secret's alone.
    kept_out: String,
}

impl Form {
    fn whole(written: String) -> Self {
        Self {
            kept_out: written.clone(),
            written,
        }
    }

    /// Base64 of a longer text: what shares its bytes with others may stay.
    fn amid(before: &str, secret: &str, behind: &str) -> Self {
        let (start, end) = (before.len(), before.len() + secret.len());
        let written = STANDARD.encode([before, secret, behind].concat());
        // Of a short one it may be nothing.
        let alone = written.get((start * 8).div_ceil(6)..end * 8 / 6);
        let kept_out = alone.unwrap_or_default().to_owned();
        Self { written, kept_out }
    }
}

/// With references to characters, as HTML has them.
fn html(text: &str) -> String {
    let one = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&#34;".to_owned(),
        '\'' => "&#x27;".to_owned(),
        c if c.is_ascii() => c.to_string(),
        c => format!("&#{};", u32::from(c)),
    };
    text.chars().map(one).collect()
}

/// The ways in which services write a text.
fn forms(secret: &str) -> Vec<Form> {
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
    let whole = [
        secret.to_owned(),
        quoted,
        ascii,
        percent.replace('%', "%25"),
        percent,
        STANDARD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        html(secret),
        html(&html(secret)),
    ];
    let amid = [("", "~"), ("a", ""), ("ab", "c"), ("abc", "de")];
    let amid = amid.map(|(before, behind)| Form::amid(before, secret, behind));
    whole.map(Form::whole).into_iter().chain(amid).collect()
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

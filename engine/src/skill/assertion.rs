//! Assertions: predicates over the answer of a call.

use std::cmp::Ordering;

use serde_json::Value;

use super::answer::{Answer, NO_JSON, Verdict, seen};
use super::path::Path;
use super::pattern::Pattern;
use crate::canon::parse_strict;

/// What is valid, for messages.
const FORMS: &str = "an assertion is one of: status == N, status != N, body contains \"…\", body not contains \"…\", \
     json.PATH is array|set|number|string|boolean|null, json.PATH matches /RE/, json.PATH length OP N, \
     json.PATH OP VALUE, where OP is one of == != > < >= <=";

/// One assertion of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    text: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Status { equal: bool, code: u16 },
    Body { contains: bool, text: String },
    Is { path: Path, kind: Kind },
    Matches { path: Path, pattern: Pattern },
    Length { path: Path, op: Op, length: u64 },
    Compare { path: Path, op: Op, value: Value },
}

impl Test {
    /// The path that it looks at; none where it looks at something else.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Status { .. } | Self::Body { .. } => None,
            Self::Is { path, .. }
            | Self::Matches { path, .. }
            | Self::Length { path, .. }
            | Self::Compare { path, .. } => Some(path),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Array,
    Set,
    Number,
    String,
    Boolean,
    Null,
}

impl Kind {
    const ALL: [(&'static str, Self); 6] = [
        ("array", Self::Array),
        ("set", Self::Set),
        ("number", Self::Number),
        ("string", Self::String),
        ("boolean", Self::Boolean),
        ("null", Self::Null),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Op {
    /// The operator at the start of a text, and the rest.
    fn take(text: &str) -> Option<(Self, &str)> {
        [
            ("==", Self::Equal),
            ("!=", Self::NotEqual),
            ("<=", Self::LessOrEqual),
            (">=", Self::GreaterOrEqual),
            ("<", Self::Less),
            (">", Self::Greater),
        ]
        .into_iter()
        .find_map(|(sign, op)| Some((op, text.strip_prefix(sign)?)))
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Assertion {
    /// Reads an assertion, or says what is wrong with it and what is valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains(['\n', '\r']) {
            return Err("an assertion is one line".to_owned());
        }
        Ok(Self {
            text: text.to_owned(),
            test: test(text)?,
        })
    }

    /// It, as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has_pattern(&self) -> bool {
        matches!(self.test, Test::Matches { .. })
    }

    /// Whether both say the same, however they are spaced.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.test == other.test
    }

    /// Whether it is about the status.
    pub(crate) fn is_on_status(&self) -> bool {
        matches!(self.test, Test::Status { .. })
    }

    /// Whether both look at the same part of an answer.
    pub(crate) fn is_on_the_same_as(&self, other: &Self) -> bool {
        match (&self.test, &other.test) {
            (Test::Status { .. }, Test::Status { .. }) | (Test::Body { .. }, Test::Body { .. }) => {
                true
            }
            (one, other) => one.path().is_some() && one.path() == other.path(),
        }
    }

    /// Whether an empty answer, an empty text or an empty list would do for it.
    pub(crate) fn holds_of_nothing(&self) -> bool {
        let empty = [Value::Null, Value::Object(serde_json::Map::new())];
        let passes = |json: &Value| {
            let answer = Answer {
                status: None,
                text: "",
                json: Some(json),
            };
            self.check(&answer).passed
        };
        empty.iter().any(passes)
            || match &self.test {
                Test::Matches { pattern, .. } => pattern.matches(""),
                Test::Length { op, length, .. } => op.holds(0.cmp(length)),
                Test::Status { .. }
                | Test::Body { .. }
                | Test::Is { .. }
                | Test::Compare { .. } => false,
            }
    }

    /// Whether it holds for an answer.
    pub fn check(&self, answer: &Answer<'_>) -> Verdict {
        let (passed, seen) = match &self.test {
            Test::Status { equal, code } => match answer.status {
                Some(status) => ((status == *code) == *equal, format!("status {status}")),
                None => (false, "an answer without a status".to_owned()),
            },
            Test::Body { contains, text } => (
                answer.text.contains(text.as_str()) == *contains,
                format!("a body of {} bytes", answer.text.len()),
            ),
            Test::Is { path, kind } => on_json(answer, path, |value| is(value, *kind)),
            Test::Matches { path, pattern } => on_json(answer, path, |value| {
                value
                    .and_then(Value::as_str)
                    .is_some_and(|text| pattern.matches(text))
            }),
            Test::Length { path, op, length } => {
                let Some(json) = answer.json else {
                    return self.verdict(false, NO_JSON.to_owned());
                };
                let value = path.find(json);
                match length_of(value) {
                    Some(found) => (op.holds(found.cmp(length)), format!("length {found}")),
                    None => (false, seen(value)),
                }
            }
            Test::Compare { path, op, value } => {
                on_json(answer, path, |found| compare(found, *op, value))
            }
        };
        self.verdict(passed, seen)
    }

    fn verdict(&self, passed: bool, seen: String) -> Verdict {
        Verdict {
            text: self.text.clone(),
            passed,
            seen,
        }
    }
}

fn on_json(
    answer: &Answer<'_>,
    path: &Path,
    holds: impl Fn(Option<&Value>) -> bool,
) -> (bool, String) {
    let Some(json) = answer.json else {
        return (false, NO_JSON.to_owned());
    };
    let value = path.find(json);
    (holds(value), seen(value))
}

fn is(value: Option<&Value>, kind: Kind) -> bool {
    match (kind, value) {
        (_, None) => false,
        (Kind::Set, Some(value)) => !value.is_null(),
        (Kind::Array, Some(value)) => value.is_array(),
        (Kind::Number, Some(value)) => value.is_number(),
        (Kind::String, Some(value)) => value.is_string(),
        (Kind::Boolean, Some(value)) => value.is_boolean(),
        (Kind::Null, Some(value)) => value.is_null(),
    }
}

/// The number of items, or of UTF-16 units as the format's other readers count them.
fn length_of(value: Option<&Value>) -> Option<u64> {
    let length = match value? {
        Value::Array(items) => items.len(),
        Value::String(text) => text.encode_utf16().count(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    u64::try_from(length).ok()
}

fn compare(found: Option<&Value>, op: Op, value: &Value) -> bool {
    match op {
        Op::Equal => found.is_some_and(|found| same(found, value)),
        Op::NotEqual => !found.is_some_and(|found| same(found, value)),
        Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual => {
            let numbers = found.and_then(Value::as_f64).zip(value.as_f64());
            numbers
                .and_then(|(left, right)| left.partial_cmp(&right))
                .is_some_and(|order| op.holds(order))
        }
    }
}

/// Whether two values are the same: numbers by what they are worth, objects whatever their order.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right
                || left
                    .as_f64()
                    .zip(right.as_f64())
                    .is_some_and(|(l, r)| l.total_cmp(&r).is_eq() || (l == 0.0 && r == 0.0))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| same(l, r)))
        }
        (left, right) => left == right,
    }
}

fn test(text: &str) -> Result<Test, String> {
    let unreadable = || format!("{text:?} is not an assertion; {FORMS}");
    if let Some(rest) = text.strip_prefix("status") {
        return match Op::take(rest.trim_start()) {
            Some((op @ (Op::Equal | Op::NotEqual), number)) => Ok(Test::Status {
                equal: op == Op::Equal,
                code: whole(number)
                    .and_then(|code| u16::try_from(code).ok())
                    .ok_or_else(|| format!("{:?} is not a status", number.trim()))?,
            }),
            Some((Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual, _)) => {
                Err("a status is compared with == or != only".to_owned())
            }
            None => Err(unreadable()),
        };
    }
    if let Some(rest) = after_word(text, "body") {
        let (contains, rest) = match after_word(rest, "not") {
            Some(rest) => (false, rest),
            None => (true, rest),
        };
        let quoted = after_word(rest, "contains").ok_or_else(unreadable)?;
        let inner = quoted
            .strip_prefix('"')
            .and_then(|inner| inner.strip_suffix('"'));
        let text = inner.ok_or_else(|| {
            "the text stands between double quotes, to the end of the line: body contains \"…\""
                .to_owned()
        })?;
        return Ok(Test::Body {
            contains,
            text: text.to_owned(),
        });
    }
    let Some(rest) = text.strip_prefix("json") else {
        return Err(unreadable());
    };
    let (path, rest) = Path::take(rest)?;
    on_path(path, rest, unreadable)
}

fn on_path(path: Path, rest: &str, unreadable: impl Fn() -> String) -> Result<Test, String> {
    let spaced = rest.starts_with(char::is_whitespace);
    let rest = rest.trim_start();
    if let Some((op, value)) = Op::take(rest) {
        let value = parse_strict(value.trim().as_bytes())
            .map_err(|error| format!("what it compares with is not JSON: {}", error.message))?;
        let by_order = matches!(
            op,
            Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual
        );
        if by_order && !value.is_number() {
            return Err("only numbers are compared by order".to_owned());
        }
        return Ok(Test::Compare { path, op, value });
    }
    if !spaced {
        return Err(format!(
            "{} (a key with other characters than letters, digits and _ is written json[\"a-b\"])",
            unreadable()
        ));
    }
    if let Some(name) = after_word(rest, "is") {
        let kind = Kind::ALL.iter().find(|(known, _)| *known == name);
        let kind = kind.ok_or_else(|| {
            format!("{name:?} is not one of array, set, number, string, boolean, null")
        })?;
        return Ok(Test::Is { path, kind: kind.1 });
    }
    if let Some(pattern) = after_word(rest, "matches") {
        let pattern = Pattern::read(pattern)?;
        return Ok(Test::Matches { path, pattern });
    }
    let Some(rest) = rest.strip_prefix("length") else {
        return Err(unreadable());
    };
    let (op, number) = Op::take(rest.trim_start()).ok_or_else(unreadable)?;
    let length = whole(number).ok_or_else(|| format!("{:?} is not a length", number.trim()))?;
    Ok(Test::Length { path, op, length })
}

/// The text behind a word and the white space that follows it.
pub(super) fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(word)?;
    rest.starts_with(char::is_whitespace)
        .then(|| rest.trim_start())
}

fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

//! Secrets in the arguments of a recording: found, named, and kept out of everything that is written.
//!
//! * `keys`: names that tell · `place`: what stands above and beside a value · `shapes`: what gives itself
//!   away by its look · `assigned`: what follows a telling name in a text · `commands`: what follows the
//!   options of programs · `embedded`: JSON in texts · `forms`: how a known secret is written elsewhere

mod assigned;
mod commands;
mod embedded;
mod forms;
mod keys;
mod place;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

pub(super) use self::keys::words;
pub(super) use self::place::Place;
use super::error::CompileError;
use super::gather::Recording;
use super::words::{sorted, visible};
use crate::limits::RECORDED_SECRETS_MAX;

/// What is written where a secret stood in text for people.
const REDACTED: &str = "[secret]";

/// The shortest secret that is looked for inside of other text, in bytes; shorter ones only as words.
const INSIDE_BYTES_MIN: usize = 6;

/// The shortest secret that is looked for at all outside of its own place, in bytes.
const WORD_BYTES_MIN: usize = 3;

/// How often JSON may stand in a text of JSON: each level writes it twice as long.
const EMBEDDED_MAX: usize = 4;

/// A secret in a text, and what to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) at: Range<usize>,
    pub(super) name: String,
    /// It is written as JSON or a URL has it, not as it is.
    pub(super) is_encoded: bool,
}

impl Span {
    fn new(at: Range<usize>, name: String) -> Self {
        Self {
            at,
            name,
            is_encoded: false,
        }
    }
}

/// A way to write a known secret.
struct Known {
    text: String,
    name: String,
    is_encoded: bool,
}

/// All secrets of the arguments of a recording.
#[derive(Default)]
pub(super) struct Secrets {
    /// What each was called where it was found first, the longest first.
    known: Vec<Known>,
    names: HashMap<String, String>,
}

impl Secrets {
    /// Looks through all arguments.
    pub(super) fn of(recording: &Recording) -> Result<Self, CompileError> {
        let mut secrets = Self::default();
        for call in &recording.calls {
            secrets.members(&call.args, &Place::top());
            if secrets.names.len() > RECORDED_SECRETS_MAX {
                return Err(CompileError::TooManySecrets(RECORDED_SECRETS_MAX));
            }
        }
        let mut forms: HashMap<String, (String, bool)> = HashMap::new();
        let mut names: Vec<(&String, &String)> = secrets.names.iter().collect();
        names.sort();
        for (text, name) in names {
            forms.insert(text.clone(), (name.clone(), false));
            for form in forms::of(text) {
                forms.entry(form).or_insert_with(|| (name.clone(), true));
            }
        }
        secrets.known = forms
            .into_iter()
            .map(|(text, (name, is_encoded))| Known {
                text,
                name,
                is_encoded,
            })
            .collect();
        secrets.known.sort_by(|a, b| {
            b.text
                .len()
                .cmp(&a.text.len())
                .then_with(|| a.text.cmp(&b.text))
        });
        Ok(secrets)
    }

    fn members(&mut self, members: &Map<String, Value>, place: &Place) {
        for (key, value) in sorted(members) {
            self.value(value, &place.member(members, key));
        }
    }

    fn value(&mut self, value: &Value, place: &Place) {
        match value {
            Value::Object(members) => self.members(members, place),
            Value::Array(items) => {
                for (item, place) in items.iter().zip(place.items(items)) {
                    self.value(item, &place);
                }
            }
            Value::String(text) => {
                for Span { at, name, .. } in own(text, place) {
                    self.names.entry(text[at].to_owned()).or_insert(name);
                }
            }
            Value::Number(number) => {
                let number = number.to_string();
                if let Some(name) = place.number(&number) {
                    self.names.entry(number).or_insert_with(|| name.to_owned());
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// The secrets of a text, apart from one another and in order: its own, and those of elsewhere.
    pub(super) fn spans(&self, text: &str, place: &Place) -> Vec<Span> {
        let mut spans = own(text, place);
        self.elsewhere(text, &mut spans);
        apart(spans)
    }

    /// Secrets of other places that this text holds too.
    fn elsewhere(&self, text: &str, spans: &mut Vec<Span>) {
        for known in &self.known {
            let length = known.text.len();
            if length < WORD_BYTES_MIN {
                continue;
            }
            for (start, _) in text.match_indices(known.text.as_str()) {
                let at = start..start + length;
                if length >= INSIDE_BYTES_MIN || is_word(text, &at) {
                    spans.push(Span {
                        at,
                        name: known.name.clone(),
                        is_encoded: known.is_encoded,
                    });
                }
            }
        }
    }

    /// Whether a number is, or holds, a secret of some other place, and what to call it.
    pub(super) fn number(&self, text: &str) -> Option<&str> {
        let whole = self.names.get(text).filter(|_| text.len() >= 4);
        // A sign or a digit more does not hide it.
        let inside = || {
            let is_in = |known: &&Known| {
                known.text.len() >= INSIDE_BYTES_MIN && text.contains(known.text.as_str())
            };
            self.known.iter().find(is_in).map(|known| &known.name)
        };
        whole.or_else(inside).map(String::as_str)
    }

    /// Whether a text holds a secret.
    pub(super) fn is_in(&self, text: &str) -> bool {
        !self.spans(text, &Place::top()).is_empty()
    }

    /// Text for people, without invisible characters and without secrets.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = visible(text);
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for span in self.spans(&text, &Place::top()) {
            out.push_str(&text[from..span.at.start]);
            out.push_str(REDACTED);
            from = span.at.end;
        }
        out.push_str(&text[from..]);
        out
    }
}

/// Whether a key says that its value is a secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    keys::telling(key).sure >= keys::Sure::Likely
}

/// Whether a value in this place is, or holds, a secret.
pub(super) fn holds(value: &Value, place: &Place) -> bool {
    let mut secrets = Secrets::default();
    secrets.value(value, place);
    !secrets.names.is_empty()
}

/// The secrets that a text shows by itself, or that its place tells of.
fn own(text: &str, place: &Place) -> Vec<Span> {
    own_at(text, place, EMBEDDED_MAX)
}

/// As [`own`], where JSON may stand in the text so often.
fn own_at(text: &str, place: &Place, depth: usize) -> Vec<Span> {
    if let Some(name) = place.whole(text) {
        // `Bearer …` is written down with its first word.
        let at = keys::scheme(text)..text.len();
        return vec![Span::new(at, name.to_owned())];
    }
    let embedded = depth
        .checked_sub(1)
        .and_then(|depth| embedded::find(text, place, depth));
    let mut found = embedded.unwrap_or_else(|| shapes::find(text));
    let part = place.part().filter(|at| text.get(at.clone()).is_some());
    found.extend(part.map(|at| Span::new(at, "password".to_owned())));
    apart(found)
}

/// Of two that overlap, the one that starts first counts, and reaches as far as both do.
fn apart(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.at.start, usize::MAX - span.at.end));
    let mut apart: Vec<Span> = Vec::new();
    for next in spans {
        match apart.last_mut() {
            Some(last) if next.at.start < last.at.end => {
                last.at.end = last.at.end.max(next.at.end);
            }
            Some(_) | None => apart.push(next),
        }
    }
    apart
}

fn is_word(text: &str, at: &Range<usize>) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !inside(text[..at.start].chars().next_back()) && !inside(text[at.end..].chars().next())
}

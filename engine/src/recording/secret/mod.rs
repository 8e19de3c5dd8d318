//! Secrets in the arguments of a recording: found, named, and kept out of everything that is written.

mod keys;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use self::keys::Telling;
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

/// What the keys above a value say of it.
#[derive(Clone, Debug)]
pub(super) struct Place(Telling);

impl Place {
    /// The top of the arguments.
    pub(super) fn top() -> Self {
        Self(Telling::No)
    }

    /// The place of a member. What the key says counts, else what stands above it.
    pub(super) fn member(&self, members: &Map<String, Value>, key: &str) -> Self {
        // `{"name": "Authorization", "value": "…"}` says it in the member beside it.
        let named = (key == "value")
            .then(|| {
                ["name", "key", "header"]
                    .iter()
                    .find_map(|key| members.get(*key))
            })
            .flatten()
            .and_then(Value::as_str);
        match keys::telling(named.unwrap_or(key)) {
            Telling::No => self.clone(),
            telling => Self(telling),
        }
    }

    /// Whether the whole value is a secret, and what to call it.
    fn whole(&self, text: &str) -> Option<&str> {
        match &self.0 {
            Telling::No => None,
            telling @ (Telling::Perhaps(name) | Telling::Likely(name) | Telling::Surely(name)) => {
                keys::is_secret(telling, text).then_some(name)
            }
        }
    }

    /// Whether a number here is a secret, and what to call it.
    pub(super) fn number(&self) -> Option<&str> {
        match &self.0 {
            Telling::Surely(name) => Some(name),
            Telling::No | Telling::Perhaps(_) | Telling::Likely(_) => None,
        }
    }
}

/// A secret in a text, and what to call it.
pub(super) struct Span {
    pub(super) at: Range<usize>,
    pub(super) name: String,
}

/// All secrets of the arguments of a recording.
#[derive(Default)]
pub(super) struct Secrets {
    /// What each was called where it was found first, the longest first.
    known: Vec<(String, String)>,
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
        secrets.known = secrets
            .names
            .iter()
            .map(|(text, name)| (text.clone(), name.clone()))
            .collect();
        secrets
            .known
            .sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
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
            Value::Array(items) => items.iter().for_each(|item| self.value(item, place)),
            Value::String(text) => {
                for Span { at, name } in own(text, place) {
                    self.names.entry(text[at].to_owned()).or_insert(name);
                }
            }
            Value::Number(number) => {
                if let Some(name) = place.number() {
                    self.names
                        .entry(number.to_string())
                        .or_insert_with(|| name.to_owned());
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// The secrets of a text, apart from one another and in order: its own, and those of elsewhere.
    pub(super) fn spans(&self, text: &str, place: &Place) -> Vec<Span> {
        let mut spans = own(text, place);
        self.elsewhere(text, &mut spans);
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

    /// Secrets of other places that this text holds too.
    fn elsewhere(&self, text: &str, spans: &mut Vec<Span>) {
        for (secret, name) in &self.known {
            if secret.len() < WORD_BYTES_MIN {
                continue;
            }
            for (start, _) in text.match_indices(secret.as_str()) {
                let at = start..start + secret.len();
                if secret.len() >= INSIDE_BYTES_MIN || is_word(text, &at) {
                    spans.push(Span {
                        at,
                        name: name.clone(),
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
            let is_in = |secret: &str| secret.len() >= INSIDE_BYTES_MIN && text.contains(secret);
            let found = self.known.iter().find(|(secret, _)| is_in(secret));
            found.map(|(_, name)| name)
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
    matches!(keys::telling(key), Telling::Likely(_) | Telling::Surely(_))
}

/// The secrets that a text shows by itself, or that its place tells of.
fn own(text: &str, place: &Place) -> Vec<Span> {
    if let Some(name) = place.whole(text) {
        // `Bearer …` is written down with its first word.
        let scheme = ["Bearer ", "bearer ", "Basic ", "Token ", "token "]
            .iter()
            .find(|scheme| text.starts_with(**scheme) && scheme.len() < text.trim_end().len());
        let start = scheme.map_or(0, |scheme| scheme.len());
        return vec![Span {
            at: start..text.len(),
            name: name.to_owned(),
        }];
    }
    shapes::find(text)
        .into_iter()
        .map(|found| Span {
            at: found.at,
            name: found.name,
        })
        .collect()
}

fn is_word(text: &str, at: &Range<usize>) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !inside(text[..at.start].chars().next_back()) && !inside(text[at.end..].chars().next())
}

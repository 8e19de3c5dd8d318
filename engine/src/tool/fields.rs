//! Reading the members of one object of the file, with every mistake reported at its place.

use std::time::Duration;

use serde_json::{Map, Value};

use super::duration;
use super::problem::{Report, did_you_mean};
use crate::canon::pointer_push;

/// A value and its place.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
}

impl<'a> Place<'a> {
    /// Its elements, each with its place.
    pub(super) fn elements(&self, report: &mut Report<'_>) -> Vec<Place<'a>> {
        let Value::Array(items) = self.value else {
            report.wrong(
                &self.pointer,
                format!("expected an array, found {}", kind(self.value)),
                None,
            );
            return Vec::new();
        };
        let place = |(index, value)| Place {
            value,
            pointer: format!("{}/{index}", self.pointer),
        };
        items.iter().enumerate().map(place).collect()
    }

    /// The text it holds.
    pub(super) fn text(&self, report: &mut Report<'_>) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            report.wrong(
                &self.pointer,
                format!("expected a string, found {}", kind(self.value)),
                None,
            );
        }
        text
    }
}

/// An object of which all keys are known.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    pub(super) pointer: String,
}

impl<'a> Fields<'a> {
    /// Opens an object; reports keys that are not in `known`.
    pub(super) fn open(place: &Place<'a>, known: &[&str], report: &mut Report<'_>) -> Option<Self> {
        let Value::Object(map) = place.value else {
            report.wrong(
                &place.pointer,
                format!("expected an object, found {}", kind(place.value)),
                None,
            );
            return None;
        };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let help = did_you_mean(key, known.iter().copied())
                .unwrap_or_else(|| format!("known here: {}", known.join(", ")));
            report.wrong_key(
                &pointer_push(&place.pointer, key),
                format!("unknown key {key:?}"),
                Some(help),
            );
        }
        Some(Self {
            map,
            pointer: place.pointer.clone(),
        })
    }

    /// The pointer of a member.
    pub(super) fn at(&self, key: &str) -> String {
        pointer_push(&self.pointer, key)
    }

    /// A member, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Place<'a>> {
        let value = self.map.get(key)?;
        Some(Place {
            value,
            pointer: self.at(key),
        })
    }

    /// A member that must be there.
    pub(super) fn require(&self, key: &str, report: &mut Report<'_>) -> Option<Place<'a>> {
        let place = self.get(key);
        if place.is_none() {
            report.wrong_key(&self.pointer, format!("{key:?} is missing here"), None);
        }
        place
    }

    /// A string.
    pub(super) fn text(&self, key: &str, report: &mut Report<'_>) -> Option<&'a str> {
        self.get(key)?.text(report)
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
        report: &mut Report<'_>,
    ) -> Option<T> {
        let text = self.text(key, report)?;
        let found = words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, meaning)| *meaning);
        if found.is_none() {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let help = did_you_mean(text, names.iter().copied())
                .unwrap_or_else(|| format!("one of {}", names.join(", ")));
            report.wrong(
                &self.at(key),
                format!("{text:?} is not a value of {key:?}"),
                Some(help),
            );
        }
        found
    }

    /// An array of strings, without repeats and empty ones.
    pub(super) fn texts(&self, key: &str, report: &mut Report<'_>) -> Option<Vec<String>> {
        let mut list: Vec<String> = Vec::new();
        for place in self.get(key)?.elements(report) {
            match place.text(report) {
                Some("") => {
                    report.wrong(&place.pointer, "an empty string has no meaning here", None);
                }
                Some(text) if list.iter().any(|other| other == text) => {
                    report.wrong(&place.pointer, format!("{text:?} is there twice"), None);
                }
                Some(text) => list.push(text.to_owned()),
                None => {}
            }
        }
        Some(list)
    }

    /// A whole number within bounds.
    pub(super) fn integer(
        &self,
        key: &str,
        min: u64,
        max: u64,
        report: &mut Report<'_>,
    ) -> Option<u32> {
        let place = self.get(key)?;
        let number = place
            .value
            .as_u64()
            .filter(|number| (min..=max).contains(number));
        if number.is_none() {
            report.wrong(
                &place.pointer,
                format!("{key:?} must be a whole number from {min} to {max}"),
                None,
            );
        }
        number.and_then(|number| u32::try_from(number).ok())
    }

    /// A duration, written as text.
    pub(super) fn duration(
        &self,
        key: &str,
        max: Duration,
        report: &mut Report<'_>,
    ) -> Option<Duration> {
        let text = self.text(key, report)?;
        match duration::parse(text) {
            Ok(value) if value <= max => Some(value),
            Ok(_) => {
                let seconds = max.as_secs();
                report.wrong(
                    &self.at(key),
                    format!("{key:?} is longer than {seconds}s, the most that is allowed"),
                    None,
                );
                None
            }
            Err(error) => {
                report.wrong(&self.at(key), error.to_string(), None);
                None
            }
        }
    }
}

/// What kind of JSON value it is, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

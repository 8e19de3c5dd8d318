//! Binds: what a step keeps of its answer for later steps.

use serde_json::Value;

use super::answer::{Answer, NO_JSON};
use super::assertion::after_word;
use super::is_name;
use super::path::Path;
use super::pattern::Pattern;

/// One bind of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// The name of the variable.
    pub name: String,
    text: String,
    source: Source,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Json(Path),
    Body(Pattern),
}

impl Bind {
    /// Reads a bind, or says what is wrong with it and what is valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains(['\n', '\r']) {
            return Err("a bind is one line".to_owned());
        }
        let unreadable = || {
            format!(
                "{text:?} is not a bind; write NAME = json.PATH or NAME = body match /RE/ (its first group)"
            )
        };
        let (name, source) = text.split_once('=').ok_or_else(unreadable)?;
        let (name, source) = (name.trim(), source.trim());
        if is_today(name) {
            return Err(format!("{name:?} stands for a date and cannot be bound"));
        }
        if !is_name(name) {
            return Err(format!(
                "{name:?} is not a name: a letter or _, then letters, digits, _"
            ));
        }
        let source = if let Some(rest) = after_word(source, "body") {
            let pattern = after_word(rest, "match").ok_or_else(unreadable)?;
            let pattern = Pattern::read(pattern)?;
            if pattern.groups() == 0 {
                return Err(
                    "the regular expression has no group; put what is bound in parentheses"
                        .to_owned(),
                );
            }
            Source::Body(pattern)
        } else {
            let path = source.strip_prefix("json").ok_or_else(unreadable)?;
            let (path, rest) = Path::take(path)?;
            if !rest.is_empty() {
                return Err(format!(
                    "{rest:?} does not belong to a path; a key with other characters than letters, digits and _ is written json[\"a-b\"]"
                ));
            }
            Source::Json(path)
        };
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            source,
        })
    }

    /// It, as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has_pattern(&self) -> bool {
        matches!(self.source, Source::Body(_))
    }

    /// The value that an answer gives, or why it gives none. `null` is a value.
    pub fn take(&self, answer: &Answer<'_>) -> Result<Value, String> {
        let fail = |why: &str| Err(why.to_owned());
        match &self.source {
            Source::Json(path) => {
                let Some(json) = answer.json else {
                    return fail(NO_JSON);
                };
                match path.find(json) {
                    Some(value) => Ok(value.clone()),
                    None => fail("there is nothing at this path"),
                }
            }
            Source::Body(pattern) => match pattern.first_group(answer.text) {
                Some(text) => Ok(Value::String(text.to_owned())),
                None => fail("the body does not match"),
            },
        }
    }
}

/// Whether a name is one of the dates: `today`, `today-7d`.
pub(super) fn is_today(name: &str) -> bool {
    name == "today" || name.starts_with("today+") || name.starts_with("today-")
}

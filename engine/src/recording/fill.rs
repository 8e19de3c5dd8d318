//! The arguments of one step, with holes where values come from elsewhere.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use chrono::NaiveDate;
use serde_json::{Map, Value};

use super::dates;
use super::error::CompileError;
use super::flow::{Flow, Found, How, Source, id, id_of_text};
use super::inputs::{Inputs, hole};
use super::secret::{Place, Secrets, Span, holds, is_secret_key};
use super::words::{one_line, sorted};
use crate::limits::SKILL_CHECKS_MAX;

/// How much of a path a question shows, in characters.
const PATH_CHARS_MAX: usize = 120;

/// A value that a step keeps for later ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) source: Source,
    /// A use of it, or what it is, says that it is a secret.
    pub(super) is_secret: bool,
}

/// What is known while steps are made.
pub(super) struct Filler<'a> {
    pub(super) secrets: &'a Secrets,
    pub(super) flow: Flow,
    pub(super) inputs: Inputs,
    /// What each step keeps, by its number.
    pub(super) kept: HashMap<usize, Vec<Kept>>,
    pub(super) today: Option<NaiveDate>,
    pub(super) apply_dates: bool,
    pub(super) questions: Vec<String>,
    /// What some argument follows, as [`Flow`] compares it.
    pub(super) followed: HashSet<String>,
    /// Whether the step that is made changes something.
    pub(super) is_write: bool,
    /// The step that is made, from 1, and the line of its call.
    pub(super) step: usize,
    pub(super) line: usize,
}

/// A part of a text that a hole stands for.
struct Part {
    at: Range<usize>,
    hole: String,
    /// It keeps its type where it is the whole text.
    is_text: bool,
}

impl Filler<'_> {
    /// The arguments of a call with their holes.
    pub(super) fn args(
        &mut self,
        args: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CompileError> {
        self.members(args, &Place::top())
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        place: &Place,
    ) -> Result<Map<String, Value>, CompileError> {
        let mut filled = Map::new();
        for (key, value) in sorted(members) {
            if key.contains("{{") {
                return Err(CompileError::Inexpressible {
                    line: self.line,
                    what: "a key of its arguments has double braces, and keys have no holes; take the call out"
                        .to_owned(),
                });
            }
            if self.secrets.is_in(key) {
                return Err(CompileError::Inexpressible {
                    line: self.line,
                    what: "a key of its arguments holds a secret, and keys have no holes; record without it"
                        .to_owned(),
                });
            }
            let value = self.value(value, key, &place.member(members, key))?;
            filled.insert(key.clone(), value);
        }
        Ok(filled)
    }

    fn value(&mut self, value: &Value, key: &str, place: &Place) -> Result<Value, CompileError> {
        if let Some(hole) = self.following(value, key, place) {
            return Ok(Value::String(hole));
        }
        Ok(match value {
            Value::Object(members) => Value::Object(self.members(members, place)?),
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .zip(place.items(items))
                    .map(|(item, place)| self.value(item, key, &place))
                    .collect::<Result<_, _>>()?,
            ),
            Value::String(text) => Value::String(self.text(text, key, place)),
            Value::Number(number) => {
                let digits = number.to_string();
                let secret = place
                    .number(&digits)
                    .or_else(|| self.secrets.number(&digits));
                if let Some(name) = secret.map(str::to_owned) {
                    let wish = self.wish(&name);
                    Value::String(self.inputs.secret(value, &wish))
                } else {
                    self.doubts(value, &digits, key);
                    value.clone()
                }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        })
    }

    /// The hole of a whole value that an earlier step answered, and questions about it.
    fn following(&mut self, value: &Value, key: &str, place: &Place) -> Option<String> {
        let Found { source, how } = self.flow.value(value, key)?;
        let is_secret = holds(value, place);
        if how == How::Stays {
            // A secret is asked for at each run instead.
            if !is_secret {
                self.ask(
                    key,
                    &source,
                    "may be equal by chance, so it stays. Should it follow?",
                );
            }
            return None;
        }
        let hole = self.bound(source.clone(), is_secret)?;
        self.followed.extend(id(value));
        if how == How::AskedOfWrites && self.is_write {
            self.ask(key, &source, "is what it follows. Is it the same thing?");
        }
        Some(hole)
    }

    /// Asks whether an argument is the value at a path.
    fn ask(&mut self, key: &str, source: &Source, what: &str) {
        let key = one_line(&self.secrets.redact(key), 40);
        let (step, path) = (source.step, one_line(&source.path, PATH_CHARS_MAX));
        self.question(&format!(
            "\"{key}\" equals a value of an earlier answer: {path} of step {step} {what}"
        ));
    }

    /// Asks about a value that stands in an answer from where it cannot be taken.
    fn doubts(&mut self, value: &Value, text: &str, key: &str) {
        let what = if self.flow.other_type(value, key).is_some() {
            let (is, of) = if value.is_string() {
                ("text", "a number")
            } else {
                ("a number", "text")
            };
            format!(
                "is {is} that equals {of} of an earlier answer, so it was left as it is. Should it follow?"
            )
        } else if let Some(step) = self.flow.loose(text) {
            format!(
                "has what stands in the answer of step {step} too, where no path leads to it. Should it follow? Then bind it there with NAME = body match /RE/"
            )
        } else {
            return;
        };
        let key = one_line(&self.secrets.redact(key), 40);
        self.question(&format!("\"{key}\" {what}"));
    }

    /// The hole of a value that an earlier step answered; none where that step keeps too much already.
    fn bound(&mut self, source: Source, is_secret: bool) -> Option<String> {
        let kept = self.kept.entry(source.step).or_default();
        if let Some(known) = kept.iter_mut().find(|kept| kept.source.path == source.path) {
            known.is_secret |= is_secret;
            return Some(hole(&known.name));
        }
        // One assertion is that of the status.
        if kept.len() + 1 >= SKILL_CHECKS_MAX {
            let step = source.step;
            self.question(&format!(
                "it has more values of the answer of step {step} than a step can bind. Should they follow?"
            ));
            return None;
        }
        let name = self.inputs.name(&source.key);
        kept.push(Kept {
            name: name.clone(),
            is_secret: is_secret || is_secret_key(&source.key),
            source,
        });
        Some(hole(&name))
    }

    fn text(&mut self, text: &str, key: &str, place: &Place) -> String {
        let spans = self.secrets.spans(text, place);
        let whole = || Value::String(text.to_owned());
        // Braces would be read as a hole, or together with one: the whole text becomes a value.
        let is_beside_brace =
            |at: &Range<usize>| text[..at.start].ends_with('{') || text[at.end..].starts_with('}');
        let beside = spans.iter().any(|span| is_beside_brace(&span.at));
        if text.contains("{{") || beside {
            return match spans.first() {
                Some(span) => {
                    let wish = self.wish(&span.name);
                    self.inputs.secret(&whole(), &wish)
                }
                None => self.inputs.value(&whole(), key),
            };
        }
        if spans.is_empty() && self.flow.other_type(&whole(), key).is_some() {
            self.doubts(&whole(), text, key);
            return text.to_owned();
        }
        let mut parts = Vec::new();
        for span in spans {
            let secret = &text[span.at.clone()];
            let found = self.flow.value(&Value::from(secret), key);
            let source = found
                .filter(|found| found.how != How::Stays)
                .map(|found| found.source);
            let hole = if let Some(hole) = source.and_then(|source| self.bound(source, true)) {
                self.followed.insert(id_of_text(secret));
                hole
            } else {
                self.secret(secret, &span, key)
            };
            parts.push(Part {
                at: span.at,
                hole,
                is_text: true,
            });
        }
        self.flowing(text, key, &mut parts, is_beside_brace);
        if parts.is_empty() {
            self.doubts(&whole(), text, key);
        }
        self.days(text, key, &mut parts);
        parts.sort_by_key(|part| part.at.start);
        if let [part] = parts.as_slice()
            && part.at == (0..text.len())
            && !part.is_text
        {
            // One hole alone would be a number again.
            let key = one_line(key, 40);
            self.question(&format!(
                "\"{key}\" is text that equals a number of an earlier answer, so it was left as it is. Should it follow?"
            ));
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for part in parts {
            out.push_str(&text[from..part.at.start]);
            out.push_str(&part.hole);
            from = part.at.end;
        }
        out.push_str(&text[from..]);
        out
    }

    /// How an input is to be called: what stands beside a secret names it, unless that is one too.
    fn wish(&self, name: &str) -> String {
        let name = if self.secrets.is_in(name) {
            "secret"
        } else {
            name
        };
        name.to_owned()
    }

    /// The hole of a secret that a run asks for.
    fn secret(&mut self, secret: &str, span: &Span, key: &str) -> String {
        let wish = self.wish(&span.name);
        let hole = self.inputs.secret(&Value::from(secret), &wish);
        if span.is_encoded {
            let key = one_line(&self.secrets.redact(key), 40);
            let name = hole.replace(['{', '}'], "");
            self.question(&format!(
                "\"{key}\" has a secret in the form that JSON or URLs have; give the input {name:?} in that form. Is it one that another input has already?"
            ));
        }
        hole
    }

    /// Holes for what came out of earlier answers, where no secret stands.
    fn flowing(
        &mut self,
        text: &str,
        key: &str,
        parts: &mut Vec<Part>,
        is_beside_brace: impl Fn(&Range<usize>) -> bool,
    ) {
        let found = self.flow.parts(text);
        let found: Vec<_> = found
            .into_iter()
            .filter(|(at, _)| !is_beside_brace(at) && is_free(at, parts))
            .collect();
        let mut asked: Option<Source> = None;
        for (at, Found { source, how }) in found {
            let is_whole = at == (0..text.len());
            if how == How::Stays {
                if !is_whole {
                    asked.get_or_insert(source);
                }
                continue;
            }
            let is_text = source.kind == "string";
            // A number alone stays the text that it is, and needs no bind.
            let hole = if is_text || !is_whole {
                if how == How::AskedOfWrites && self.is_write {
                    asked.get_or_insert_with(|| source.clone());
                }
                self.bound(source, false)
            } else {
                Some(String::new())
            };
            let Some(hole) = hole else {
                continue;
            };
            let part = &text[at.clone()];
            let id = if is_text {
                id_of_text(part)
            } else {
                part.to_owned()
            };
            self.followed.insert(id);
            parts.push(Part { at, hole, is_text });
        }
        if let Some(source) = asked {
            self.asked_inside(key, &source);
        }
    }

    /// Asks about a value that other arguments follow, and that stands in a longer text too.
    fn asked_inside(&mut self, key: &str, source: &Source) {
        let key = one_line(&self.secrets.redact(key), 40);
        let (step, path) = (source.step, one_line(&source.path, PATH_CHARS_MAX));
        self.question(&format!(
            "\"{key}\" has a word that equals {path} of step {step}, which other arguments follow. Should it follow too?"
        ));
    }

    /// Holes for days, or questions about them.
    fn days(&mut self, text: &str, key: &str, parts: &mut Vec<Part>) {
        let Some(today) = self.today else {
            if dates::has_day(text) {
                let key = one_line(key, 40);
                self.question(&format!(
                    "\"{key}\" has a day, and no time of the recording says when it was made. Should it move with the day of the run? Then write {{{{today}}}}, {{{{today-1d}}}} or the like"
                ));
            }
            return;
        };
        for day in dates::find(text, today) {
            if !is_free(&day.at, parts) {
                continue;
            }
            if self.apply_dates {
                parts.push(Part {
                    at: day.at,
                    hole: day.hole,
                    is_text: true,
                });
            } else {
                let (key, named, hole) = (one_line(key, 40), &text[day.at], day.hole);
                self.question(&format!(
                    "\"{key}\" has the day {named}. Should it move with the day of the run? Then write {hole}"
                ));
            }
        }
    }

    /// Asks a person about this step.
    pub(super) fn question(&mut self, what: &str) {
        let step = self.step;
        self.questions.push(format!("Step {step}: {what}"));
    }
}

/// Whether nothing stands there yet.
fn is_free(at: &Range<usize>, parts: &[Part]) -> bool {
    parts
        .iter()
        .all(|part| part.at.end <= at.start || at.end <= part.at.start)
}

//! Holes: `{{name}}` inside the strings of a step's arguments, and how they are filled.
//!
//! A text is searched once. What was filled in is never searched again; and where a filled text would
//! read as if it had the hole of a secret that its template does not have, the step fails.

use std::collections::BTreeSet;
use std::fmt;

use chrono::{Days, NaiveDate};
use serde_json::Value;

use super::bind::is_today;
use super::is_name;
use super::vars::{Vars, how_to_give};
use crate::canon::{CanonicalJson, pointer_push};
use crate::limits::{JSON_BYTES_MAX, JSON_DEPTH_MAX, SKILL_DATE_DAYS_MAX};

/// A piece of a template, and where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// What stands between the braces.
    Hole(&'a str),
}

/// The pieces of a text with their places. A hole is `{{`, anything without `{{` or `}}`, `}}`.
pub(super) fn parts(text: &str) -> Vec<(usize, Part<'_>)> {
    let mut parts = Vec::new();
    let mut begun = 0;
    let mut at = 0;
    while let Some(end) = text[at..].find("}}").map(|found| at + found) {
        if let Some(start) = text[begun..end].rfind("{{").map(|found| begun + found) {
            if begun < start {
                parts.push((begun, Part::Text(&text[begun..start])));
            }
            parts.push((start, Part::Hole(&text[start + 2..end])));
            begun = end + 2;
            at = begun;
        } else {
            // Of `}}}}` too, only what has an opening is an end.
            at = end + 1;
        }
    }
    if begun < text.len() || parts.is_empty() {
        parts.push((begun, Part::Text(&text[begun..])));
    }
    parts
}

/// What a hole stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole<'a> {
    Var(&'a str),
    /// A day, so many days from today.
    Day(i64),
}

impl<'a> Hole<'a> {
    /// Reads what stands between the braces.
    pub(super) fn read(inside: &'a str) -> Result<Self, String> {
        if is_name(inside) && inside != "today" {
            return Ok(Self::Var(inside));
        }
        if !is_today(inside) {
            return Err(format!(
                "{{{{{inside}}}}} is not a hole: between the braces stands a name (a letter or _, then letters, digits, _), without spaces"
            ));
        }
        let wrong = || {
            format!(
                "{{{{{inside}}}}} is not a date; write {{{{today}}}}, {{{{today-Nd}}}} or {{{{today+Nd}}}}, N from 1 to {SKILL_DATE_DAYS_MAX}"
            )
        };
        let offset = &inside["today".len()..];
        if offset.is_empty() {
            return Ok(Self::Day(0));
        }
        let (sign, digits) = offset.split_at(1);
        let digits = digits.strip_suffix('d').ok_or_else(wrong)?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let days: u64 = digits.parse().map_err(|_| wrong())?;
        if !plain || !(1..=SKILL_DATE_DAYS_MAX).contains(&days) {
            return Err(wrong());
        }
        let days = i64::try_from(days).map_err(|_| wrong())?;
        Ok(Self::Day(if sign == "-" { -days } else { days }))
    }
}

/// A call with its holes filled, but for those of secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// The arguments; the holes of secrets stand in them as they are. This is what is stored and shown.
    pub args: Value,
    /// The names of the secrets that they have holes for.
    pub secrets: BTreeSet<String>,
}

/// Why a step's arguments could not be filled. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillError {
    /// The number of the step.
    pub step: u32,
    /// A JSON Pointer to the value in the arguments.
    pub pointer: String,
    /// The hole, as written; empty where it is about the whole value.
    pub hole: String,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl fmt::Display for FillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, pointer, .. } = self;
        let place = if pointer.is_empty() {
            "the arguments"
        } else {
            pointer
        };
        write!(f, "step {step}, {place}: {}", self.message)
    }
}

impl std::error::Error for FillError {}

/// Fills the arguments of a step.
pub(super) fn fill(
    step: u32,
    args: &Value,
    vars: &Vars,
    today: NaiveDate,
) -> Result<Filled, Vec<FillError>> {
    let mut filler = Filler {
        step,
        vars,
        today,
        room: JSON_BYTES_MAX,
        secrets: BTreeSet::new(),
        errors: Vec::new(),
    };
    let args = filler.value(args, "");
    if filler.errors.is_empty() && JSON_DEPTH_MAX < depth(&args) {
        let message = format!("the filled arguments are nested more than {JSON_DEPTH_MAX} deep");
        filler.fail("", "", message);
    }
    if filler.errors.is_empty() && JSON_BYTES_MAX < CanonicalJson::of(&args).as_str().len() {
        filler.too_long("");
    }
    if filler.errors.is_empty() {
        Ok(Filled {
            args,
            secrets: filler.secrets,
        })
    } else {
        Err(filler.errors)
    }
}

struct Filler<'a> {
    step: u32,
    vars: &'a Vars,
    today: NaiveDate,
    /// How many bytes may still be filled in.
    room: usize,
    secrets: BTreeSet<String>,
    errors: Vec<FillError>,
}

impl Filler<'_> {
    fn fail(&mut self, pointer: &str, hole: &str, message: String) {
        self.errors.push(FillError {
            step: self.step,
            pointer: pointer.to_owned(),
            hole: hole.to_owned(),
            message,
        });
    }

    fn too_long(&mut self, pointer: &str) {
        let message = format!("the filled arguments are longer than {JSON_BYTES_MAX} bytes");
        self.fail(pointer, "", message);
    }

    fn value(&mut self, value: &Value, pointer: &str) -> Value {
        match value {
            Value::String(text) => self.text(text, pointer),
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(place, item)| self.value(item, &format!("{pointer}/{place}")))
                    .collect(),
            ),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, member)| {
                        let filled = self.value(member, &pointer_push(pointer, key));
                        (key.clone(), filled)
                    })
                    .collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn text(&mut self, text: &str, pointer: &str) -> Value {
        let parts = parts(text);
        if let [(_, Part::Hole(inside))] = parts.as_slice() {
            return match self.hole(inside, pointer) {
                Some(Filling::Value(value)) => {
                    self.refuse_forged(&value, inside, pointer);
                    value
                }
                Some(Filling::Secret) | None => Value::String(text.to_owned()),
            };
        }
        let mut out = String::with_capacity(text.len());
        let mut secret_at = Vec::new();
        for (_, part) in &parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Hole(inside) => match self.hole(inside, pointer) {
                    Some(Filling::Value(Value::String(text))) => out.push_str(&text),
                    Some(Filling::Value(value)) => {
                        out.push_str(CanonicalJson::of(&value).as_str());
                    }
                    Some(Filling::Secret) => {
                        secret_at.push(out.len());
                        out.push_str("{{");
                        out.push_str(inside);
                        out.push_str("}}");
                    }
                    None => {}
                },
            }
        }
        let found: Vec<usize> = secret_holes(&out, self.vars).map(|(at, _)| at).collect();
        if self.errors.is_empty() && found != secret_at {
            self.forged(text, pointer);
        }
        Value::String(out)
    }

    /// What a hole is filled with; none where that is an error.
    fn hole(&mut self, inside: &str, pointer: &str) -> Option<Filling> {
        let written = format!("{{{{{inside}}}}}");
        let filling = match Hole::read(inside) {
            Ok(Hole::Day(days)) => {
                let distance = Days::new(days.unsigned_abs());
                let day = if days < 0 {
                    self.today.checked_sub_days(distance)
                } else {
                    self.today.checked_add_days(distance)
                };
                day.map(|day| Filling::Value(Value::String(day.format("%Y-%m-%d").to_string())))
                    .ok_or_else(|| format!("{written} is beyond the calendar"))
            }
            Ok(Hole::Var(name)) if self.vars.secrets().declares(name) => {
                self.secrets.insert(name.to_owned());
                if self.vars.secrets().has(name) {
                    Ok(Filling::Secret)
                } else {
                    Err(format!(
                        "{written} has no value; give it with {}",
                        how_to_give(name, true)
                    ))
                }
            }
            Ok(Hole::Var(name)) => match self.vars.values().get(name) {
                Some(value) => Ok(Filling::Value(value.clone())),
                None => Err(format!(
                    "{written} is not bound; give it with --var {name}=…, or bind it in an earlier step"
                )),
            },
            Err(message) => Err(message),
        };
        match filling {
            Ok(Filling::Value(value)) => {
                let size = size(&value);
                if self.room < size {
                    self.too_long(pointer);
                    return None;
                }
                self.room -= size;
                Some(Filling::Value(value))
            }
            Ok(Filling::Secret) => Some(Filling::Secret),
            Err(message) => {
                self.fail(pointer, &written, message);
                None
            }
        }
    }

    /// Refuses a value that would read as the hole of a secret.
    fn refuse_forged(&mut self, value: &Value, inside: &str, pointer: &str) {
        if has_secret_hole(value, self.vars) {
            self.forged(&format!("{{{{{inside}}}}}"), pointer);
        }
    }

    fn forged(&mut self, hole: &str, pointer: &str) {
        let message =
            "what is filled in here reads like the hole of a secret, which would be filled in its \
             place; the step is not sent"
                .to_owned();
        self.fail(pointer, hole, message);
    }
}

enum Filling {
    Value(Value),
    Secret,
}

/// The holes of secrets in a text, with their places.
pub(super) fn secret_holes<'t>(
    text: &'t str,
    vars: &Vars,
) -> impl Iterator<Item = (usize, &'t str)> {
    parts(text).into_iter().filter_map(|(at, part)| match part {
        Part::Hole(name) if vars.secrets().declares(name) => Some((at, name)),
        Part::Hole(_) | Part::Text(_) => None,
    })
}

/// The names of all holes in the texts of a value; keys have none.
pub(crate) fn holes(value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => {
            let parts = parts(text).into_iter();
            parts
                .filter_map(|(_, part)| match part {
                    Part::Hole(name) => Some(name.to_owned()),
                    Part::Text(_) => None,
                })
                .collect()
        }
        Value::Array(items) => items.iter().flat_map(holes).collect(),
        Value::Object(members) => members.values().flat_map(holes).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => BTreeSet::new(),
    }
}

fn has_secret_hole(value: &Value, vars: &Vars) -> bool {
    match value {
        Value::String(text) => secret_holes(text, vars).next().is_some(),
        Value::Array(items) => items.iter().any(|item| has_secret_hole(item, vars)),
        Value::Object(members) => members.values().any(|member| has_secret_hole(member, vars)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// About how long a value is as JSON, and never much longer.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(members) => {
            let size = |(key, value): (&String, &Value)| key.len() + 4 + size(value);
            2 + members.iter().map(size).sum::<usize>()
        }
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
    }
}

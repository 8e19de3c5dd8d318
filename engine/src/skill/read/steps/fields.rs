//! The values of a step's lines.

use std::ops::Range;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::canon::{Digest, pointer_push};
use crate::limits::{
    ATTEMPTS_MAX, SKILL_CHECKS_MAX, SKILL_HOLES_MAX, TIMEOUT_MAX, TOOL_NAME_BYTES_MAX,
};
use crate::skill::error::Report;
use crate::skill::read::header::Header;
use crate::skill::read::json::Json;
use crate::skill::read::{FieldPlace, Front, Key, StepPlace, quoted};
use crate::skill::template::{Hole, Part, parts};
use crate::skill::text::{Source, trim};
use crate::skill::{Assertion, Bind, Step, When};
use crate::tool::{Annotations, EffectClass, classify_effect, did_you_mean, parse_duration};

/// Reads the lines of one step.
pub(super) fn step(
    source: &Source<'_>,
    place: &StepPlace,
    number: u32,
    header: &Header,
    front: &Front,
    bound: &[String],
    report: &mut Report,
) -> Step {
    let mut reader = Reader {
        source,
        place,
        number,
        report,
    };
    reader.refuse_unsupported();
    let intent = reader.required(Key::Intent);
    let (tool, args) = reader.action();
    let effect = reader.one(Key::Effect, effect);
    let asserts = reader.all(Key::Assert, Assertion::parse);
    let binds = reader.binds(front);
    let step = Step {
        number,
        title: source.text[header.title.clone()].to_owned(),
        intent,
        effect,
        asserts,
        binds,
        approve: reader.one(Key::Approve, |text| {
            text.parse::<Digest>().map_err(|error| error.to_string())
        }),
        timeout: reader.one(Key::Timeout, timeout),
        retry: reader.one(Key::Retry, retry),
        when: reader.one(Key::When, |text| when(text, bound, front)),
        exposure: reader.one(Key::Exposure, |text| Ok(text.to_owned())),
        tool,
        args,
    };
    reader.check_retry(&step);
    step
}

/// A condition is in the history with its text, and which way it went says something of what it reads.
fn when(text: &str, bound: &[String], front: &Front) -> Result<When, String> {
    let when = When::parse(text, bound)?;
    let is_secret = |name: &&String| front.inputs.get(*name).is_some_and(|input| input.secret);
    match when.variables().iter().find(is_secret) {
        Some(name) => Err(format!(
            "vars.{name} is a secret input, and secrets are not visible to `when`; give what decides as an input of its own"
        )),
        None => Ok(when),
    }
}

struct Reader<'a> {
    source: &'a Source<'a>,
    place: &'a StepPlace,
    number: u32,
    report: &'a mut Report,
}

impl<'a> Reader<'a> {
    fn fields(&self, key: Key) -> impl Iterator<Item = &'a FieldPlace> + use<'a> {
        self.place
            .fields
            .iter()
            .filter(move |field| field.key == key)
    }

    fn text(&self, field: &FieldPlace) -> &'a str {
        &self.source.text[field.value.clone()]
    }

    fn wrong(&mut self, span: Range<usize>, message: &str, help: Option<&str>) {
        let message = format!("step {}: {message}", self.number);
        self.report.wrong(span, message, help.map(str::to_owned));
    }

    /// Refuses in words what this program does not know how to keep.
    fn refuse_unsupported(&mut self) {
        for key in [Key::Attest, Key::Expect, Key::Emit] {
            for field in self.fields(key) {
                let message = format!(
                    "`{}` is not supported; the file is refused, because running the step without it would promise what is not kept",
                    key.name()
                );
                let line = self.source.trimmed(field.line);
                self.wrong(
                    line,
                    &message,
                    Some("remove the line if the step may run without it"),
                );
            }
        }
    }

    fn required(&mut self, key: Key) -> String {
        let header = self.source.trimmed(self.place.header);
        match self.fields(key).next() {
            None => {
                let name = key.name();
                let help = format!("add a line - {name}: …");
                self.wrong(header, &format!("it has no {name:?}"), Some(&help));
                String::new()
            }
            Some(field) if field.value.is_empty() => {
                let line = self.source.trimmed(field.line);
                self.wrong(line, &format!("{:?} is empty", key.name()), None);
                String::new()
            }
            Some(field) => self.text(field).to_owned(),
        }
    }

    fn one<T>(&mut self, key: Key, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        self.all(key, read).pop()
    }

    fn all<T>(&mut self, key: Key, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let mut values = Vec::new();
        for (index, field) in self.fields(key).enumerate() {
            let line = self.source.trimmed(field.line);
            let span = if field.value.is_empty() {
                line
            } else {
                field.value.clone()
            };
            if index == SKILL_CHECKS_MAX {
                let message = format!("it has more than {SKILL_CHECKS_MAX} lines {:?}", key.name());
                self.wrong(span, &message, None);
                break;
            }
            match read(self.text(field)) {
                Ok(value) => values.push(value),
                Err(message) => self.wrong(span, &message, None),
            }
        }
        values
    }

    fn binds(&mut self, front: &Front) -> Vec<Bind> {
        let taken = |bind: Bind| {
            if front.inputs.contains_key(&bind.name) {
                let name = &bind.name;
                return Err(format!(
                    "{name:?} is an input already; bind it under another name"
                ));
            }
            Ok(bind)
        };
        self.all(Key::Bind, |text| Bind::parse(text).and_then(taken))
    }

    fn action(&mut self) -> (String, Value) {
        let nothing = (String::new(), Value::Object(Map::new()));
        let whole = self.required(Key::Action);
        let Some(field) = self.fields(Key::Action).next() else {
            return nothing;
        };
        if whole.is_empty() {
            return nothing;
        }
        let help = "write - action: TOOL {\"argument\": \"value\"}";
        let Some((tool, _)) = whole.split_once(' ') else {
            self.wrong(
                field.value.clone(),
                &format!("{} is not a tool and its arguments", quoted(&whole)),
                Some(help),
            );
            return nothing;
        };
        let name = field.value.start..field.value.start + tool.len();
        if TOOL_NAME_BYTES_MAX < tool.len() || tool.contains(char::is_control) {
            let message = format!(
                "{} is not the name of a tool: it has at most {TOOL_NAME_BYTES_MAX} bytes and no control characters",
                quoted(tool)
            );
            self.wrong(name.clone(), &message, None);
        }
        let args = trim(self.source.text, name.end..field.value.end);
        let what = format!("step {}: what follows {}", self.number, quoted(tool));
        let Some(json) = Json::read(self.source, &args, &what, self.report) else {
            return (tool.to_owned(), nothing.1);
        };
        if !json.value.is_object() {
            self.wrong(
                args.clone(),
                "the arguments are not a JSON object",
                Some(help),
            );
        }
        let mut holes = 0;
        self.check_holes(&json, &json.value, "", &mut holes);
        if SKILL_HOLES_MAX < holes {
            let message = format!("it has more than {SKILL_HOLES_MAX} holes");
            self.wrong(args.clone(), &message, None);
        }
        (tool.to_owned(), json.value)
    }

    fn check_holes(&mut self, json: &Json<'_>, value: &Value, pointer: &str, holes: &mut usize) {
        match value {
            Value::String(text) => {
                for (_, part) in parts(text) {
                    let Part::Hole(inside) = part else { continue };
                    *holes += 1;
                    if let Err(message) = Hole::read(inside) {
                        self.wrong(json.place(pointer), &message, None);
                    }
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.check_holes(json, item, &format!("{pointer}/{place}"), holes);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    let pointer = pointer_push(pointer, key);
                    if parts(key)
                        .iter()
                        .any(|(_, part)| matches!(part, Part::Hole(inside) if Hole::read(inside).is_ok()))
                    {
                        let message = format!(
                            "the key {} has a hole, and keys are never filled",
                            quoted(key)
                        );
                        self.wrong(json.key_place(&pointer), &message, None);
                    }
                    self.check_holes(json, member, &pointer, holes);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn check_retry(&mut self, step: &Step) {
        let told = classify_effect(&step.tool, Annotations::default());
        let destructive = match step.effect {
            Some(effect) => effect == EffectClass::Destructive,
            None => told.effect == EffectClass::Destructive && !told.review,
        };
        if let (Some(1..), true) = (step.retry, destructive)
            && let Some(field) = self.fields(Key::Retry).next()
        {
            self.wrong(
                field.value.clone(),
                "a destructive step is never tried again by itself",
                Some("leave `retry` out"),
            );
        }
    }
}

fn effect(text: &str) -> Result<EffectClass, String> {
    let found = EffectClass::ALL.into_iter().find(|one| one.name() == text);
    found.ok_or_else(|| {
        let names = EffectClass::ALL.map(EffectClass::name);
        let near = did_you_mean(text, names).map_or_else(String::new, |near| format!("; {near}"));
        format!(
            "{} is not an effect: read, idempotent-write, destructive{near}",
            quoted(text)
        )
    })
}

fn timeout(text: &str) -> Result<Duration, String> {
    let timeout = parse_duration(text).map_err(|error| error.to_string())?;
    if timeout.is_zero() || TIMEOUT_MAX < timeout {
        return Err("a timeout is more than nothing and at most an hour".to_owned());
    }
    Ok(timeout)
}

fn retry(text: &str) -> Result<u32, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u32> = plain.then(|| text.parse().ok()).flatten();
    number
        .filter(|number| u64::from(*number) < ATTEMPTS_MAX)
        .ok_or_else(|| {
            format!(
                "{} is not a number of further attempts, which is 0 to {}",
                quoted(text),
                ATTEMPTS_MAX - 1
            )
        })
}

//! The front matter: `name`, `description`, `inputs`, `manifest`, and whatever else stands there.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::json::Json;
use super::{Layout, quoted};
use crate::canon::pointer_push;
use crate::limits::{SKILL_INPUTS_MAX, SKILL_NAME_CHARS_MAX};
use crate::skill::bind::is_today;
use crate::skill::error::Report;
use crate::skill::text::{Source, trim};
use crate::skill::{FrontLine, Input, InputKind, Manifest, ManifestTool, is_name};
use crate::tool::did_you_mean;

const FENCE: &str = "---";

/// What the front matter says.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) lines: Vec<FrontLine>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) inputs: BTreeMap<String, Input>,
    pub(super) manifest: Option<Manifest>,
}

pub(super) fn read(source: &Source<'_>, report: &mut Report, layout: &mut Layout) -> Front {
    let mut front = Front::default();
    if source.lines.is_empty() || source.content(0) != FENCE {
        let first = source
            .lines
            .first()
            .map_or(0..0, |line| line.start..line.end);
        report.wrong(
            first,
            "a skill file starts with front matter: --- on its first line",
            Some("write ---, then name: … and description: …, then --- again".to_owned()),
        );
        return front;
    }
    let end = (1..source.lines.len()).find(|line| source.content(*line) == FENCE);
    let Some(end) = end else {
        let help = "write --- behind its last line".to_owned();
        report.wrong(
            source.trimmed(0),
            "the front matter is never closed by another ---",
            Some(help),
        );
        layout.body = source.lines.len();
        return front;
    };
    layout.body = end + 1;
    let mut places: BTreeMap<&str, Range<usize>> = BTreeMap::new();
    for line in 1..end {
        let range = source.trimmed(line);
        if range.is_empty() {
            continue;
        }
        let Some((key, value)) = key_and_value(source.text, &range) else {
            let help =
                "a line of the front matter is blank or KEY: VALUE (a letter or _, then letters, digits, _)"
                    .to_owned();
            let text = quoted(&source.text[range.clone()]);
            let message = format!("{text} is not a line of front matter");
            report.wrong(range, message, Some(help));
            continue;
        };
        let (name, text) = (&source.text[key.clone()], &source.text[value.clone()]);
        if text.contains('\r') {
            report.wrong(value.clone(), "there is a stray carriage return", None);
        }
        if places.insert(name, value.clone()).is_some() {
            report.wrong(key.clone(), format!("{name:?} stands here twice"), None);
        }
        front.lines.push(FrontLine {
            key: name.to_owned(),
            value: text.to_owned(),
        });
        layout.front.push((key, value));
    }
    let fence = source.trimmed(0);
    front.name = required(source, &places, "name", &fence, report);
    front.description = required(source, &places, "description", &fence, report);
    if let Some(place) = places.get("name") {
        check_name(&front.name, place, report);
    }
    if let Some(place) = places.get("inputs") {
        front.inputs = inputs(source, place, report);
    }
    if let Some(place) = places.get("manifest") {
        front.manifest = manifest(source, place, report);
    }
    front
}

fn key_and_value(text: &str, range: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let colon = range.start + text[range.clone()].find(':')?;
    let key = trim(text, range.start..colon);
    let value = trim(text, colon + 1..range.end);
    is_name(&text[key.clone()]).then_some((key, value))
}

fn required(
    source: &Source<'_>,
    places: &BTreeMap<&str, Range<usize>>,
    key: &str,
    fence: &Range<usize>,
    report: &mut Report,
) -> String {
    match places.get(key) {
        None => {
            let help = did_you_mean(key, places.keys().copied())
                .map(|near| format!("there is something alike: {near}"));
            let help = help.unwrap_or_else(|| format!("add a line {key}: …"));
            let message = format!("the front matter has no {key:?}");
            report.wrong(fence.clone(), message, Some(help));
            String::new()
        }
        Some(place) if place.is_empty() => {
            report.wrong(place.clone(), format!("{key:?} is empty"), None);
            String::new()
        }
        Some(place) => source.text[place.clone()].to_owned(),
    }
}

fn check_name(name: &str, place: &Range<usize>, report: &mut Report) {
    if SKILL_NAME_CHARS_MAX < name.chars().count() {
        let message = format!("the name is longer than {SKILL_NAME_CHARS_MAX} characters");
        report.wrong(place.clone(), message, None);
    }
    let leaves = name == "." || name == ".." || name.contains(['/', '\\']);
    if leaves || name.contains(char::is_control) {
        report.wrong(
            place.clone(),
            format!("{} cannot be the name of a skill", quoted(name)),
            Some("a name has no / or \\ and no control characters: it names files".to_owned()),
        );
    }
}

fn inputs(
    source: &Source<'_>,
    place: &Range<usize>,
    report: &mut Report,
) -> BTreeMap<String, Input> {
    let mut inputs = BTreeMap::new();
    let Some(json) = Json::read(source, place, "\"inputs\"", report) else {
        return inputs;
    };
    let Value::Object(members) = &json.value else {
        let help = "write {\"name\": {\"type\": \"string\", \"required\": true}}".to_owned();
        report.wrong(place.clone(), "\"inputs\" is not an object", Some(help));
        return inputs;
    };
    if SKILL_INPUTS_MAX < members.len() {
        let message = format!("there are more than {SKILL_INPUTS_MAX} inputs");
        report.wrong(place.clone(), message, None);
        return inputs;
    }
    for (name, declared) in members {
        let pointer = pointer_push("", name);
        if !is_name(name) || is_today(name) {
            let help = "a name is a letter or _, then letters, digits, _; today stands for a date";
            let message = format!("{} cannot be the name of an input", quoted(name));
            report.wrong(json.key_place(&pointer), message, Some(help.to_owned()));
        }
        match declared {
            Value::Object(members) => {
                let input = input(&json, &pointer, members, report);
                inputs.insert(name.clone(), input);
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                let help = "write {\"type\": \"string\"}".to_owned();
                let message = format!("the input {name:?} is not an object");
                report.wrong(json.place(&pointer), message, Some(help));
            }
        }
    }
    inputs
}

fn input(
    json: &Json<'_>,
    pointer: &str,
    members: &Map<String, Value>,
    report: &mut Report,
) -> Input {
    let known = ["type", "required", "default", "secret", "description"];
    json.only(members, pointer, &known, report);
    let place = |key: &str| json.place(&pointer_push(pointer, key));
    let flag = |key: &str, report: &mut Report| match members.get(key) {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => {
            report.wrong(place(key), format!("{key:?} is true or false"), None);
            false
        }
    };
    let required = flag("required", report);
    let secret = flag("secret", report);
    let kind = match members.get("type") {
        None => InputKind::String,
        Some(named) => named
            .as_str()
            .and_then(InputKind::of_name)
            .unwrap_or_else(|| {
                let names = InputKind::ALL.map(InputKind::name);
                let help = named.as_str().and_then(|name| did_you_mean(name, names));
                let help = help.unwrap_or_else(|| format!("known are {}", names.join(", ")));
                report.wrong(place("type"), format!("{named} is not a type"), Some(help));
                InputKind::String
            }),
    };
    let default = members.get("default").cloned();
    if let Some(default) = &default {
        if secret {
            let help = "give it with each run".to_owned();
            let message = "a secret has no default: it would stand in the file";
            report.wrong(place("default"), message, Some(help));
        } else if !kind.fits(default) {
            let message = format!("the default is not of type {}", kind.name());
            report.wrong(place("default"), message, None);
        }
    }
    let description = match members.get("description") {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            report.wrong(place("description"), "\"description\" is a text", None);
            None
        }
    };
    Input {
        kind,
        required,
        default,
        secret,
        description,
    }
}

fn manifest(source: &Source<'_>, place: &Range<usize>, report: &mut Report) -> Option<Manifest> {
    let help = "write {\"v\":1,\"tools\":[{\"name\":\"…\",\"digest\":\"sha256:…\"}]}".to_owned();
    let json = Json::read(source, place, "\"manifest\"", report)?;
    let Value::Object(members) = &json.value else {
        report.wrong(place.clone(), "\"manifest\" is not an object", Some(help));
        return None;
    };
    json.only(members, "", &["v", "tools"], report);
    if members.get("v").and_then(Value::as_u64) != Some(1) {
        let message = "the manifest is not of version 1 (\"v\": 1)";
        report.wrong(json.place("/v"), message, Some(help.clone()));
    }
    let Some(Value::Array(tools)) = members.get("tools") else {
        let message = "the manifest has no list \"tools\"";
        report.wrong(json.place("/tools"), message, Some(help));
        return None;
    };
    let tools = tools.iter().enumerate();
    let tools = tools.filter_map(|(index, tool)| {
        let pointer = format!("/tools/{index}");
        manifest_tool(&json, &pointer, tool, report)
    });
    Some(Manifest {
        tools: tools.collect(),
    })
}

fn manifest_tool(
    json: &Json<'_>,
    pointer: &str,
    tool: &Value,
    report: &mut Report,
) -> Option<ManifestTool> {
    let Value::Object(members) = tool else {
        report.wrong(
            json.place(pointer),
            "a tool of the manifest is an object",
            None,
        );
        return None;
    };
    json.only(members, pointer, &["name", "server", "digest"], report);
    let text = |key: &str, needed: bool, report: &mut Report| match members.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        None if !needed => None,
        Some(_) | None => {
            let message = format!("a tool of the manifest needs a text {key:?}");
            let place = if members.contains_key(key) {
                json.place(&pointer_push(pointer, key))
            } else {
                json.place(pointer)
            };
            report.wrong(place, message, None);
            None
        }
    };
    let name = text("name", true, report);
    let server = text("server", false, report);
    let digest = text("digest", true, report)?;
    let digest = digest
        .parse()
        .map_err(|error: crate::canon::DigestFormatError| {
            let place = json.place(&pointer_push(pointer, "digest"));
            report.wrong(place, error.to_string(), None);
        })
        .ok()?;
    Some(ManifestTool {
        name: name?,
        server,
        digest,
    })
}

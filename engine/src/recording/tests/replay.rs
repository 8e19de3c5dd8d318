//! A reader of skill files as plain as can be, and a replay with recorded answers.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use serde_json::{Map, Value};

/// A step as it stands in a file.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) tool: String,
    pub(super) args: Value,
    pub(super) binds: Vec<(String, String)>,
}

/// The steps of a file; fails on everything that the format does not have.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("---"));
    let front: Vec<&str> = lines.by_ref().take_while(|line| *line != "---").collect();
    let keys: Vec<&str> = front
        .iter()
        .map(|line| line.split_once(": ").expect("a key and a value").0)
        .collect();
    assert!(
        matches!(
            keys.as_slice(),
            ["name", "description"] | ["name", "description", "inputs"]
        ),
        "{keys:?}"
    );
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in lines {
        if let Some(header) = line.strip_prefix("### Step ") {
            let number = format!("{} — ", steps.len() + 1);
            let title = header.strip_prefix(&number).expect("numbers in order");
            assert!(!title.is_empty());
            inside = true;
            steps.push(Step {
                tool: String::new(),
                args: Value::Null,
                binds: Vec::new(),
            });
        } else if line.starts_with("## ") {
            inside = false;
        } else if inside && let Some(line) = line.strip_prefix("- ") {
            let step = steps.last_mut().expect("a step");
            match line.split_once(": ").expect("a key and a value") {
                ("action", call) => {
                    assert!(step.tool.is_empty(), "one action");
                    let (tool, args) = call.split_once(' ').expect("a tool and arguments");
                    tool.clone_into(&mut step.tool);
                    step.args = serde_json::from_str(args).expect("arguments");
                }
                ("bind", bind) => {
                    let (name, path) = bind.split_once(" = ").expect("a name and a path");
                    step.binds.push((name.to_owned(), path.to_owned()));
                }
                ("intent" | "effect" | "assert", value) => assert!(!value.trim().is_empty()),
                (other, _) => panic!("an unknown key {other}"),
            }
        }
    }
    steps
}

/// The value at a path such as `json.a.0["b-c"]`.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut rest = path.strip_prefix("json")?;
    let mut value = value;
    while !rest.is_empty() {
        let (key, tail) = if let Some(quoted) = rest.strip_prefix("[\"") {
            quoted.split_once("\"]")?
        } else {
            let rest = rest.strip_prefix('.')?;
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        value = match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
            other => other.get(key)?,
        };
        rest = tail;
    }
    Some(value)
}

/// The arguments with their holes filled.
pub(super) fn fill(args: &Value, vars: &BTreeMap<String, Value>, today: NaiveDate) -> Value {
    match args {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, value)| (key.clone(), fill(value, vars, today)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.iter().map(|item| fill(item, vars, today)).collect(),
        Value::String(text) => fill_text(text, vars, today),
        other => other.clone(),
    }
}

fn fill_text(text: &str, vars: &BTreeMap<String, Value>, today: NaiveDate) -> Value {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let end = start + rest[start..].find("}}").expect("a hole that ends");
        let value = value_of(&rest[start + 2..end], vars, today);
        if start == 0 && end + 2 == text.len() {
            return value;
        }
        out.push_str(&rest[..start]);
        match value {
            Value::String(text) => out.push_str(&text),
            other => out.push_str(&other.to_string()),
        }
        rest = &rest[end + 2..];
    }
    out.push_str(rest);
    Value::String(out)
}

fn value_of(name: &str, vars: &BTreeMap<String, Value>, today: NaiveDate) -> Value {
    let Some(offset) = name.strip_prefix("today") else {
        return vars.get(name).expect("a hole that is bound").clone();
    };
    if let Some(value) = vars.get(name) {
        return value.clone();
    }
    let days = |text: &str| {
        let days = text.strip_suffix('d').expect("days");
        Days::new(days.parse().expect("a number of days"))
    };
    let day = match offset.split_at_checked(1) {
        Some(("+", number)) => today + days(number),
        Some(("-", number)) => today - days(number),
        Some(_) | None => today,
    };
    Value::String(day.to_string())
}

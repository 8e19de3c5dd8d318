mod check;
mod edit;
mod fill;
mod parse;
mod random;
mod write;

use super::{Skill, SkillErrors};

/// The example that the other tests change.
const RELEASE: &str = r#"---
name: release-note
description: Tell the team about a release
inputs: {"crate": {"default": "serde", "required": true}, "token": {"secret": true}, "tries": {"type": "integer", "default": 3}}
author: somebody
---

# Release note

Reads a version and posts it.

## Steps

### Step 1 — Read the version
- intent: Look up the newest version
- action: http.get {"url": "https://registry.example/{{crate}}", "headers": {"authorization": "Bearer {{token}}"}}
- assert: status == 200
- assert: json.versions length > 0
- bind: version = json.versions.0.num
- timeout: 10s
- retry: 2

Some prose in between.

### Step 2 - Tell the team
- intent: Post the version
- when: version != null && vars.crate == "serde"
- action: http.post {"url": "https://chat.example/hook", "body": {"text": "{{crate}} {{version}}", "tries": "{{tries}}", "day": "{{today-7d}}"}}
- effect: idempotent-write
- exposure: internal

## Open questions

- none

## Changelog

- 2026-01-01: made
"#;

fn skill(text: &str) -> Skill {
    Skill::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn refused(text: &str) -> SkillErrors {
    Skill::parse(text).expect_err(text)
}

/// A file with one step whose lines are these.
fn one_step(lines: &str) -> String {
    format!("---\nname: n\ndescription: d\n---\n### Step 1 — T\n{lines}\n")
}

/// A file with one step that calls with these arguments.
fn calling(args: &str) -> String {
    one_step(&format!("- intent: i\n- action: http.get {args}"))
}

//! Skill files: read or refused, changed only where that was asked for.

use holdpoint_engine::skill::{Answer, Skill, Vars};
use holdpoint_engine::tool::Annotations;
use serde_json::json;

pub(crate) fn skill_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let skill = match Skill::parse(&text) {
        Ok(skill) => skill,
        Err(errors) => {
            assert!(!errors.0.is_empty());
            for error in &errors.0 {
                assert!(text.get(error.span.clone()).is_some(), "{error:?}");
            }
            return;
        }
    };
    assert_eq!(skill.text(), text);
    let leaves = skill.name == ".." || skill.name.contains(['/', '\\', '\0']);
    assert!(!leaves, "i17: {}", skill.name);
    let _warnings = skill.warnings(|_| Annotations::default());
    let tidy = skill.tidied().expect("what was read can be written");
    assert!(tidy.says_the_same(&skill));
    assert_eq!(tidy.tidied().expect("the same").text(), tidy.text());
    let noted = skill
        .edit()
        .changelog("noted")
        .apply()
        .expect("a line more");
    assert_eq!(noted.steps, skill.steps);
    assert!(noted.text().len() > text.len());
    exercise(&skill);
}

/// Fills each step, and looks at an answer with it.
fn exercise(skill: &Skill) {
    let mut vars = Vars::given_values(skill, &[]).unwrap_or_default();
    let today = "2026-03-01".parse().expect("a day");
    let body = json!({ "a": [1, { "b": null }], "version": "1.0", "{{token}}": "{{token}}" });
    let text = body.to_string();
    let answer = Answer {
        status: Some(200),
        text: &text,
        json: Some(&body),
    };
    for step in &skill.steps {
        if let Ok(filled) = step.fill(&vars, today) {
            let sent = vars.secrets().fill(&filled.args);
            // Without a secret in them, the stored arguments are the sent ones.
            if filled.secrets.is_empty() {
                assert_eq!(sent.as_ref(), Ok(&filled.args));
            }
        }
        if let Some(when) = &step.when {
            let _answer = when.holds(&vars);
        }
        for assertion in &step.asserts {
            assert!(assertion.check(&answer).seen.len() < 2000);
        }
        for bind in &step.binds {
            if let Ok(value) = bind.take(&answer) {
                vars.bind(&bind.name, value);
            }
        }
    }
}

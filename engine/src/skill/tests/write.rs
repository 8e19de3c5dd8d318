use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::canon::Digest;
use crate::skill::{Draft, DraftStep, Input, InputKind, Manifest, ManifestTool, Skill, WriteError};
use crate::tool::EffectClass;

fn draft() -> Draft {
    let input = Input {
        kind: InputKind::Integer,
        required: true,
        default: Some(json!(3)),
        secret: false,
        description: Some("how often".into()),
    };
    Draft {
        name: "release-note".into(),
        description: "Tell the team: \"it is out\"".into(),
        front: vec![("source".into(), "trace.jsonl".into())],
        inputs: BTreeMap::from([("tries".into(), input)]),
        manifest: Some(Manifest {
            tools: vec![ManifestTool {
                name: "http.get".into(),
                server: None,
                digest: Digest::of(b"{}"),
            }],
        }),
        preamble: "\n# Release note\n\n## Steps\n\n".into(),
        steps: vec![
            DraftStep {
                title: "Read — it".into(),
                intent: "Look: there".into(),
                tool: "http.get".into(),
                args: json!({"url": "https://a.example/{{tries}}", "n": [1, 2.5, null, "ä\n"]}),
                effect: Some(EffectClass::Read),
                asserts: vec!["status == 200".into(), "body contains \"a: b\"".into()],
                binds: vec!["v = json[\"a b\"]".into()],
                approve: Some(Digest::of(b"x")),
                timeout: Some(Duration::from_millis(1500)),
                retry: Some(2),
                when: Some("vars.tries > 0".into()),
                exposure: Some("internal".into()),
            },
            DraftStep {
                title: "Post".into(),
                intent: "Tell".into(),
                tool: "http.post".into(),
                args: json!({"body": "{{v}}"}),
                ..DraftStep::default()
            },
        ],
        trailing: "## Changelog\n\n- made\n".into(),
    }
}

#[test]
fn a_draft_is_written_and_says_the_same() {
    let skill = Skill::write(&draft()).unwrap_or_else(|error| panic!("{error:?}"));
    let text = skill.text();
    assert!(text.starts_with("---\nname: release-note\n"), "{text}");
    assert!(text.contains("\n\n### Step 2 — Post\n- intent: Tell\n- action: http.post {\"body\":\"{{v}}\"}\n\n## Changelog\n"), "{text}");
    assert_eq!(skill.tidied().expect("tidied").text(), text);
}

#[test]
fn what_does_not_fit_a_line_is_not_written() {
    type Spoil = fn(&mut Draft);
    let spoilt: [(&str, Spoil); 8] = [
        ("name", |draft| draft.name = "../x".into()),
        ("description", |draft| draft.description = "a\nb".into()),
        ("front", |draft| {
            draft.front.push(("a".into(), "b\n---".into()));
        }),
        ("title", |draft| draft.steps[0].title = "a\n## b".into()),
        ("intent", |draft| {
            draft.steps[0].intent = "a\n- effect: read".into();
        }),
        ("assert", |draft| draft.steps[0].asserts.push("x".into())),
        ("preamble", |draft| {
            draft.preamble = "### Step 1 — X\n- intent: i\n- action: t {}\n".into();
        }),
        ("trailing", |draft| draft.trailing = "- x".into()),
    ];
    for (what, spoil) in spoilt {
        let mut draft = draft();
        spoil(&mut draft);
        let told = Skill::write(&draft);
        let refused = matches!(
            told,
            Err(WriteError::Unreadable(_) | WriteError::Different(_))
        );
        assert!(refused, "{what}");
    }
}

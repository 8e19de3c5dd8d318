//! Files that nobody wrote.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::skill::{Draft, DraftStep, Skill};
use crate::tool::EffectClass;

fn line() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9{][ a-zA-Z0-9äß—:{}\"'#-]{0,20}[a-z.]"
}

fn assertion() -> impl Strategy<Value = String> {
    prop_oneof![
        (100_u16..600).prop_map(|status| format!("status == {status}")),
        line().prop_map(|text| format!("body contains \"{text}\"")),
        "json(\\.[a-z0-9_]{1,5}){1,3} (is set|== 1|!= \"x\"|length > 2|matches /\\^a\\+\\$/i)",
    ]
}

fn args() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i32>().prop_map(Value::from),
        "[ -z|~ä\n]{0,12}".prop_map(Value::from),
        "[a-z]{1,5}".prop_map(|name| json!(format!("{{{{{name}}}}} x"))),
    ];
    let tree = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    });
    object(tree)
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-z-]{1,6}", inner, 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

fn step() -> impl Strategy<Value = DraftStep> {
    (
        (line(), line(), "[a-z]{2,8}([._][a-z]{2,8})?", args()),
        (0..4_usize, prop::collection::vec(assertion(), 0..4)),
        prop::collection::vec("[a-z]{2,6} = json\\.[a-z]{1,4}", 0..3),
    )
        .prop_map(
            |((title, intent, tool, args), (effect, asserts), binds)| DraftStep {
                title,
                intent,
                tool,
                args,
                effect: EffectClass::ALL.get(effect).copied(),
                asserts,
                // `today` is no name.
                binds: binds
                    .into_iter()
                    .filter(|bind| !bind.starts_with("today"))
                    .collect(),
                ..DraftStep::default()
            },
        )
}

prop_compose! {
    fn draft()(
        name in "[a-z][a-z0-9-]{0,12}",
        description in line(),
        preamble in "(\n|[a-z *>]{0,12}\n){0,4}",
        steps in prop::collection::vec(step(), 1..5),
        trailing in prop_oneof![Just(String::new()), "## [A-Z][a-z]{2,8}\n([a-z -]{0,8}\n){0,4}"],
    ) -> Draft {
        Draft { name, description, preamble, steps, trailing, ..Draft::default() }
    }
}

/// As people write: other dashes, spaces and line ends.
fn roughened(text: &str, rough: u8) -> String {
    let mut text = text.to_owned();
    if rough & 1 != 0 {
        text = text.replace(" — ", " - ");
    }
    if rough & 2 != 0 {
        text = text.replace("\n- ", "\n -  ");
    }
    if rough & 4 != 0 {
        text = text.replace('\n', "\r\n");
    }
    if rough & 8 != 0 {
        text.truncate(text.trim_end().len());
    }
    if rough & 16 != 0 {
        text.insert(0, '\u{feff}');
    }
    text
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(draft in draft(), rough in 0..32_u8) {
        let skill = Skill::write(&draft).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        prop_assert_eq!(skill.steps.len(), draft.steps.len());
        let text = roughened(skill.text(), rough);
        let rough = Skill::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(rough.text(), &text);
        let tidy = rough.tidied().map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(tidy.says_the_same(&rough));
        let twice = tidy.tidied().map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(twice.text(), tidy.text());
    }

    #[test]
    fn an_edit_leaves_every_other_byte_as_it_was(
        draft in draft(),
        rough in 0..32_u8,
        at in any::<prop::sample::Index>(),
        asserts in prop::collection::vec(assertion(), 0..5),
        log in any::<bool>(),
    ) {
        let skill = Skill::write(&draft).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        let text = roughened(skill.text(), rough);
        let before = Skill::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let index = at.index(before.steps.len());
        let number = before.steps[index].number;
        let mut edit = before.edit().asserts(number, asserts.clone());
        if log {
            edit = edit.changelog("2026-01-01: changed");
        }
        let after = edit.apply().map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        prop_assert_eq!(after.steps[index].asserts.len(), asserts.len());
        // Without the lines that may change, both are the same bytes.
        let others = |text: &str| {
            let lines = text.split_inclusive('\n').map(|line| line.trim_end_matches(['\r', '\n']));
            let kept = |line: &&str| !line.is_empty() && !line.trim_start().starts_with("- ")
                && !line.trim_start().starts_with("-  assert") && *line != "## Changelog";
            lines.filter(kept).map(str::to_owned).collect::<Vec<String>>()
        };
        prop_assert_eq!(others(after.text()), others(&text));
        let before_at = before.text().find("### Step").unwrap_or(0);
        prop_assert_eq!(&after.text()[..before_at], &text[..before_at]);
        let ends = |text: &str| (text.matches('\n').count(), text.matches("\r\n").count());
        let (all, windows) = ends(after.text());
        prop_assert!(windows == 0 || windows == all);
        for (other, (old, new)) in before.steps.iter().zip(&after.steps).enumerate() {
            prop_assert!(other == index || old == new);
        }
        // And back again.
        let old = before.steps[index].asserts.iter().map(|one| one.text().to_owned()).collect();
        let back = after.edit().asserts(number, old).apply();
        let back = back.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        prop_assert_eq!(&back.steps, &before.steps);
    }

    #[test]
    fn i21_no_text_makes_the_reader_panic(
        lines in prop::collection::vec(
            prop_oneof![
                Just("---".to_owned()), Just("name: n".to_owned()), Just("description: d".to_owned()),
                Just("### Step 1 — A".to_owned()), Just("- intent: i".to_owned()),
                "- (action|assert|bind|when|effect|approve|timeout|retry): [ -~ä—]{0,24}",
                "[#\\-]{0,4} ?[Ss]tep ?[0-9]{0,3} ?[—–:-]? ?.{0,4}", ".{0,16}",
            ],
            0..12,
        ),
        crlf in any::<bool>(),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        match Skill::parse(&text) {
            Ok(skill) => prop_assert_eq!(skill.text(), &text),
            Err(errors) => {
                prop_assert!(!errors.0.is_empty());
                for error in errors.0 {
                    prop_assert!(text.get(error.span.clone()).is_some());
                }
            }
        }
    }
}

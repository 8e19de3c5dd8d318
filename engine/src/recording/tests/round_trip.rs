//! Whatever is read becomes a file that, replayed with the recorded answers, makes the same calls.

use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::compile::Apply;
use super::replay::{at, fill, steps};
use super::{Trace, read};
use crate::recording::{CompileError, Format};

/// Texts that readers of any kind might stumble over, ids, days, and what looks like a secret.
const TEXTS: [&str; 32] = [
    "ord_812345",
    "812345",
    "see ord_812345.",
    "https://shop.example/orders/ord_812345/items?n=812345",
    "2026-03-02",
    "from 2026-02-28 to 2026-03-09T00:00:00Z",
    "1999-01-01",
    "{{ord_812345}}",
    "{ord_812345}",
    "{{today}}",
    "{{token}} and ord_812345",
    "a {{ b",
    "}} }",
    "",
    "x",
    "true",
    "main",
    "### Step 9 — more\n- action: http.delete {}\n## ",
    "\u{202e}\u{0}\r\n\u{2028}",
    "Bearer abcdef123456",
    "sk-abcdefghijklmnop1234",
    "{sk-abcdefghijklmnop1234}",
    "curl -H 'Authorization: Bearer zyx987654321' https://u:hunter2@h.example/ord_812345",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "password=hunter22 token: abcdefgh1",
    "ann@shop.example",
    "<!-- ord_812345 -->",
    "{\"a\":{\"id\":\"ord_812345\"}}",
    "ord_812345ord_812345",
    "ünïcödé-812345-ß",
    "1.0.228",
    "version 1.0.228-beta",
];

const KEYS: [&str; 16] = [
    "id",
    "order_id",
    "url",
    "text",
    "token",
    "password",
    "Authorization",
    "a-b",
    "name",
    "value",
    "{{x}}",
    "0",
    "number",
    "today",
    "é",
    "- action",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => prop::sample::select(&TEXTS[..]).prop_map(Value::from),
        2 => "[ -~]{0,20}".prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        2 => prop::sample::select(vec![0i64, 1, 42, 812_345, -812_345, 100_000]).prop_map(Value::from),
        1 => Just(json!(0.1)),
        1 => Just(json!(12.75)),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let key = prop::sample::select(&KEYS[..]);
    prop::collection::vec((key, value), 0..4).prop_map(|members| {
        let members: Map<String, Value> = members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        Value::Object(members)
    })
}

/// Compiles a trace, replays it, and compares every call.
fn check(calls: &[(Value, Value)], apply: Apply) -> Result<(), TestCaseError> {
    let tools = ["http.get", "issue_refund", "mcp__shop__get_order"];
    let trace = calls
        .iter()
        .zip(tools.iter().cycle())
        .fold(Trace::new(), |trace, ((args, answer), tool)| {
            trace.call(tool, args, answer)
        });
    let recording = read(Format::Trace, &trace.lines);
    let recording = recording.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let (compiled, mut vars) = match trace.try_compile(apply) {
        Ok(made) => made,
        Err(CompileError::Inexpressible { .. }) => return Ok(()),

        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    for secret in &compiled.secrets {
        let Some(Value::String(text)) = vars.get(secret) else {
            continue;
        };
        // What stands alone in a longer word is no longer it.
        // The day of the recording is told, and a hole may read like a text that is one.
        if text.len() >= 6 && text != "2026-03-02" && !text.starts_with("{{") {
            prop_assert!(
                !compiled.text.contains(text.as_str()),
                "{text} in {}",
                compiled.text
            );
            for told in compiled.questions.iter().chain(&compiled.warnings) {
                prop_assert!(!told.contains(text.as_str()), "{text} in {told}");
            }
        }
    }
    let today = NaiveDate::from_ymd_opt(2026, 3, 2).expect("a day");
    let steps = steps(&compiled.text);
    prop_assert_eq!(steps.len(), calls.len());
    for (step, call) in steps.iter().zip(&recording.calls) {
        let filled = fill(&step.args, &vars, today);
        prop_assert_eq!(
            &filled,
            &Value::Object(call.args.clone()),
            "{}",
            &compiled.text
        );
        prop_assert_eq!(&step.tool, &call.tool);
        let answer = call.answer.as_ref().and_then(|answer| answer.json.clone());
        for (name, path) in &step.binds {
            let value = at(answer.as_ref().unwrap_or(&Value::Null), path);
            prop_assert!(value.is_some(), "{path} in {answer:?}");
            vars.insert(name.clone(), value.cloned().unwrap_or_default());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_replay_with_the_recorded_answers_makes_the_recorded_calls(
        calls in prop::collection::vec((object(value()), value()), 1..5),
        dates in any::<bool>(),
        inputs in any::<bool>(),
    ) {
        check(&calls, Apply { dates, inputs })?;
    }
}

//! Runs of skill files.

use holdpoint_engine::approval::Vote;
use holdpoint_engine::run::{Flags, RunError, RunStatus, check_steps};
use holdpoint_engine::skill::{Skill, Vars};
use holdpoint_engine::time::Timestamp;
use holdpoint_engine::tool::{Format, ToolsFile};
use serde_json::json;

use crate::house::House;
use crate::world::tools;

pub(crate) const RELEASE: &str = r#"---
name: release
description: Label the newest version
---

### Step 1 — Read the version
- intent: Find out which version is the newest
- action: get_version {}
- assert: json.version is string
- bind: version = json.version
- bind: size = json.size

### Step 2 — Label it
- intent: Say which version it is
- action: set_label {"label": "v{{version}}", "size": "{{size}}"}
- assert: json.label == "v1.2.3"

### Step 3 — Remove the old label
- intent: Nobody needs it
- action: remove_label {"label": "old"}
"#;

fn flags(allow_writes: bool, yes: bool, stage: bool) -> Flags {
    Flags {
        allow_writes,
        yes,
        stage,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_flag_reads_run_and_a_write_is_withheld_with_the_exact_call() {
    let house = House::open().await;
    let id = house.start(RELEASE, Flags::default()).await;
    let run = house.until_status(id, RunStatus::Failed).await;
    let receipt = house.engine.receipt(&run);
    let outcomes: Vec<_> = receipt.steps.iter().map(|step| step.outcome).collect();
    assert_eq!(outcomes, ["passed", "withheld", "skipped"]);
    let withheld = receipt.steps[1]
        .withheld
        .as_ref()
        .expect("what was not made");
    assert_eq!(withheld.args, json!({ "label": "v1.2.3", "size": 5 }));
    assert_eq!(withheld.flag, Some("--allow-writes"));
    assert_eq!((receipt.steps[1].ms, house.done("label")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destructive_step_refuses_under_allow_writes_and_fires_once_under_yes() {
    let house = House::open().await;
    let id = house.start(RELEASE, flags(true, false, false)).await;
    let run = house.until_status(id, RunStatus::Failed).await;
    assert_eq!(house.engine.receipt(&run).totals.withheld, 1);
    assert_eq!((house.done("label"), house.done("remove")), (1, 0));

    let again = holdpoint_engine::engine::Resumption {
        flags: flags(false, true, false).into(),
        ..Default::default()
    };
    let resumed = house.engine.resume_run(&house.by, id, again).await;
    resumed.expect("it goes on");
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(
        (
            house.done("read"),
            house.done("label"),
            house.done("remove")
        ),
        (1, 1, 1),
        "what had passed was not made again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_staged_step_waits_for_people_and_the_run_goes_on_by_itself() {
    let house = House::open().await;
    let id = house.start(RELEASE, flags(true, false, true)).await;
    house.until_status(id, RunStatus::Waiting).await;
    assert_eq!(house.done("remove"), 0);
    house.vote(house.waiting(id), Vote::Approve).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.done("remove"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_step_ends_the_run_as_rejected_with_the_reason() {
    let house = House::open().await;
    let id = house.start(RELEASE, flags(true, false, true)).await;
    house.until_status(id, RunStatus::Waiting).await;
    house.vote(house.waiting(id), Vote::Reject).await;
    let run = house.until_status(id, RunStatus::Rejected).await;
    let message = run.ended.as_ref().and_then(|end| end.message.clone());
    assert!(message.is_some_and(|words| words.contains("seen")));
    assert_eq!(house.done("remove"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_survives_the_death_of_the_process() {
    let house = House::open().await;
    let id = house.start(RELEASE, flags(true, false, true)).await;
    house.until_status(id, RunStatus::Waiting).await;
    let action = house.waiting(id);
    let house = house
        .die_and_start(holdpoint_engine::run::code::Workflows::default())
        .await;
    house.until_status(id, RunStatus::Waiting).await;
    assert_eq!(house.waiting(id), action, "it is the same action");
    house.vote(action, Vote::Approve).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!((house.done("label"), house.done("remove")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_took_effect_is_not_made_again_where_its_answer_did_not_hold() {
    let house = House::open().await;
    let wrong = RELEASE.replace("json.label == \"v1.2.3\"", "json.label == \"other\"");
    let id = house.start(&wrong, flags(false, true, false)).await;
    house.until_status(id, RunStatus::Failed).await;
    for _ in 0..2 {
        let again = holdpoint_engine::engine::Resumption {
            flags: flags(false, true, false).into(),
            ..Default::default()
        };
        let resumed = house.engine.resume_run(&house.by, id, again).await;
        resumed.expect("it goes on");
        let run = house.until_status(id, RunStatus::Failed).await;
        let message = run.ended.as_ref().and_then(|end| end.message.clone());
        let message = message.expect("why");
        assert!(message.contains("is not made again"), "{message}");
    }
    assert_eq!((house.done("label"), house.done("remove")), (1, 0));
}

const FRONT: &str = "---\nname: a\ndescription: b\n---\n";

fn step(number: u32, rest: &str) -> String {
    format!("### Step {number} — Do it\n- intent: Do it\n{rest}\n")
}

/// What is refused of a file before its first step.
fn mistakes(text: &str) -> Vec<String> {
    let skill = Skill::parse(text).expect("a skill");
    let vars = Vars::given(&skill, &[]).expect("no inputs");
    let file = ToolsFile::from_str(&tools().to_string(), Format::Json).expect("the tools");
    let registry = file.registry.with_built_in();
    match check_steps(&skill, &vars, &registry, Timestamp(0)) {
        Ok(()) => Vec::new(),
        Err(RunError::BadSteps(lines)) => lines,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_refused_before_the_first_step_is_refused_with_a_line_for_each_mistake() {
    let house = House::open().await;
    let first = step(
        1,
        "- action: set_label {\"label\": \"x\"}\n- bind: size = json.size",
    );
    let rows: [(&str, &[&str]); 6] = [
        (
            "- action: http.post {\"ulr\": \"http://a.example\", \"bdy\": {}, \"headers\": {\"x\": 5}}",
            &[
                "step 2",
                "'bdy'",
                "'ulr'",
                "\"url\" is a required property",
                "/headers/x",
            ],
        ),
        (
            "- action: http.post {\"url\": \"ftp://a.example/{{size}}\", \"body\": \"{{size}}\"}",
            &["step 2, /url", "must start with https://"],
        ),
        (
            "- action: set_label {\"label\": \"{{lost}} {{late}}\"}\n- bind: late = json.label",
            &["{{lost}} is not bound", "{{late}} is not bound"],
        ),
        (
            "- action: read_size {\"size\": \"{{size}} more\"}",
            &["step 2, /size", "\"integer\""],
        ),
        (
            "- when: size > 3\n- action: http.get {\"url\": \"http://a.example/{{lost}}\", \"body\": 1}",
            &["'body' was unexpected"],
        ),
        (
            "- action: http.get {\"url\": \"http://a.example\", \"headers\": {\"a b\": \"{{size}}\"}}",
            &["cannot be the name of a header"],
        ),
    ];
    for (second, words) in rows {
        let text = format!("{FRONT}{first}{}", step(2, second));
        let said = mistakes(&text).join("\n");
        for words in words {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    let text = format!("{FRONT}{first}{}", step(2, rows[2].0));
    let refused = house.try_start(&text, flags(true, true, false)).await;
    assert!(matches!(refused, Err(RunError::BadSteps(_))), "{refused:?}");
    assert_eq!(house.world.count(), 0, "the first step was not made either");

    // What a hole may yet come to hold, and what a condition may leave out, is no mistake.
    for second in [
        "- action: http.get {\"url\": \"{{size}}\", \"headers\": \"{{size}}\", \"query\": {\"a\": \"{{size}}\"}}",
        "- action: http.get {\"url\": \"{{size}}://a.example:{{size}}/\"}",
        "- action: http.get {\"url\": \"http://{{size}}.example:{{size}}/{{today}}?{{size}}\"}",
        "- action: read_size {\"size\": \"{{size}}\"}",
        "- when: size > 100\n- action: set_label {\"label\": \"{{lost}}\"}",
    ] {
        let text = format!("{FRONT}{first}{}", step(2, second));
        assert_eq!(mistakes(&text), Vec::<String>::new(), "{second}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_that_no_repeat_can_cure_is_not_repeated() {
    let house = House::open().await;
    let text = format!(
        "{FRONT}{}{}",
        step(1, "- action: get_version {}\n- bind: v = json.version"),
        step(2, "- action: read_size {\"size\": \"{{v}}\"}\n- retry: 2"),
    );
    let id = house.start(&text, Flags::default()).await;
    let run = house.until_status(id, RunStatus::Failed).await;
    let receipt = house.engine.receipt(&run);
    assert_eq!(receipt.steps[1].attempts, 0, "it was never made");
    assert!(
        receipt.steps[1].failures[0].contains("/size"),
        "{receipt:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withheld_step_says_where_people_decide_on_it_in_any_case() {
    let house = House::open().await;
    for (action, said) in [("delete_all {}", true), ("remove_label {}", false)] {
        let text = format!("{FRONT}{}", step(1, &format!("- action: {action}")));
        let id = house.start(&text, Flags::default()).await;
        let run = house.until_status(id, RunStatus::Failed).await;
        let receipt = house.engine.receipt(&run);
        let notes = &receipt.steps[0].notes;
        let is_said = notes.iter().any(|note| note.contains("approval-bound"));
        assert_eq!(is_said, said, "{action}: {notes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_that_finds_nothing_says_its_line_once() {
    let house = House::open().await;
    let text = step(1, "- action: get_version {}\n- bind: x = json.nothing");
    let id = house
        .start(&format!("{FRONT}{text}"), Flags::default())
        .await;
    let run = house.until_status(id, RunStatus::Failed).await;
    let receipt = house.engine.receipt(&run);
    let failures = &receipt.steps[0].failures;
    assert_eq!(
        failures[0],
        "x = json.nothing: there is nothing at this path"
    );
}

//! Runs of skill files.

use holdpoint_engine::approval::Vote;
use holdpoint_engine::run::{Flags, RunStatus};
use serde_json::json;

use crate::house::House;

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

//! Steps whose tool makes the key of a call from its arguments, so that another action may stand for them.

use std::collections::BTreeMap;

use holdpoint_engine::action::{ActionId, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{Resumption, Submission, Submitted};
use holdpoint_engine::run::{Flags, RunId, RunStatus};
use serde_json::json;

use crate::house::House;

const YES: Flags = Flags {
    allow_writes: false,
    yes: true,
    stage: false,
};

pub(crate) fn file(tool: &str, order: &str) -> String {
    format!(
        "---\nname: pay\ndescription: Pay it\n---\n\n### Step 1 — Pay\n- intent: pay\n\
         - action: {tool} {{\"order\": \"{order}\"}}\n"
    )
}

async fn waits(house: &House, tool: &str, order: &str) -> (RunId, ActionId) {
    let id = house.start(&file(tool, order), YES).await;
    house.until_status(id, RunStatus::Waiting).await;
    (id, house.waiting(id))
}

async fn submitted(house: &House, order: &str) -> ActionId {
    let submission = Submission {
        tool: "pay_out".to_owned(),
        args: json!({ "order": order }),
        reason: None,
        labels: BTreeMap::new(),
        expires_in: None,
        not_before: None,
        request_key: None,
    };
    match house.engine.submit(&house.by, submission).await {
        Ok(Submitted::Action { action, .. }) => action.action.id,
        other => panic!("it is taken on: {other:?}"),
    }
}

fn status(house: &House, id: ActionId) -> Status {
    let view = house.engine.get(&house.by, id).expect("the action");
    view.action.status()
}

async fn resume(house: &House, id: RunId) {
    let resumed = house
        .engine
        .resume_run(&house.by, id, Resumption::default())
        .await;
    resumed.expect("it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_called_off_leaves_the_action_of_somebody_else_alone() {
    let house = House::open().await;
    let (first, action) = waits(&house, "pay_out", "1").await;
    let direct = submitted(&house, "2").await;
    for (order, stands) in [("1", action), ("2", direct)] {
        let (id, waits_for) = waits(&house, "pay_out", order).await;
        assert_eq!(waits_for, stands);
        let cancelled = house.engine.cancel_run(&house.by, id, None).await;
        cancelled.expect("it is called off");
        let run = house.until_status(id, RunStatus::Cancelled).await;
        let receipt = house.engine.receipt(&run);
        let words = receipt.steps[0].failures.join(" ");
        assert!(words.contains(&stands.to_string()), "{words}");
        assert!(words.contains("goes on"), "{words}");
        assert_eq!(status(&house, stands), Status::Staged);
    }
    house.vote(action, Vote::Approve).await;
    house.until_status(first, RunStatus::Passed).await;
    assert_eq!(house.done("remove"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_says_that_another_action_stands_for_a_call_and_with_which_key() {
    let house = House::open().await;
    let (first, action) = waits(&house, "pay_out", "1").await;
    let (second, _) = waits(&house, "pay_out", "1").await;
    house.vote(action, Vote::Approve).await;
    for (id, attempts) in [(first, 1), (second, 0)] {
        let run = house.until_status(id, RunStatus::Passed).await;
        let step = &house.engine.receipt(&run).steps[0];
        assert_eq!(step.attempts, attempts);
        assert_eq!(step.idempotency_key.as_deref(), Some("pay:1"));
        let note =
            format!("{action} (of {first}) stands for this call; nothing was sent by this step");
        assert_eq!(
            step.notes.contains(&note),
            attempts == 0,
            "{:?}",
            step.notes
        );
    }
    assert_eq!(house.done("remove"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_takes_the_key_of_an_action_of_which_nothing_ever_left() {
    let house = House::open().await;
    let (id, rejected) = waits(&house, "pay_out", "1").await;
    house.vote(rejected, Vote::Reject).await;
    house.until_status(id, RunStatus::Rejected).await;
    assert_eq!(
        submitted(&house, "1").await,
        rejected,
        "an API call is answered with it"
    );
    resume(&house, id).await;
    house.until_status(id, RunStatus::Waiting).await;
    let next = house.waiting(id);
    assert_ne!(next, rejected);
    house.vote(next, Vote::Approve).await;
    let run = house.until_status(id, RunStatus::Passed).await;
    let step = &house.engine.receipt(&run).steps[0];
    assert_eq!(
        (step.tried, step.idempotency_key.as_deref()),
        (2, Some("pay:1"))
    );
    assert_eq!(
        submitted(&house, "1").await,
        next,
        "the key stands for it now"
    );
    assert_eq!(house.done("remove"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_sent_once_is_not_taken_over() {
    let house = House::open().await;
    let id = house.start(&file("refuse_out", "1"), YES).await;
    house.until_status(id, RunStatus::Failed).await;
    resume(&house, id).await;
    let run = house.until_status(id, RunStatus::Failed).await;
    let step = &house.engine.receipt(&run).steps[0];
    assert_eq!((step.tried, step.attempts), (2, 0));
    assert_eq!(house.done("no"), 1, "it was refused, and not sent again");
}

//! Runs that are given something on their way: what they may do, and secrets that a dead process had.

use holdpoint_engine::action::Status;
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{FlagChange, Resumption};
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, RunId, RunStatus};

use crate::house::{House, approver, waiting_in};
use crate::skill_files::RELEASE;

const STAGED: Flags = Flags {
    allow_writes: false,
    yes: false,
    stage: true,
};

pub(crate) const SECRET: &str = r#"---
name: tell
description: Say it
inputs: {"token": {"type": "string", "secret": true}}
---

### Step 1 — Say it
- intent: Say it
- action: set_label {"label": "{{token}}"}

### Step 2 — Say it again
- intent: Say it again
- action: remove_label {"label": "{{token}}"}
"#;

/// A run that waits for people, in a process that was never given its secret.
async fn orphan() -> (House, RunId) {
    let house = House::open().await;
    let what = NewOrigin::Skill {
        text: SECRET.to_owned(),
        inputs: Inputs::Texts(vec![("token".to_owned(), "t0ken".to_owned())]),
        ignore_manifest: false,
    };
    let id = house.begin(what, STAGED).await.expect("it starts");
    house.until_status(id, RunStatus::Waiting).await;
    let house = house.die_and_start(Workflows::default()).await;
    house.until_status(id, RunStatus::Waiting).await;
    (house, id)
}

async fn give(house: &House, id: RunId, flags: FlagChange, secrets: &[&str]) -> Flags {
    let secrets = secrets
        .iter()
        .map(|name| ((*name).to_owned(), "t0ken".to_owned()));
    let how = Resumption {
        flags,
        secrets: secrets.collect(),
    };
    let run = house.engine.resume_run(&house.by, id, how).await;
    run.expect("it is taken").flags
}

/// Approves what the run waits for, and the rest after it.
async fn approve(house: &House, id: RunId) {
    let first = house.waiting(id);
    house.vote(first, Vote::Approve).await;
    let other = |run: &holdpoint_engine::run::Run| {
        waiting_in(run).is_some_and(|(action, why)| action != first && why == Waiting::Approval)
    };
    let run = house.until(id, other).await;
    let (second, _) = waiting_in(&run).expect("it waits");
    house.vote(second, Vote::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_given_before_the_approval_is_there_when_the_call_leaves() {
    let (house, id) = orphan().await;
    assert_eq!(house.engine.secrets_needed(&house.run(id)), ["token"]);
    give(&house, id, FlagChange::default(), &["token"]).await;
    assert!(house.engine.secrets_needed(&house.run(id)).is_empty());
    approve(&house, id).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!((house.done("label"), house.done("remove")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_call_whose_secret_nobody_knows_is_held_and_leaves_once_it_is_given() {
    let (house, id) = orphan().await;
    let action = house.waiting(id);
    house.vote(action, Vote::Approve).await;
    let run = house
        .until(id, |run| waiting_in(run) == Some((action, Waiting::Secret)))
        .await;
    let words = house.engine.receipt(&run).steps[0].failures.join(" ");
    assert!(words.contains("secret input token again"), "{words}");
    let view = house.engine.get(&house.by, action).expect("the action");
    assert_eq!(view.action.status(), Status::Approved);
    assert!(view.action.attempts.is_empty(), "no attempt was spent");
    give(&house, id, FlagChange::default(), &["token"]).await;
    let other = |run: &holdpoint_engine::run::Run| {
        waiting_in(run).is_some_and(|(other, _)| other != action)
    };
    house.until(id, other).await;
    let view = house.engine.get(&house.by, action).expect("the action");
    assert_eq!(view.action.attempts.len(), 1);
    house.vote(house.waiting(id), Vote::Approve).await;
    house.until_status(id, RunStatus::Passed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_resumption_leaves_out_stays_as_it_is() {
    let house = House::open().await;
    let id = house.start(RELEASE, STAGED).await;
    house.until_status(id, RunStatus::Waiting).await;
    let kept = give(&house, id, FlagChange::default(), &[]).await;
    assert_eq!(kept, STAGED);
    let more = FlagChange {
        allow_writes: Some(true),
        ..FlagChange::default()
    };
    let both = give(&house, id, more, &[]).await;
    assert!(both.stage && both.allow_writes);
    let less = FlagChange {
        stage: Some(false),
        ..FlagChange::default()
    };
    assert!(!give(&house, id, less, &[]).await.stage);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_people_have_decided_does_not_say_that_it_waits_for_them() {
    let house = House::open().await;
    let id = house.start(RELEASE, STAGED).await;
    house.until_status(id, RunStatus::Waiting).await;
    let action = house.waiting(id);
    let paused = house.engine.pause(&approver(), "a look").await;
    paused.expect("it is paused");
    house.vote(action, Vote::Approve).await;
    house
        .until(id, |run| waiting_in(run) == Some((action, Waiting::Call)))
        .await;
    assert_eq!(house.done("label"), 0);
}

//! Steps that are asked for again after somebody made their run go on.

use holdpoint_engine::action::Refusal;
use holdpoint_engine::approval::{Ineligible, Vote};
use holdpoint_engine::engine::ActError;
use holdpoint_engine::run::RunStatus;
use holdpoint_engine::run::code::Workflows;

use super::{STAGE, again};
use crate::house::{House, approver};
use crate::skill_files::RELEASE;

#[tokio::test(flavor = "multi_thread")]
async fn i08_whoever_resumes_a_run_does_not_vote_on_the_steps_that_it_asks_for_again() {
    let house = House::open().await;
    let id = house.start(RELEASE, STAGE).await;
    house.until_status(id, RunStatus::Waiting).await;
    house.vote(house.waiting(id), Vote::Reject).await;
    house.until_status(id, RunStatus::Rejected).await;

    let ada = approver();
    let resumed = house.engine.resume_run(&ada, id, again()).await;
    resumed.expect("it goes on");
    house.until_status(id, RunStatus::Waiting).await;
    let action = house.waiting(id);
    let refused = house.try_vote(action, Vote::Approve).await;
    let Err(ActError::Refused(Refusal::Ineligible(why))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(why, Ineligible::Instigated);

    let house = house.die_and_start(Workflows::default()).await;
    house.until_status(id, RunStatus::Waiting).await;
    assert!(house.try_vote(action, Vote::Approve).await.is_err());
    let log = house.engine.events(&ada, 0, 200).expect("the history");
    let of = |kind: &str| {
        let found = log.iter().find(|entry| entry.kind == kind);
        let entry = found.expect("it is in the log");
        (entry.actor.clone(), entry.data.to_string())
    };
    let (actor, data) = of("run.instigated");
    assert!(actor == ada.id && data.contains(&ada.id), "{actor} {data}");
    assert!(of("action.instigated").1.contains(&ada.id));
    assert_eq!(house.done("remove"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_asked_for_again_says_who_said_no_before_and_why() {
    let house = House::open().await;
    let id = house.start(RELEASE, STAGE).await;
    house.until_status(id, RunStatus::Waiting).await;
    let first = house.waiting(id);
    house.vote(first, Vote::Reject).await;
    house.until_status(id, RunStatus::Rejected).await;
    let resumed = house.engine.resume_run(&house.by, id, again()).await;
    resumed.expect("it goes on");
    let run = house.until_status(id, RunStatus::Waiting).await;
    let receipt = house.engine.receipt(&run);
    let step = &receipt.steps[2];
    assert_eq!((step.tried, step.outcome), (2, "waiting"));
    let [before] = step.rejections.as_slice() else {
        panic!("{step:?}");
    };
    assert_eq!(
        (before.tried, before.why.as_str()),
        (1, "rejected by Ada: seen")
    );
    assert_eq!(before.action, Some(first.to_string()));
    assert!(receipt.steps[1].rejections.is_empty());
}

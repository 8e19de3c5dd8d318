//! Work is held to all that a call of the engine is held to.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::Status;
use holdpoint_engine::engine::{Submission, SubmitError};

use super::{LONG, claim, claimed, kinds, scene, tools, wish, worker};
use crate::world::{alice, auditor, operator, refund_of, service, submission};

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_of_a_world_that_moved() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    scene.approve(&alice(), &staged).await;
    scene.shop.moves();
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    let now = scene
        .engine
        .get(&auditor(), staged.action.id)
        .expect("visible");
    assert_eq!(now.action.status(), Status::ReplanRequired);
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_while_the_state_cannot_be_read() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    scene.shop.books().state_mood = Some(503);
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    scene.shop.books().state_mood = None;
    scene.pass(Duration::from_secs(1));
    let given = claimed(&scene, "anton", "refund").await;
    assert!(
        given.state.is_some(),
        "with the state that was read right before"
    );
    let view = scene
        .engine
        .get(&auditor(), staged.action.id)
        .expect("visible");
    let approvers: Vec<_> = kinds(&scene, view.action.id);
    assert!(approvers.contains(&"action.deferred".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_in_the_hold_window_and_everything_after_it() {
    let scene = Arc::new(scene().await);
    let staged = scene.submit("held", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    assert!(
        claim(&scene.engine, &worker("anton"), "held")
            .await
            .is_none()
    );
    let waiting = {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move {
            scene
                .engine
                .claim(&worker("anton"), wish(&["held"], LONG))
                .await
        })
    };
    tokio::task::yield_now().await;
    scene.pass(Duration::from_secs(31));
    let given = waiting.await.expect("no panic").expect("allowed");
    assert_eq!(given.expect("work").id.action, staged.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_what_would_be_held_back_beyond_its_deadline_is_not_taken_on() {
    let scene = scene().await;
    let with = |seconds| Submission {
        expires_in: Some(Duration::from_secs(seconds)),
        ..submission("held", refund_of(1, "r"))
    };
    let refused = scene.engine.submit(&service(), with(30)).await;
    let Err(SubmitError::Invalid(why)) = refused else {
        panic!("it could never be called: {refused:?}")
    };
    assert!(why.contains("expires_in (30 s)"), "{why}");
    assert!(scene.engine.submit(&service(), with(31)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_while_paused_and_everything_afterwards() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(100, "r1")).await;
    let paused = scene
        .engine
        .pause(&operator(), "the books are counted")
        .await;
    paused.expect("an operator may");
    assert!(
        claim(&scene.engine, &worker("anton"), "ship")
            .await
            .is_none()
    );
    let waiting = {
        let engine = scene.engine.clone();
        tokio::spawn(async move { engine.claim(&worker("anton"), wish(&["ship"], LONG)).await })
    };
    tokio::task::yield_now().await;
    let resumed = scene.engine.resume(&operator(), None).await;
    resumed.expect("an operator may");
    let given = waiting.await.expect("no panic").expect("allowed");
    assert_eq!(given.expect("work").id.action, view.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn i09_an_approval_that_ended_is_not_given_out() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    scene
        .clock
        .as_ref()
        .expect("a clock")
        .advance(Duration::from_hours(1));
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    scene.until(staged.action.id, Status::Expired).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_what_nobody_could_ever_pull_again_is_ended_at_the_start() {
    let mut scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let mut others = tools(&scene.shop);
    others["tools"]
        .as_object_mut()
        .expect("tools")
        .remove("ship");
    scene.restart_with(&others).await;
    scene.until(view.action.id, Status::ReplanRequired).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_what_is_approved_for_a_tool_that_is_gone_or_another_one_ends_by_itself() {
    let mut scene = scene().await;
    let gone = scene.submit("refund", refund_of(100, "r1")).await;
    let other = scene.submit("held", refund_of(100, "r2")).await;
    let mut changed = tools(&scene.shop);
    let all = changed["tools"].as_object_mut().expect("tools");
    all.remove("refund");
    scene.restart_with(&changed).await;
    // Nothing of it is to be pulled yet, so that nobody looks.
    scene.approve(&alice(), &gone).await;
    scene.until(gone.action.id, Status::ReplanRequired).await;

    changed["tools"]["held"]["description"] = "another one".into();
    scene.restart_with(&changed).await;
    scene.approve(&alice(), &other).await;
    let waiting = scene.until(other.action.id, Status::Approved).await;
    assert!(waiting.action.due_at().is_some(), "in its hold window");
    scene.pass(Duration::from_secs(31));
    scene.until(other.action.id, Status::ReplanRequired).await;
}

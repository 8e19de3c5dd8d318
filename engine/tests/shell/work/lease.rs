//! What a lease is worth, and how it ends.

use std::time::Duration;

use holdpoint_engine::action::{FailReason, Phase, Status};
use holdpoint_engine::engine::{WorkError, WorkOutcome};
use serde_json::json;

use super::{claim, claimed, complete, kinds, scene, shipped, tools, worker};
use crate::world::{auditor, operator, refund_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_given_the_exact_call_and_ends_it_once() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "ship").await;
    assert_eq!(given.action.proposal.args, view.action.proposal.args);
    assert_eq!(given.id.action, view.action.id);
    let done = complete(&scene.engine, "anton", &given, shipped()).await;
    assert_eq!(done.expect("it counts"), Status::Succeeded);
    let version = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible")
        .version;
    let again = complete(&scene.engine, "anton", &given, shipped()).await;
    assert_eq!(again.expect("the first answer"), Status::Succeeded);
    let other = WorkOutcome::Failed("no".to_owned());
    let other = complete(&scene.engine, "anton", &given, other).await;
    assert!(matches!(other, Err(WorkError::AlreadyReported)));
    let now = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible");
    assert_eq!(now.version, version + 1, "kept as evidence");
    assert_eq!(now.action.status(), Status::Succeeded);
    assert_eq!(
        kinds(&scene, view.action.id).last().map(String::as_str),
        Some("action.late_answer")
    );
    let other = WorkOutcome::Failed("no".to_owned());
    let other = complete(&scene.engine, "anton", &given, other).await;
    assert!(matches!(other, Err(WorkError::AlreadyReported)), "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_what_a_worker_learns_after_its_word_is_there_for_whoever_settles_it() {
    let scene = scene().await;
    let view = scene.submit("unchecked", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "unchecked").await;
    let unsure = WorkOutcome::Unknown("the bank did not answer".to_owned());
    let said = complete(&scene.engine, "anton", &given, unsure).await;
    assert_eq!(said.expect("it counts"), Status::Unknown);
    let paid = WorkOutcome::Succeeded(json!({ "id": "BANK-77" }));
    let late = complete(&scene.engine, "anton", &given, paid).await;
    assert!(matches!(late, Err(WorkError::AlreadyReported)), "{late:?}");
    let asked = scene.engine.attention(&operator()).expect("readable");
    let tried = asked.unknown[0].why.tried.join("; ");
    assert!(tried.contains("BANK-77"), "{tried}");
    // And why nobody knows, where a worker says so too late.
    let other = scene.submit("unchecked", refund_of(8, "r2")).await;
    let given = claimed(&scene, "anton", "unchecked").await;
    scene.pass(Duration::from_secs(11));
    let unsure = WorkOutcome::Unknown("the line to the bank broke".to_owned());
    let late = complete(&scene.engine, "anton", &given, unsure).await;
    assert!(matches!(late, Err(WorkError::LeaseLost)), "{late:?}");
    assert!(kinds(&scene, other.action.id).contains(&"action.late_answer".to_owned()));
    assert_ne!(view.action.id, other.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_97_a_worker_that_is_certain_of_a_no_ends_the_action() {
    let scene = scene().await;
    scene.submit("unchecked", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "unchecked").await;
    let no = WorkOutcome::Failed("the account is closed".to_owned());
    let done = complete(&scene.engine, "anton", &given, no).await;
    assert_eq!(done.expect("it counts"), Status::Failed);
    let view = scene
        .engine
        .get(&auditor(), given.id.action)
        .expect("visible");
    assert!(matches!(
        view.action.phase,
        Phase::Failed(FailReason::WorkerFailed { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_result_that_does_not_fit_is_unknown_and_kept() {
    let scene = scene().await;
    scene.submit("unchecked", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "unchecked").await;
    let odd = WorkOutcome::Succeeded(json!({ "what": "canary-result" }));
    let done = complete(&scene.engine, "anton", &given, odd.clone()).await;
    assert_eq!(done.expect("it counts"), Status::Unknown);
    let again = complete(&scene.engine, "anton", &given, odd).await;
    assert_eq!(again.expect("the first answer"), Status::Unknown);
    let history = scene
        .engine
        .history(&auditor(), given.id.action, 0, 100)
        .expect("visible");
    let kept = history
        .iter()
        .filter(|entry| entry.kind == "action.late_answer");
    let kept: Vec<String> = kept.map(|entry| entry.data.to_string()).collect();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].contains("canary-result"));
    let settled = scene
        .engine
        .settle(
            &operator(),
            given.id.action,
            true,
            "the parcel is there".to_owned(),
        )
        .await;
    assert_eq!(settled.expect("settled").action.status(), Status::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_paused_worker_whose_lease_ran_out_changes_nothing() {
    let scene = scene().await;
    let view = scene.submit("unchecked", refund_of(7, "r1")).await;
    let id = view.action.id;
    let given = claimed(&scene, "anton", "unchecked").await;
    scene.pass(Duration::from_secs(11));
    // By itself, without anybody asking.
    scene.until(id, Status::Unknown).await;
    assert!(
        claim(&scene.engine, &worker("berta"), "unchecked")
            .await
            .is_none()
    );
    let beat = scene
        .engine
        .heartbeat(&worker("anton"), given.id, given.epoch, None)
        .await;
    assert!(matches!(beat, Err(WorkError::LeaseLost)));
    for _ in 0..3 {
        let late = complete(&scene.engine, "anton", &given, shipped()).await;
        assert!(matches!(late, Err(WorkError::LeaseLost)));
    }
    let late = kinds(&scene, id)
        .iter()
        .filter(|kind| *kind == "action.late_answer")
        .count();
    assert_eq!(late, 1, "kept as evidence, once");
    let now = scene.engine.get(&auditor(), id).expect("visible");
    assert_eq!(now.action.status(), Status::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_heartbeat_keeps_the_lease_and_a_stranger_does_not() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "ship").await;
    for _ in 0..4 {
        scene.pass(Duration::from_secs(8));
        let until = scene
            .engine
            .heartbeat(&worker("anton"), given.id, given.epoch, None)
            .await;
        assert!(given.lease_until < until.expect("live"));
    }
    let other = scene
        .engine
        .heartbeat(&worker("berta"), given.id, given.epoch, None)
        .await;
    assert!(matches!(other, Err(WorkError::NotHolder)));
    let old = scene
        .engine
        .heartbeat(&worker("anton"), given.id, given.epoch - 1, None)
        .await;
    assert!(matches!(old, Err(WorkError::WrongEpoch)));
    let mut wrong = given.clone();
    wrong.epoch -= 1;
    for turn in ["kept as evidence", "refused"] {
        let said = complete(&scene.engine, "anton", &wrong, shipped()).await;
        assert!(matches!(said, Err(WorkError::WrongEpoch)), "{turn}");
    }
    let stolen = complete(&scene.engine, "berta", &given, shipped()).await;
    assert!(matches!(stolen, Err(WorkError::NotHolder)));
    let now = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible");
    assert_eq!(now.action.status(), Status::Executing);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_94_a_live_lease_outlives_a_restart_and_a_dead_one_does_not() {
    let mut scene = scene().await;
    let tools = tools(&scene.shop);
    scene.submit("ship", refund_of(7, "r1")).await;
    scene.submit("unchecked", refund_of(7, "r2")).await;
    let live = claimed(&scene, "anton", "ship").await;
    let lost = claimed(&scene, "anton", "unchecked").await;
    scene.restart_with(&tools).await;
    let still = scene
        .engine
        .get(&auditor(), live.id.action)
        .expect("visible");
    assert_eq!(
        still.action.status(),
        Status::Executing,
        "the worker is another process"
    );
    let done = complete(&scene.engine, "anton", &live, shipped()).await;
    assert_eq!(done.expect("it counts"), Status::Succeeded);
    scene
        .clock
        .as_ref()
        .expect("a clock")
        .advance(Duration::from_secs(11));
    scene.restart_with(&tools).await;
    let dead = scene
        .engine
        .get(&auditor(), lost.id.action)
        .expect("visible");
    assert_eq!(dead.action.status(), Status::Unknown);
    let late = complete(&scene.engine, "anton", &lost, shipped()).await;
    assert!(matches!(late, Err(WorkError::LeaseLost)));
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_after_a_proof_that_it_did_not_happen_another_worker_has_the_same_key() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let first = claimed(&scene, "anton", "ship").await;
    scene.pass(Duration::from_secs(11));
    // The shop knows nothing of it, and quiet time has passed.
    scene
        .until_that(view.action.id, |view| {
            !matches!(view.action.phase, Phase::Unknown { .. } | Phase::Executing)
        })
        .await;
    scene.pass(Duration::from_secs(1));
    let second = claimed(&scene, "berta", "ship").await;
    assert_eq!(second.id.attempt, 2);
    assert!(first.epoch < second.epoch);
    assert_eq!(
        first.action.proposal.idempotency_key,
        second.action.proposal.idempotency_key
    );
    let late = complete(&scene.engine, "anton", &first, shipped()).await;
    assert!(matches!(late, Err(WorkError::LeaseLost)));
    let done = complete(&scene.engine, "berta", &second, shipped()).await;
    assert_eq!(done.expect("it counts"), Status::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_96_what_the_source_of_truth_finds_ends_a_lost_attempt() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "ship").await;
    let key = given.action.proposal.idempotency_key.clone();
    scene.shop.books().refunds.push((key, 7));
    scene.pass(Duration::from_secs(11));
    scene.until(view.action.id, Status::Succeeded).await;
}

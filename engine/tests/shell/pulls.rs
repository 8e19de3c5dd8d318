//! Work that is pulled, where time, a pause, a restart or the store comes in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{AttemptResult, Phase, PrincipalKind, Status};
use holdpoint_engine::engine::{Assignment, ClaimWish, Engine, Submission, WorkError, WorkOutcome};
use holdpoint_engine::identity::{NewKey, NewPerson, PersonChange, Principal};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{Batch, EventLog, IndexPut, MemoryLog};
use serde_json::json;

use crate::shop::Shop;
use crate::world::{Scene, auditor, open, operator, service, submission, taken};

const HOUR: Duration = Duration::from_hours(1);

/// A service that may pull everything.
fn worker() -> Principal {
    Principal {
        id: "key_worker".to_owned(),
        name: "worker".to_owned(),
        scopes: BTreeSet::from(["work:*".to_owned()]),
        ..service()
    }
}

async fn pull(engine: &Engine) -> Result<Option<Assignment>, WorkError> {
    let wish = ClaimWish {
        tools: vec!["pulled".to_owned()],
        wait: Duration::ZERO,
        lease: Some(Duration::from_mins(1)),
        request_key: None,
    };
    engine.claim(&worker(), wish).await
}

fn without_the_tool(scene: &Scene) -> serde_json::Value {
    let mut tools = scene.shop.tools();
    let all = tools["tools"].as_object_mut().expect("tools");
    all.remove("pulled").expect("it was there");
    tools
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_a_lease_that_runs_out_is_noticed_while_nobody_asks() {
    let scene = Scene::with_clock().await;
    let id = scene.submit("pulled", json!({ "a": 1 })).await.action.id;
    let work = pull(&scene.engine).await.expect("a claim").expect("work");
    scene.until(id, Status::Executing).await;
    scene.pass(Duration::from_mins(1));
    let view = scene.until(id, Status::Unknown).await;
    assert_eq!(view.action.attempts[0].result, Some(AttemptResult::Unknown));
    let late = WorkOutcome::Succeeded(json!({ "done": true }));
    let by = worker();
    let late = scene.engine.complete(&by, work.id, work.epoch, late).await;
    assert!(matches!(late, Err(WorkError::LeaseLost)));
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_what_is_scheduled_for_a_tool_that_is_gone_ends_when_it_is_due() {
    let mut scene = Scene::with_clock().await;
    let later = Submission {
        not_before: Some(scene.engine.now().plus(HOUR)),
        ..submission("pulled", json!({ "a": 1 }))
    };
    let id = taken(scene.engine.submit(&service(), later).await)
        .action
        .id;
    scene.restart_with(&without_the_tool(&scene)).await;
    let waiting = scene.until(id, Status::Accepted).await;
    assert!(matches!(waiting.action.phase, Phase::Accepted { .. }));
    scene.pass(HOUR);
    scene.until(id, Status::ReplanRequired).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_what_is_paused_for_a_tool_that_is_gone_ends_when_calls_go_on() {
    let mut scene = Scene::open().await;
    let id = scene.submit("pulled", json!({ "a": 1 })).await.action.id;
    scene
        .engine
        .pause(&operator(), "a move")
        .await
        .expect("paused");
    scene.restart_with(&without_the_tool(&scene)).await;
    assert!(scene.engine.is_paused(), "it outlives a restart");
    scene
        .engine
        .resume(&operator(), None)
        .await
        .expect("resumed");
    scene.until(id, Status::ReplanRequired).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_an_error_that_only_the_sign_in_desk_met_is_the_end_for_everybody() {
    let shop = Shop::open().await;
    let log = Arc::new(FaultyLog::new(Arc::new(MemoryLog::new())));
    let engine = open(log.clone(), &shop.tools(), None).await;
    let wish = submission("pulled", json!({ "a": 1 }));
    let id = taken(engine.submit(&service(), wish).await).action.id;
    let wish = submission("pulled", json!({ "a": 2 }));
    taken(engine.submit(&service(), wish).await);
    let held = pull(&engine).await.expect("a claim").expect("work");

    log.fail_after(0, Fault::CrashBefore);
    let person = NewPerson {
        email: "ana@example.com".to_owned(),
        name: "Ana".to_owned(),
        ..NewPerson::default()
    };
    let made = engine.identity().create_person("per_admin", person).await;
    assert!(made.is_err(), "the disk failed");

    let why = engine.ready().expect_err("nothing is taken any more");
    assert!(why.contains("start again"), "{why}");
    // The disk is well again, but what it holds is not known before a start.
    log.heal();
    let before = log.faults();
    let claimed = pull(&engine).await;
    assert!(matches!(claimed, Err(WorkError::Unavailable(_))));
    let said = WorkOutcome::Succeeded(json!({}));
    let said = engine.complete(&worker(), held.id, held.epoch, said).await;
    assert!(matches!(said, Err(WorkError::Unavailable(_))));
    let beat = engine.heartbeat(&worker(), held.id, held.epoch, None).await;
    assert!(matches!(beat, Err(WorkError::Unavailable(_))));
    assert!(engine.pause(&operator(), "a move").await.is_err());
    let wish = submission("pulled", json!({ "a": 3 }));
    assert!(engine.submit(&service(), wish).await.is_err());
    let person = NewPerson {
        email: "ben@example.com".to_owned(),
        name: "Ben".to_owned(),
        ..NewPerson::default()
    };
    let made = engine.identity().create_person("per_admin", person).await;
    assert!(made.is_err(), "nor is anybody signed up");
    assert_eq!(log.faults(), before);
    let seen = engine.get(&auditor(), id).expect("reading goes on");
    assert_eq!(seen.action.status(), Status::Executing);
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_nobody_is_told_that_it_is_paused_after_a_resumption_of_unknown_outcome() {
    let shop = Shop::open().await;
    let log = Arc::new(FaultyLog::new(Arc::new(MemoryLog::new())));
    let engine = open(log.clone(), &shop.tools(), None).await;
    let paused = engine.pause(&operator(), "a move").await;
    paused.expect("paused");

    // It is in the log, and nobody knows.
    log.fail_after(0, Fault::CrashAfter);
    assert!(engine.resume(&operator(), None).await.is_err());
    assert!(engine.pause(&operator(), "not yet").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_nobody_is_told_what_an_account_is_already_after_a_write_of_unknown_outcome() {
    let shop = Shop::open().await;
    let log = Arc::new(FaultyLog::new(Arc::new(MemoryLog::new())));
    let engine = open(log.clone(), &shop.tools(), None).await;
    let people = engine.identity();
    let person = NewPerson {
        email: "ana@example.com".to_owned(),
        name: "Ana".to_owned(),
        ..NewPerson::default()
    };
    let ana = people
        .create_person("test", person)
        .await
        .expect("a person");

    // It is in the log, and nobody knows.
    log.fail_after(0, Fault::CrashAfter);
    let disabled = people.disable_person("test", &ana.id, "she left").await;
    assert!(disabled.is_err());
    log.heal();
    let enabled = people.enable_person("test", &ana.id, "a mistake").await;
    assert!(
        enabled.is_err(),
        "it is not known to be enabled: {enabled:?}"
    );
    let same = PersonChange::default();
    let changed = people.change_person("test", &ana.id, same).await;
    assert!(changed.is_err(), "nor what it is like: {changed:?}");
    let ended = people.end_all_sessions("test", &ana.id).await;
    assert!(ended.is_err(), "nor that there is no session: {ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_a_key_that_is_revoked_while_it_waits_is_given_nothing() {
    let scene = Scene::open().await;
    let people = scene.engine.identity();
    let person = NewPerson {
        email: "ana@example.com".to_owned(),
        name: "Ana".to_owned(),
        ..NewPerson::default()
    };
    let owner = people
        .create_person("test", person)
        .await
        .expect("a person");
    let key = NewKey {
        name: "packer".to_owned(),
        kind: PrincipalKind::Service,
        owner: owner.id,
        scopes: BTreeSet::from(["work:*".to_owned()]),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (key, _) = people.create_key("test", key).await.expect("a key");
    let by = people.principal(&key.id).expect("it works");
    let wish = ClaimWish {
        tools: vec!["pulled".to_owned()],
        wait: HOUR,
        lease: None,
        request_key: None,
    };
    let mut waiting = std::pin::pin!(scene.engine.claim(&by, wish));
    tokio::select! {
        biased;
        early = &mut waiting => panic!("there is nothing yet: {early:?}"),
        () = std::future::ready(()) => {}
    }
    people
        .revoke_key("test", &key.id, "lost")
        .await
        .expect("revoked");
    let id = scene.submit("pulled", json!({ "a": 1 })).await.action.id;
    let given = waiting.await;
    assert!(matches!(given, Err(WorkError::Forbidden(_))), "{given:?}");
    let view = scene.engine.get(&auditor(), id).expect("visible");
    assert_eq!((view.action.status(), view.version), (Status::Accepted, 1));
    let work = pull(&scene.engine).await.expect("a claim");
    assert!(work.is_some(), "somebody else has it");
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_one_damaged_action_keeps_no_worker_from_the_others() {
    let scene = Scene::open().await;
    let damaged = scene.submit("pulled", json!({ "a": 1 })).await.action.id;
    let whole = scene.submit("pulled", json!({ "a": 2 })).await.action.id;
    let view = IndexPut {
        index: 1,
        key: damaged.as_bytes().to_vec(),
        value: vec![255],
    };
    let batch = Batch {
        puts: vec![view],
        ..Batch::default()
    };
    scene.log.append(batch).await.expect("written");
    let work = pull(&scene.engine).await.expect("a claim").expect("work");
    assert_eq!(work.id.action, whole);
    let nothing = pull(&scene.engine).await;
    assert!(
        matches!(nothing, Err(WorkError::Unavailable(_))),
        "it is told"
    );
}

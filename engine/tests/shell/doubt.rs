//! Calls whose outcome is not plain: nothing is guessed, nothing is sent twice.

use std::time::Duration;

use holdpoint_engine::action::{AttemptResult, FailReason, Phase, Status};
use holdpoint_engine::engine::ActError;
use serde_json::json;

use crate::world::{
    Mood, Scene, Shop, alice, approver, open, operator, refund_of, service, submission, taken,
    tools,
};

/// Approves a refund while the shop is in that mood.
async fn approved_in(scene: &Scene, mood: Mood) -> holdpoint_engine::action::ActionId {
    scene.shop.feels(mood);
    let staged = scene.staged("issue_refund", 1200).await;
    scene.approve(&alice(), &staged).await;
    staged.action.id
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_05_a_lost_answer_is_reconciled_and_not_sent_again() {
    let scene = Scene::open().await;
    let id = approved_in(&scene, Mood::DoneThen(500)).await;
    let done = scene.until(id, Status::Succeeded).await;
    assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1));
    assert_eq!(done.action.attempts[0].result, Some(AttemptResult::Done));
    let Phase::Succeeded { result } = done.action.phase else {
        panic!("it succeeded");
    };
    assert_eq!(
        result.value()["refunds"][0]["amount"],
        1200,
        "the evidence is kept"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_no_answer_that_leaves_a_doubt_is_followed_by_a_second_call() {
    for mood in [
        Mood::DoneThenSilent,
        Mood::DoneThen(408),
        Mood::DoneThen(409),
        Mood::DoneThen(425),
        Mood::DoneThen(429),
        Mood::DoneThen(502),
        Mood::DoneThen(503),
        Mood::DoneThenCut,
    ] {
        let scene = Scene::open().await;
        let id = approved_in(&scene, mood).await;
        scene.until(id, Status::Succeeded).await;
        assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1), "{mood:?}");
        assert!(1 <= scene.shop.books().checks, "{mood:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_a_redirect_is_not_followed() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::Redirects);
    let view = scene.submit("irreversible", refund_of(100, "r1")).await;
    scene.until(view.action.id, Status::Unknown).await;
    assert_eq!((scene.shop.posts(), scene.shop.books().elsewhere), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certain_refusal_ends_it_with_the_answer() {
    for status in [400, 401, 403, 404, 410, 413, 415, 422] {
        let scene = Scene::open().await;
        let id = approved_in(&scene, Mood::Refuses(status)).await;
        let failed = scene.until(id, Status::Failed).await;
        let Phase::Failed(FailReason::TargetRefused { answer }) = failed.action.phase else {
            panic!("{status}");
        };
        assert_eq!(answer.value(), json!("no"));
        assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 0), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_happen_is_sent_again_with_the_same_key() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::Refuses(503));
    let view = scene.submit("write_once", refund_of(100, "r1")).await;
    scene.shop.was_asked().await;
    scene.shop.feels(Mood::Kind);
    let done = scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.done(), 1);
    assert!(2 <= done.action.attempts.len());
    let books = scene.shop.books();
    let keys: std::collections::BTreeSet<_> = books
        .posts
        .iter()
        .map(|(headers, _)| headers["idempotency-key"].clone())
        .collect();
    assert_eq!(keys.len(), 1, "incident 11: one key over all attempts");
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_18_what_has_no_check_waits_for_a_person() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThen(500));
    let view = scene.submit("irreversible", refund_of(100, "r1")).await;
    let id = view.action.id;
    let unknown = scene.until(id, Status::Unknown).await;
    assert_eq!(unknown.action.due_at(), None);
    let listed = scene.engine.attention(&operator()).expect("readable");
    assert_eq!(listed.unknown_total, 1, "it is on the list of operators");
    assert_eq!(listed.unknown[0].view.action.id, id);
    let not_allowed = scene
        .engine
        .settle(&approver("bob"), id, true, "I saw it".into())
        .await;
    assert!(
        matches!(not_allowed, Err(ActError::Forbidden(_))),
        "{not_allowed:?}"
    );
    let settled = scene
        .engine
        .settle(&operator(), id, true, "it is in the books".into())
        .await;
    assert_eq!(settled.expect("settled").action.status(), Status::Succeeded);
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_cannot_answer_decides_nothing() {
    let scene = Scene::open().await;
    scene.shop.books().check_mood = Some(503);
    let id = approved_in(&scene, Mood::DoneThen(500)).await;
    let asked = |view: &holdpoint_engine::engine::Versioned| matches!(view.action.phase, Phase::Unknown { checks, .. } if 2 <= checks);
    scene.until_that(id, asked).await;
    scene.shop.books().check_mood = None;
    scene.until(id, Status::Succeeded).await;
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_tried_again_and_then_fails_for_certain() {
    let scene = Scene::open().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let closed = listener.local_addr().expect("an address");
    drop(listener);
    let log = scene.log.clone();
    let engine = open(log, &tools(closed), None).await;
    let scene = Scene { engine, ..scene };
    let view = scene.submit("write_once", refund_of(100, "r1")).await;
    let failed = scene.until(view.action.id, Status::Failed).await;
    assert_eq!(failed.action.attempts.len(), 3);
    for attempt in &failed.action.attempts {
        assert_eq!(attempt.result, Some(AttemptResult::NotDone));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_state_defers_the_call_until_it_can_be_read() {
    let scene = Scene::open().await;
    let staged = scene.staged("issue_refund", 1200).await;
    scene.shop.books().state_mood = Some(503);
    scene.approve(&alice(), &staged).await;
    scene
        .until_that(staged.action.id, |view| 2 <= view.action.reads_failed)
        .await;
    assert_eq!(scene.shop.posts(), 0);
    scene.shop.books().state_mood = None;
    scene.until(staged.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_not_found_before_quiet_time_proves_nothing() {
    let shop = Shop::open().await;
    let mut file = shop.tools();
    file["tools"]["write_once"]["requestLifetime"] = json!("60s");
    file["tools"]["write_once"]["execute"]["retry"]["backoff"] = json!("1s..5s");
    let mut scene = Scene::with_clock().await;
    scene.shop = shop;
    scene.restart_with(&file).await;
    scene.shop.feels(Mood::Refuses(500));
    let view = scene.submit("write_once", refund_of(100, "r1")).await;
    let id = view.action.id;
    let asked = |view: &holdpoint_engine::engine::Versioned| matches!(view.action.phase, Phase::Unknown { checks, .. } if 1 <= checks);
    scene.until_that(id, asked).await;
    assert_eq!(scene.shop.posts(), 1, "an early look sends nothing");
    scene.shop.feels(Mood::Kind);
    scene.pass(Duration::from_secs(70));
    scene.until(id, Status::Accepted).await;
    // The wait before the second attempt; from here on the clock stands still.
    scene.pass(Duration::from_secs(6));
    scene.until(id, Status::Succeeded).await;
    assert_eq!((scene.shop.posts(), scene.shop.done()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_a_cloud_metadata_address_is_never_called() {
    let scene = Scene::open().await;
    let file = json!({ "tools": { "steal": {
        "safetyClass": "write-once-checkable",
        "execute": {
            "http": { "post": "http://169.254.169.254/latest" },
            "retry": { "attempts": 1, "backoff": "1ms..1ms" },
        },
    } } });
    let engine = open(scene.log.clone(), &file, None).await;
    let scene = Scene { engine, ..scene };
    let outcome = scene
        .engine
        .submit(&service(), submission("steal", json!({})))
        .await;
    let failed = scene.until(taken(outcome).action.id, Status::Failed).await;
    let note = failed.action.attempts[0].note.clone().unwrap_or_default();
    assert!(note.contains("never called"), "{note}");
}

//! The whole life of an action, for each class.

use std::time::Duration;

use holdpoint_engine::action::{Phase, Status, Window};
use holdpoint_engine::canon::CanonicalJson;
use holdpoint_engine::engine::{SubmitError, Submitted};
use serde_json::json;

use crate::world::{Mood, Scene, alice, approver, refund_of, service, submission};

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_refund_is_made_once_and_its_answer_is_kept() {
    let scene = Scene::open().await;
    let staged = scene.staged("issue_refund", 1200).await;
    assert_eq!(staged.action.status(), Status::Staged);
    assert_eq!(
        staged.action.proposal.summary,
        "Refund 12.00 EUR to order 8812"
    );
    assert_eq!(scene.shop.posts(), 0, "nothing leaves before the approval");
    scene.approve(&alice(), &staged).await;
    let done = scene.until(staged.action.id, Status::Succeeded).await;
    let Phase::Succeeded { result } = &done.action.phase else {
        panic!("it succeeded");
    };
    assert_eq!(result.value(), json!({ "id": "re_1" }));
    assert_eq!(done.action.attempts.len(), 1);
    assert_eq!(done.action.attempts[0].window, Window::Narrowed);
    assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1));
    let (headers, body) = scene.shop.books().posts[0].clone();
    assert_eq!(body, json!({ "order": "8812", "amount": 1200 }));
    let key = headers["idempotency-key"].to_str().expect("text");
    assert_eq!(key.trim_matches('"'), "refund:8812:r1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_once_call_needs_no_approval() {
    let scene = Scene::open().await;
    let view = scene.submit("write_once", refund_of(700, "r1")).await;
    assert_eq!(view.action.status(), Status::Accepted);
    let done = scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.posts(), 1);
    let (headers, _) = scene.shop.books().posts[0].clone();
    let key = headers["idempotency-key"].to_str().expect("text");
    assert_eq!(key.trim_matches('"'), done.action.id.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_state_query_says_that_its_window_is_open() {
    let scene = Scene::open().await;
    let view = scene.submit("write_once", refund_of(700, "r1")).await;
    let done = scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(done.action.attempts[0].window, Window::Open);
    assert_eq!(scene.shop.books().state_reads, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_irreversible_call_reads_the_state_again() {
    let scene = Scene::open().await;
    let view = scene.submit("irreversible", refund_of(700, "r1")).await;
    scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.books().state_reads, 2);
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotent_call_is_answered_at_once_and_not_recorded() {
    let scene = Scene::open().await;
    let answer = scene
        .engine
        .submit(
            &service(),
            submission("read_order", json!({ "order_id": "8812" })),
        )
        .await;
    let Ok(Submitted::Answered(answered)) = answer else {
        panic!("answered: {answer:?}");
    };
    assert_eq!(answered.status, Status::Succeeded);
    assert_eq!(answered.result["refundable_minor"], 5000);
    assert!(scene.engine.counts().by_status.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_moved_state_ends_in_replan_required_and_nothing_is_called() {
    let scene = Scene::open().await;
    let staged = scene.staged("issue_refund", 1200).await;
    scene.shop.moves();
    scene.approve(&alice(), &staged).await;
    let ended = scene.until(staged.action.id, Status::ReplanRequired).await;
    assert_eq!(scene.shop.posts(), 0);
    let diff = &ended.action.diff;
    assert_eq!(diff.len(), 1);
    assert_eq!(diff[0].path, "/refundable_minor");
    assert_eq!(
        diff[0].approved.as_ref().map(CanonicalJson::value),
        Some(json!(5000))
    );
    assert_eq!(
        diff[0].now.as_ref().map(CanonicalJson::value),
        Some(json!(2000))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_state_is_staged_again_where_the_tool_asks_for_it() {
    let scene = Scene::open().await;
    let staged = scene.staged("restaged_refund", 1200).await;
    scene.shop.moves();
    scene.approve(&alice(), &staged).await;
    let again = scene
        .until_that(staged.action.id, |view| view.action.revision == 2)
        .await;
    assert_eq!(again.action.status(), Status::Staged);
    assert_eq!(scene.shop.posts(), 0);
    scene.approve(&alice(), &again).await;
    scene.until(staged.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.done(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_travels_with_the_call_and_412_means_replan() {
    let scene = Scene::open().await;
    let staged = scene.staged("closed_refund", 1200).await;
    scene.approve(&alice(), &staged).await;
    let done = scene.until(staged.action.id, Status::Succeeded).await;
    assert_eq!(done.action.attempts[0].window, Window::Closed);
    assert_eq!(scene.shop.books().posts[0].0["if-match"], "\"v1\"");

    scene.shop.feels(Mood::Refuses(412));
    let other = scene.submit("closed_refund", refund_of(100, "r2")).await;
    scene.approve(&alice(), &other).await;
    scene.until(other.action.id, Status::ReplanRequired).await;
    assert_eq!(scene.shop.done(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_window_holds_the_call_back_and_can_be_used_to_withdraw() {
    let scene = Scene::with_clock().await;
    let staged = scene.submit("held_refund", refund_of(100, "r1")).await;
    let id = staged.action.id;
    scene.approve(&alice(), &staged).await;
    let approved = scene.approve(&approver("bob"), &staged).await;
    assert_eq!(approved.action.status(), Status::Approved);
    let back = scene
        .engine
        .withdraw(&alice(), id, None)
        .await
        .expect("withdrawn");
    assert_eq!(back.action.status(), Status::Staged);
    scene.approve(&alice(), &back).await;
    assert_eq!(scene.shop.posts(), 0);
    scene.pass(Duration::from_secs(31));
    scene.until(id, Status::Succeeded).await;
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_65_silence_expires_and_is_its_own_outcome() {
    let scene = Scene::with_clock().await;
    let staged = scene.submit("held_refund", refund_of(100, "r1")).await;
    scene.pass(Duration::from_secs(3601));
    scene.until(staged.action.id, Status::Expired).await;
    assert_eq!(scene.shop.posts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_is_recorded_as_refused() {
    let scene = Scene::open().await;
    let mut bare = service();
    bare.scopes.clear();
    let refused = |outcome: Result<Submitted, SubmitError>| match outcome {
        Err(SubmitError::Refused { action }) => match action.action.phase {
            Phase::Refused(refused) => refused.code,
            phase => panic!("{phase:?}"),
        },
        other => panic!("refused: {other:?}"),
    };
    let first = scene
        .engine
        .submit(&bare, submission("issue_refund", refund_of(1, "a")))
        .await;
    assert_eq!(refused(first), "missing_scope");
    let args = json!({ "tenant": "us", "order_id": "1", "amount_minor": 1 });
    let second = scene
        .engine
        .submit(&service(), submission("own_tenant", args))
        .await;
    assert_eq!(refused(second), "identity_check_failed");
    let args = refund_of(9000, "b");
    let third = scene
        .engine
        .submit(&service(), submission("issue_refund", args))
        .await;
    assert_eq!(refused(third), "precondition_failed");
    assert_eq!(
        scene.engine.counts().by_status.get(&Status::Refused),
        Some(&3)
    );

    let unknown = scene
        .engine
        .submit(&service(), submission("issue_refnd", json!({})))
        .await;
    let Err(SubmitError::UnknownTool { suggestion, .. }) = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(suggestion.as_deref(), Some("issue_refund"));
    let bad = scene
        .engine
        .submit(&service(), submission("issue_refund", json!({})))
        .await;
    assert!(matches!(bad, Err(SubmitError::InvalidArgs(_))), "{bad:?}");
    assert_eq!(scene.shop.posts(), 0);
}

//! What other systems of this kind did twice, lost or guessed: none of it can happen here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{Phase, Refusal, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::Digest;
use holdpoint_engine::engine::{ActError, RequestKey, Submission, SubmitError, Submitted};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use serde_json::json;

use crate::world::{
    Mood, Scene, alice, approver, auditor, ballot, open, refund_of, service, submission, taken,
};

fn keyed(key: &str, wish: Submission) -> Submission {
    Submission {
        request_key: Some(RequestKey {
            key: key.to_owned(),
            fingerprint: Digest::of(wish.args.to_string().as_bytes()),
        }),
        ..wish
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_01_02_and_03_a_call_that_is_asked_for_again_is_the_first_action() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThen(504));
    let wish = || submission("issue_refund", refund_of(1200, "r1"));
    let first = taken(scene.engine.submit(&service(), keyed("k1", wish())).await);
    scene.approve(&alice(), &first).await;
    scene.until(first.action.id, Status::Succeeded).await;
    // The agent saw a time-out and calls anew, with a fresh key of its own.
    let again = scene.engine.submit(&service(), keyed("k2", wish())).await;
    let Ok(Submitted::Action { action, replayed }) = again else {
        panic!("{again:?}");
    };
    assert_eq!((action.action.id, replayed), (first.action.id, true));
    assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_a_request_that_was_taken_is_answered_again_whatever_became_of_its_tool() {
    let mut scene = Scene::open().await;
    let wish = || {
        let wish = submission("write_once", refund_of(100, "r1"));
        keyed("k1", wish)
    };
    let first = taken(scene.engine.submit(&service(), wish()).await);
    scene.until(first.action.id, Status::Succeeded).await;
    let tools = scene.shop.tools();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut tools = tools.clone();
        change(&mut tools["tools"]);
        tools
    };
    let no_longer = [
        (
            "it is gone",
            changed(&|all| drop(all.as_object_mut().expect("tools").remove("write_once"))),
        ),
        (
            "its arguments are others",
            changed(&|all| {
                all["write_once"]["input"] = json!({ "type": "object", "required": ["iban"] });
            }),
        ),
        (
            "its callers need another scope",
            changed(&|all| all["write_once"]["requiredScopes"] = json!(["gold"])),
        ),
    ];
    for (what, tools) in no_longer {
        scene.restart_with(&tools).await;
        let again = scene.engine.submit(&service(), wish()).await;
        let Ok(Submitted::Action { action, replayed }) = again else {
            panic!("{what}: {again:?}");
        };
        assert_eq!(
            (action.action.id, replayed),
            (first.action.id, true),
            "{what}"
        );
        let new = submission("write_once", refund_of(100, "r2"));
        let new = scene.engine.submit(&service(), keyed("k2", new)).await;
        assert!(new.is_err(), "{what}: {new:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_07_10_and_11_one_key_for_all_attempts_made_with_the_intent() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::Refuses(503));
    let view = scene.submit("write_once", refund_of(100, "r1")).await;
    let key = view.action.proposal.idempotency_key.clone();
    scene.shop.was_asked().await;
    scene.shop.feels(Mood::Kind);
    let done = scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(done.action.proposal.idempotency_key, key);
    let books = scene.shop.books();
    let sent: BTreeSet<&str> = books
        .posts
        .iter()
        .filter_map(|(headers, _)| headers["idempotency-key"].to_str().ok())
        .map(|sent| sent.trim_matches('"'))
        .collect();
    assert_eq!(sent, BTreeSet::from([key.as_str()]));
    assert!(2 <= books.bodies.len(), "it was sent again");
    let bodies: BTreeSet<&String> = books.bodies.iter().collect();
    assert_eq!(bodies.len(), 1, "one set of bytes: {bodies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_07_another_body_under_the_same_key_is_never_sent() {
    let scene = Scene::open().await;
    let first = scene.staged("issue_refund", 1200).await;
    let other = submission("issue_refund", refund_of(1300, "r1"));
    let refused = scene.engine.submit(&service(), other).await;
    assert!(
        matches!(&refused, Err(SubmitError::KeyReused { .. })),
        "{refused:?}"
    );
    scene.approve(&alice(), &first).await;
    scene.until(first.action.id, Status::Succeeded).await;
    let books = scene.shop.books();
    let amounts: Vec<_> = books
        .posts
        .iter()
        .map(|(_, body)| &body["amount"])
        .collect();
    assert_eq!(amounts, [&json!(1200)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_09_words_and_moments_of_a_try_are_no_part_of_the_key() {
    let scene = Scene::open().await;
    let first = scene.staged("issue_refund", 1200).await;
    let mut again = submission("issue_refund", refund_of(1200, "r1"));
    again.reason = Some("another token, another time".to_owned());
    let again = taken(scene.engine.submit(&service(), again).await);
    assert_eq!(again.action.id, first.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_13_and_16_a_time_out_is_unknown_and_cannot_be_called_off() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThenSilent);
    let view = scene.submit("irreversible", refund_of(100, "r1")).await;
    scene.until(view.action.id, Status::Executing).await;
    let by = service();
    let cancel = || scene.engine.cancel(&by, view.action.id, None);
    let refused = cancel().await;
    assert!(
        matches!(refused, Err(ActError::Refused(Refusal::TooLate { .. }))),
        "{refused:?}"
    );
    let unknown = scene.until(view.action.id, Status::Unknown).await;
    assert!(unknown.action.attempts[0].note.is_some(), "it says why");
    let refused = cancel().await;
    assert!(
        matches!(refused, Err(ActError::Refused(Refusal::TooLate { .. }))),
        "{refused:?}"
    );
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_19_and_23_a_crash_in_the_call_spends_the_approval_and_sends_nothing() {
    let mut scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThenSilent);
    scene.shop.books().check_mood = Some(503);
    let staged = scene.staged("issue_refund", 1200).await;
    scene.approve(&alice(), &staged).await;
    scene.shop.was_asked().await;
    scene.restart().await;
    let view = scene
        .engine
        .get(&auditor(), staged.action.id)
        .expect("there");
    assert_eq!(view.action.status(), Status::Unknown);
    let again = ballot(&view, Vote::Approve);
    let refused = scene
        .engine
        .vote(&approver("ben"), staged.action.id, again)
        .await;
    assert!(
        matches!(
            refused,
            Err(ActError::Refused(Refusal::AlreadyDecided { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_25_26_and_28_an_answer_belongs_to_one_question_alone() {
    let scene = Scene::open().await;
    let one = scene.submit("issue_refund", refund_of(100, "r1")).await;
    let two = scene.submit("issue_refund", refund_of(200, "r2")).await;
    let for_one = ballot(&one, Vote::Approve);
    let refused = scene.engine.vote(&alice(), two.action.id, for_one).await;
    assert!(
        matches!(refused, Err(ActError::Refused(Refusal::StaleDigest { .. }))),
        "{refused:?}"
    );
    scene.approve(&alice(), &one).await;
    scene.until(one.action.id, Status::Succeeded).await;
    let other = scene.engine.get(&auditor(), two.action.id).expect("there");
    assert_eq!(other.action.status(), Status::Staged);
    assert_eq!(scene.shop.done(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_68_pending_expired_and_refused_by_somebody_are_three_things() {
    let scene = Scene::with_clock().await;
    let pending = scene.submit("issue_refund", refund_of(100, "r1")).await;
    let refused = scene.submit("issue_refund", refund_of(100, "r2")).await;
    let moment = Duration::from_millis(1);
    let waited = scene
        .engine
        .wait(&service(), pending.action.id, pending.version, moment)
        .await
        .expect("seen");
    assert_eq!(waited.action.status(), Status::Staged, "not a no");
    let no = ballot(&refused, Vote::Reject);
    let rejected = scene.engine.vote(&alice(), refused.action.id, no).await;
    let phase = rejected.expect("rejected").action.phase;
    assert!(matches!(&phase, Phase::Rejected { by, .. } if by == "per_alice"));
    scene.pass(Duration::from_hours(25));
    scene.until(pending.action.id, Status::Expired).await;
    assert_eq!(scene.shop.posts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_71_a_vote_on_what_has_expired_is_told_so() {
    let scene = Scene::with_clock().await;
    let staged = scene.staged("issue_refund", 100).await;
    scene.pass(Duration::from_hours(25));
    scene.until(staged.action.id, Status::Expired).await;
    let late = ballot(&staged, Vote::Approve);
    let refused = scene.engine.vote(&alice(), staged.action.id, late).await;
    assert!(
        matches!(
            refused,
            Err(ActError::Refused(Refusal::AlreadyDecided {
                status: Status::Expired
            }))
        ),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_74_a_client_who_goes_away_decides_nothing() {
    let scene = Scene::open().await;
    let staged = scene.staged("issue_refund", 100).await;
    let id = staged.action.id;
    {
        let (by, patience) = (service(), Duration::from_mins(1));
        let mut waiting = std::pin::pin!(scene.engine.wait(&by, id, staged.version, patience));
        tokio::select! {
            biased;
            early = &mut waiting => panic!("nothing has changed: {early:?}"),
            () = std::future::ready(()) => {}
        }
    }
    // Whoever waited has gone away.
    let view = scene.engine.get(&alice(), id).expect("there");
    assert_eq!(view.action.status(), Status::Staged);
    scene.approve(&alice(), &view).await;
    scene.until(id, Status::Succeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_94_a_key_answers_after_a_crash_with_the_first_action() {
    let wish = || keyed("k1", submission("issue_refund", refund_of(100, "r1")));
    // Nothing was written; or all of it, and nobody was told.
    for (fault, written) in [(Fault::CrashBefore, false), (Fault::CrashAfter, true)] {
        let mut scene = Scene::open().await;
        let faulty = Arc::new(FaultyLog::new(Arc::new(scene.log.reopen())));
        scene.engine = open(faulty.clone(), &scene.shop.tools(), None).await;
        scene.log = Arc::clone(faulty.inner());
        faulty.fail_after(0, fault);
        let lost = scene.engine.submit(&service(), wish()).await;
        assert!(matches!(lost, Err(SubmitError::Unavailable(_))), "{lost:?}");
        scene.restart().await;
        let again = scene.engine.submit(&service(), wish()).await;
        let Ok(Submitted::Action { action, replayed }) = again else {
            panic!("the key is not blocked: {again:?}");
        };
        assert_eq!(replayed, written);
        assert_eq!(scene.engine.counts().by_status[&Status::Staged], 1);
        let third = taken(scene.engine.submit(&service(), wish()).await);
        assert_eq!(third.action.id, action.action.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_97_a_request_that_failed_leaves_its_key_free() {
    let scene = Scene::open().await;
    scene.shop.books().state_mood = Some(503);
    let wish = || keyed("k1", submission("issue_refund", refund_of(100, "r1")));
    let failed = scene.engine.submit(&service(), wish()).await;
    assert!(
        matches!(failed, Err(SubmitError::StateUnavailable(_))),
        "{failed:?}"
    );
    scene.shop.books().state_mood = None;
    let taken = taken(scene.engine.submit(&service(), wish()).await);
    assert_eq!(taken.action.status(), Status::Staged);
    assert_ne!(taken.action.proposal.args.value(), json!({}));
}

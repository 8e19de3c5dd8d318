//! Time over a real shop: reminders, schedules, the pause switch, and calls that are sent again.

use std::time::Duration;

use holdpoint_engine::action::{ActionId, Event, Phase, Reminder, Status};
use holdpoint_engine::engine::{ActError, SubmitError, Versioned};
use holdpoint_engine::limits::RESENDS_MAX;
use holdpoint_engine::time::Timestamp;
use serde_json::json;

use crate::world::{Mood, Scene, alice, auditor, operator, refund_of, service, submission, taken};

const HOUR: Duration = Duration::from_hours(1);

fn kinds(scene: &Scene, id: ActionId) -> Vec<String> {
    let history = scene.engine.history(&auditor(), id, 0, 1000);
    let entries = history.expect("the history");
    entries.into_iter().map(|entry| entry.kind).collect()
}

fn nobody_goes_on(view: &Versioned) -> bool {
    matches!(
        view.action.phase,
        Phase::Unknown {
            next_check: None,
            next_resend: None,
            ..
        }
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_06_a_target_that_keeps_keys_is_sent_the_same_call_and_does_it_once() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThen(500));
    let view = scene.submit("keeps_keys", refund_of(100, "r1")).await;
    scene.shop.was_asked().await;
    scene.shop.feels(Mood::Kind);
    let done = scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.done(), 1, "the target knew the key");
    assert!(done.action.attempts.iter().any(|attempt| attempt.is_resend));
    let books = scene.shop.books();
    let (first, again) = (&books.posts[0], &books.posts[1]);
    assert_eq!(first.0["idempotency-key"], again.0["idempotency-key"]);
    assert_eq!(first.1, again.1, "the same bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_18_a_resend_that_is_refused_leaves_the_doubt_to_a_person() {
    let scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThen(502));
    let view = scene.submit("keeps_keys", refund_of(100, "r1")).await;
    scene.shop.was_asked().await;
    scene.shop.feels(Mood::Refuses(401));
    let unknown = scene.until_that(view.action.id, nobody_goes_on).await;
    assert_eq!(scene.shop.done(), 1, "the first send had done it");
    let sends = 1 + usize::try_from(RESENDS_MAX).expect("small");
    assert_eq!(unknown.action.attempts.len(), sends);
    let found = scene.engine.attention(&operator()).expect("readable");
    assert_eq!(found.unknown_total, 1, "i27: it is on a person's list");
    assert!(
        found.unknown[0]
            .why
            .next
            .contains("a person must settle it")
    );
    let settled = scene
        .engine
        .settle(&operator(), view.action.id, true, "seen in the shop".into())
        .await
        .expect("settled");
    assert_eq!(settled.action.status(), Status::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn i01_i23_a_resend_that_was_on_its_way_in_a_crash_is_unknown_again() {
    let mut scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThen(502));
    let view = scene.submit("keeps_keys", refund_of(100, "r1")).await;
    scene.shop.was_asked().await;
    scene.shop.feels(Mood::DoneThenSilent);
    scene
        .until_that(view.action.id, |view| {
            view.action.status() == Status::Executing && view.action.attempts.len() == 2
        })
        .await;
    scene.restart().await;
    let kinds = kinds(&scene, view.action.id);
    let recorded = kinds
        .iter()
        .position(|kind| kind == "action.resend_recorded");
    let recorded = recorded.expect("a commit record of its own");
    assert_eq!(kinds[recorded + 1], "action.attempt_unknown");
    scene.shop.feels(Mood::Kind);
    scene.until(view.action.id, Status::Succeeded).await;
    assert_eq!(scene.shop.done(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_69_reminders_come_on_time_and_after_a_restart() {
    let mut scene = Scene::with_clock().await;
    let id = scene.staged("issue_refund", 1200).await.action.id;
    scene.pass(12 * HOUR);
    let reminded = |which: Reminder| move |view: &Versioned| view.action.reminded == Some(which);
    scene.until_that(id, reminded(Reminder::Half)).await;
    scene.pass(9 * HOUR);
    scene.restart().await;
    scene.pass(HOUR);
    scene.until_that(id, reminded(Reminder::NineTenths)).await;
    scene.pass(3 * HOUR);
    scene.until(id, Status::Expired).await;
    let kinds = kinds(&scene, id);
    assert_eq!(
        kinds,
        [
            "action.staged",
            "action.reminded",
            "action.reminded",
            "action.expired"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_65_incident_67_whoever_waits_learns_at_once_that_it_expired() {
    let scene = Scene::with_clock().await;
    let view = scene.staged("held_refund", 100).await;
    let waiting = scene.engine.clone();
    let (id, version) = (view.action.id, view.version);
    let wait = tokio::spawn(async move {
        let (by, patience) = (auditor(), Duration::from_mins(1));
        let mut known = version;
        loop {
            let view = waiting.wait(&by, id, known, patience).await.expect("seen");
            if view.action.status() != Status::Staged {
                return view.action.status();
            }
            known = view.version;
        }
    });
    scene.pass(2 * HOUR);
    assert_eq!(wait.await.expect("an answer"), Status::Expired);
    assert_eq!(scene.shop.posts(), 0, "expired is not approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_action_runs_at_its_moment() {
    let scene = Scene::with_clock().await;
    let mut wish = submission("write_once", refund_of(100, "r1"));
    wish.not_before = Some(scene.engine.now().plus(HOUR));
    let view = taken(scene.engine.submit(&service(), wish).await);
    scene.pass(HOUR / 2);
    assert_eq!(scene.shop.posts(), 0);
    scene.pass(HOUR);
    scene.until(view.action.id, Status::Succeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_that_makes_no_sense_is_refused() {
    let scene = Scene::open().await;
    let beyond = |tool: &str, after: Duration| {
        let mut wish = submission(tool, refund_of(100, "r1"));
        wish.not_before = Some(scene.engine.now().plus(after));
        wish
    };
    for wish in [
        beyond("issue_refund", 25 * HOUR),
        beyond("write_once", 400 * 24 * HOUR),
        beyond("read_order", HOUR),
    ] {
        let outcome = scene.engine.submit(&service(), wish).await;
        assert!(
            matches!(outcome, Err(SubmitError::Invalid(_))),
            "{outcome:?}"
        );
    }
    let mut past = submission("write_once", refund_of(100, "r9"));
    past.not_before = Some(Timestamp(0));
    let view = taken(scene.engine.submit(&service(), past).await);
    scene.until(view.action.id, Status::Succeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_the_digest_that_is_voted_on_says_when_it_runs() {
    let scene = Scene::open().await;
    let mut wish = submission("closed_refund", refund_of(100, "r1"));
    let now = taken(scene.engine.submit(&service(), wish.clone()).await);
    wish.not_before = Some(scene.engine.now().plus(HOUR));
    let later = taken(scene.engine.submit(&service(), wish).await);
    assert_ne!(now.action.proposal.digest, later.action.proposal.digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_new_is_sent_while_paused_also_after_a_restart() {
    let mut scene = Scene::open().await;
    let paused = scene.engine.pause(&operator(), "an incident").await;
    assert_eq!(paused.expect("paused").reason, "an incident");
    let accepted = scene.submit("write_once", refund_of(0, "r1")).await;
    let staged = scene.staged("issue_refund", 1200).await;
    scene.approve(&alice(), &staged).await;
    let read = submission("read_order", json!({ "order_id": "8812" }));
    let outcome = scene.engine.submit(&service(), read.clone()).await;
    assert!(matches!(outcome, Err(SubmitError::Paused)), "{outcome:?}");
    scene.restart().await;
    let still = scene.engine.paused().expect("it survives a restart");
    assert_eq!(
        (still.name.as_str(), still.by.as_str()),
        ("oscar", "per_oscar")
    );
    assert_eq!(scene.shop.posts(), 0);
    assert!(scene.engine.ready().is_ok(), "it takes actions");
    scene
        .engine
        .resume(&operator(), None)
        .await
        .expect("resumed");
    scene.until(accepted.action.id, Status::Succeeded).await;
    scene.until(staged.action.id, Status::Succeeded).await;
    assert!(scene.engine.submit(&service(), read).await.is_ok());
    // In the log, no commit record stands between the two.
    let all = scene.engine.events(&auditor(), 0, 1000).expect("the log");
    let place = |kind: &str| all.iter().position(|entry| entry.kind == kind);
    let (from, to) = (place("engine.paused"), place("engine.resumed"));
    let (from, to) = (from.expect("paused"), to.expect("resumed"));
    let sent = |event: &Option<Event>| matches!(event, Some(Event::CommitRecorded { .. }));
    assert!(!all[from..to].iter().any(|entry| sent(&entry.event)));
    assert_eq!(all[from].data["reason"], "an incident");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_approved_still_expires_while_paused() {
    let scene = Scene::with_clock().await;
    scene
        .engine
        .pause(&operator(), "an incident")
        .await
        .expect("paused");
    let staged = scene.staged("issue_refund", 1200).await;
    scene.approve(&alice(), &staged).await;
    scene.pass(25 * HOUR);
    scene.until(staged.action.id, Status::Expired).await;
    assert_eq!(scene.shop.posts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_and_administrators_pause_and_they_say_why() {
    let scene = Scene::open().await;
    for by in [alice(), auditor(), service()] {
        let outcome = scene.engine.pause(&by, "no").await;
        assert!(
            matches!(outcome, Err(ActError::Forbidden(_))),
            "{outcome:?}"
        );
    }
    let outcome = scene.engine.pause(&operator(), "  ").await;
    assert!(matches!(outcome, Err(ActError::Refused(_))), "{outcome:?}");
    scene
        .engine
        .pause(&operator(), "first")
        .await
        .expect("paused");
    let second = scene.engine.pause(&operator(), "second").await;
    assert_eq!(second.expect("paused already").reason, "first");
}

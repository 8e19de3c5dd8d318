//! Stops at bad moments, and starts afterwards.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{Phase, Refusal, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{ActError, Engine, OpenError, Options, SubmitError};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{
    Batch, Direction, Entries, EventLog, MemoryLog, NewRecord, ScanRange, StreamAppend, StreamId,
};
use serde_json::json;

use crate::world::{
    Mood, Scene, Shop, alice, approver, auditor, ballot, open, refund_of, service, submission,
    taken,
};

#[tokio::test(flavor = "multi_thread")]
async fn incident_72_waiting_actions_survive_a_restart_and_are_not_run_again() {
    let mut scene = Scene::open().await;
    let staged = scene.staged("issue_refund", 1200).await;
    let before = scene.log.stats().expect("figures").last_position;
    let reads = scene.shop.books().state_reads;
    scene.restart().await;
    assert_eq!(scene.log.stats().expect("figures").last_position, before);
    assert_eq!(scene.shop.books().state_reads, reads);
    let counts = scene.engine.counts();
    assert_eq!(counts.by_status.get(&Status::Staged), Some(&1));
    assert!(counts.oldest_staged.is_some());
    scene.approve(&alice(), &staged).await;
    scene.until(staged.action.id, Status::Succeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_22_a_crash_after_the_call_leaves_it_unknown_and_not_approved() {
    let mut scene = Scene::open().await;
    scene.shop.feels(Mood::DoneThenSilent);
    // Nobody can be asked, so that the doubt stays.
    let mut tools = scene.shop.tools();
    let tool = tools["tools"]["issue_refund"].as_object_mut();
    tool.expect("a tool").remove("check");
    scene.restart_with(&tools).await;
    let staged = scene.staged("issue_refund", 100).await;
    let id = staged.action.id;
    scene.approve(&alice(), &staged).await;
    scene.shop.was_asked().await;
    scene.restart_with(&tools).await;
    let unknown = scene.engine.get(&auditor(), id).expect("visible");
    assert_eq!(unknown.action.status(), Status::Unknown);
    let spent = ballot(&unknown, Vote::Approve);
    let refused = scene.engine.vote(&approver("bob"), id, spent).await;
    assert!(
        matches!(
            refused,
            Err(ActError::Refused(Refusal::AlreadyDecided { .. }))
        ),
        "{refused:?}"
    );
    scene.restart_with(&tools).await;
    let again = scene.engine.get(&auditor(), id).expect("visible");
    assert_eq!(
        again.version, unknown.version,
        "a second recovery changes nothing"
    );
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_73_an_approval_before_a_restart_is_carried_out_after_it() {
    let mut scene = Scene::with_clock().await;
    let staged = scene.submit("held_refund", refund_of(100, "r1")).await;
    let id = staged.action.id;
    scene.approve(&alice(), &staged).await;
    scene.approve(&approver("bob"), &staged).await;
    scene.restart().await;
    assert_eq!(scene.shop.posts(), 0);
    scene.pass(Duration::from_secs(31));
    scene.until(id, Status::Succeeded).await;
    assert_eq!(scene.shop.posts(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_104_a_tool_that_changed_after_the_approval_is_not_called() {
    let mut scene = Scene::with_clock().await;
    let staged = scene.submit("held_refund", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    scene.approve(&approver("bob"), &staged).await;
    let mut file = scene.shop.tools();
    file["tools"]["held_refund"]["execute"]["timeout"] = json!("3s");
    scene.restart_with(&file).await;
    scene.pass(Duration::from_secs(31));
    scene.until(staged.action.id, Status::ReplanRequired).await;
    assert_eq!(scene.shop.posts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_104_a_tool_that_is_gone_or_weaker_after_the_approval_is_not_called() {
    for gone in [true, false] {
        let mut scene = Scene::with_clock().await;
        let staged = scene.submit("held_refund", refund_of(100, "r1")).await;
        scene.approve(&alice(), &staged).await;
        scene.approve(&approver("bob"), &staged).await;
        let waiting = scene.submit("held_refund", refund_of(100, "r2")).await;
        let mut file = scene.shop.tools();
        if gone {
            file["tools"]
                .as_object_mut()
                .expect("tools")
                .remove("held_refund");
        } else {
            let tool = &mut file["tools"]["held_refund"];
            tool["safetyClass"] = json!("irreversible");
            tool["approval"].take();
            tool.as_object_mut().expect("a tool").remove("approval");
        }
        scene.restart_with(&file).await;
        scene.approve(&alice(), &waiting).await;
        scene.approve(&approver("bob"), &waiting).await;
        scene.pass(Duration::from_secs(31));
        for view in [&staged, &waiting] {
            scene.until(view.action.id, Status::ReplanRequired).await;
        }
        assert_eq!(scene.shop.posts(), 0);
    }
}

/// Everything in an index.
fn content(log: &dyn EventLog, index: u8) -> Entries {
    log.scan(index, ScanRange::default(), 100_000, Direction::Forward)
        .expect("a scan")
}

async fn delete_indexes(log: &dyn EventLog) {
    for index in 1..=19 {
        let deletes = content(log, index)
            .into_iter()
            .map(|(key, _)| (index, key))
            .collect();
        log.append(Batch {
            deletes,
            ..Batch::default()
        })
        .await
        .expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_indexes_that_are_lost_are_built_from_the_log_to_the_same_bytes() {
    let mut scene = Scene::open().await;
    for number in 0..5 {
        let view = scene
            .submit("issue_refund", refund_of(100, &format!("r{number}")))
            .await;
        if number % 2 == 0 {
            scene.approve(&alice(), &view).await;
            scene
                .until_that(view.action.id, |view| view.action.status().is_final())
                .await;
        }
    }
    scene.submit("pulled", json!({ "a": 1 })).await;
    scene.engine.shutdown(Duration::from_secs(5)).await;
    let counts = scene.engine.counts();
    let log = scene.log.reopen();
    // All but the notes of a clean stop, which begin anew: views, what is open, what can be pulled.
    let kept = |log: &MemoryLog| [1, 2, 10].map(|index| content(log, index));
    let before = kept(&log);
    assert!(before.iter().all(|index| !index.is_empty()));
    let others = (1..=19).filter(|index| ![1, 2, 3, 10].contains(index));
    let others: usize = others.map(|index| content(&log, index).len()).sum();
    assert_eq!(others, 0, "an index that is not compared");
    delete_indexes(&log).await;
    scene.log = Arc::new(log);
    scene.restart().await;
    assert_eq!(kept(&scene.log), before);
    assert_eq!(scene.engine.counts(), counts);
}

#[tokio::test(flavor = "multi_thread")]
async fn i26_an_event_that_nobody_knows_stops_the_start_and_is_named() {
    let scene = Scene::open().await;
    let staged = scene.staged("issue_refund", 1200).await;
    scene.engine.shutdown(Duration::from_secs(5)).await;
    let log = scene.log.reopen();
    let hex = staged.action.id.to_string()[4..].to_owned();
    let record = NewRecord {
        time_ms: 0,
        actor: "engine".to_owned(),
        kind: "action.from_the_future".to_owned(),
        body: vec![9, 9, 9],
    };
    let append = StreamAppend {
        stream: StreamId::new(format!("action/{hex}")).expect("a stream"),
        expected: 1,
        records: vec![record],
    };
    let batch = Batch {
        streams: vec![append],
        ..Batch::default()
    };
    log.append(batch).await.expect("appended");
    let file = ToolsFile::from_str(&scene.shop.tools().to_string(), Format::Json);
    let registry = Arc::new(file.expect("valid").registry);
    let opened = Engine::open(Arc::new(log), registry, Options::default()).await;
    match opened.err() {
        Some(OpenError::Unreadable { position, .. }) => assert_eq!(position, 2),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_the_same_after_a_clean_stop_and_after_a_kill() {
    let mut scene = Scene::open().await;
    for number in 0..4 {
        let view = scene
            .submit("write_once", refund_of(100, &format!("r{number}")))
            .await;
        scene.until(view.action.id, Status::Succeeded).await;
        let counts = scene.engine.counts();
        if number % 2 == 0 {
            scene.engine.shutdown(Duration::from_secs(5)).await;
        }
        scene.restart().await;
        assert_eq!(scene.engine.counts(), counts);
    }
}

/// The story of one approved refund over a log that fails at its `number`-th append; then the
/// machine is repaired and starts again. Answers whether the fault struck.
async fn story(number: u64, fault: Fault) -> bool {
    let shop = Shop::open().await;
    let memory = Arc::new(MemoryLog::new());
    // What opening appends is not part of the story.
    drop(open(memory.clone(), &shop.tools(), None).await);
    let memory = Arc::new(memory.reopen());
    let log = Arc::new(FaultyLog::new(memory.clone()));
    let engine = open(log.clone(), &shop.tools(), None).await;
    log.fail_after(number, fault);
    let mut acknowledged = None;
    if let Some(view) = tell(&engine).await {
        acknowledged = Some(view);
    }
    let struck = 0 < log.faults();
    if struck && fault != Fault::Full {
        assert!(
            engine.ready().is_err(),
            "i22: after a failed write nothing is taken"
        );
        let more = engine
            .submit(&service(), submission("write_once", refund_of(1, "x")))
            .await;
        assert!(matches!(more, Err(SubmitError::Unavailable(_))), "{more:?}");
    }
    drop(engine);
    let memory = Arc::new(memory.reopen());
    let engine = open(memory, &shop.tools(), None).await;
    if let Some(id) = acknowledged {
        let view = engine
            .get(&auditor(), id)
            .expect("what was acknowledged is there (I5)");
        if let Phase::Staged = view.action.phase {
            let vote = ballot(&view, Vote::Approve);
            engine.vote(&alice(), id, vote).await.expect("a vote");
        }
        let mut known = 0;
        loop {
            let view = engine
                .wait(&auditor(), id, known, Duration::from_secs(20))
                .await;
            let view = view.expect("visible");
            if view.action.status().is_final() {
                assert_eq!(view.action.status(), Status::Succeeded);
                break;
            }
            assert_ne!(view.version, known, "stuck: {:?}", view.action.phase);
            known = view.version;
        }
        assert_eq!(shop.done(), 1, "once, whatever failed");
    }
    assert!(shop.posts() <= 2 && shop.done() <= 1);
    struck
}

/// Submits, approves and waits; the id where the submission was acknowledged.
async fn tell(engine: &Engine) -> Option<holdpoint_engine::action::ActionId> {
    let wish = submission("issue_refund", refund_of(1200, "r1"));
    let view = taken_or_none(engine.submit(&service(), wish).await)?;
    let id = view.action.id;
    let vote = ballot(&view, Vote::Approve);
    match engine.vote(&alice(), id, vote).await {
        Ok(view) => {
            let mut known = view.version;
            for _ in 0..10 {
                let view = engine
                    .wait(&auditor(), id, known, Duration::from_secs(2))
                    .await
                    .ok()?;
                if view.action.status().is_final() || view.version == known {
                    break;
                }
                known = view.version;
            }
        }
        Err(ActError::Unavailable(_)) => {}
        Err(error) => panic!("{error:?}"),
    }
    Some(id)
}

fn taken_or_none(
    outcome: Result<holdpoint_engine::engine::Submitted, SubmitError>,
) -> Option<holdpoint_engine::engine::Versioned> {
    match outcome {
        Err(SubmitError::Unavailable(_)) => None,
        other => Some(taken(other)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_a_store_that_fails_at_any_append_loses_nothing_and_doubles_nothing() {
    for fault in [Fault::Full, Fault::CrashBefore, Fault::CrashAfter] {
        let mut number = 0;
        while story(number, fault).await {
            number += 1;
            assert!(number < 50, "a story of a few appends");
        }
        assert!(
            4 <= number,
            "submit, vote, commit, result: {number} with {fault:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_finishes_what_is_on_its_way() {
    let mut scene = Scene::open().await;
    let view = scene.submit("write_once", refund_of(100, "r1")).await;
    scene
        .until_that(view.action.id, |view| !view.action.attempts.is_empty())
        .await;
    scene.engine.shutdown(Duration::from_secs(10)).await;
    let late = scene
        .engine
        .submit(&service(), submission("write_once", refund_of(1, "x")))
        .await;
    assert!(matches!(late, Err(SubmitError::Unavailable(_))), "{late:?}");
    scene.restart().await;
    let view = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible");
    assert_eq!(view.action.status(), Status::Succeeded);
}

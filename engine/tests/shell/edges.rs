//! The edges of what is called and kept: secrets, closures, sizes, a full store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdpoint_engine::action::{ActionId, AttemptResult, Phase, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{Options, SubmitError, Versioned};
use holdpoint_engine::target::{Answer, Body, CallError, LocalError, Locals, Outgoing, Target};
use holdpoint_engine::time::{Clock, Timestamp};
use holdpoint_storage::MemoryLog;
use holdpoint_storage::faulty::{Fault, FaultyLog};
use serde_json::{Value, json};

use crate::world::{
    Mood, Scene, Shop, alice, auditor, ballot, open, open_with, refund_of, service, submission,
    taken,
};

/// A scene over a tools file of its own.
async fn scene_of(tools: &Value, options: Options) -> Scene {
    let log = Arc::new(MemoryLog::new());
    Scene {
        shop: Shop::open().await,
        engine: open_with(log.clone(), tools, None, options).await,
        log,
        clock: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_closure_that_panics_or_says_too_much_is_no_harm() {
    let tool = |name: &str| json!({ "safetyClass": "irreversible", "execute": { "local": name } });
    let tools = json!({ "tools": {
        "panics": tool("panics"), "panics_later": tool("panics_later"),
        "talks": tool("talks"), "complains": tool("complains"),
    } });
    let locals = Locals::default()
        .with("panics", |call| {
            assert!(call.args["there"].is_string(), "before there is a future");
            async { Ok(json!(1)) }
        })
        .with("panics_later", |call| async move {
            assert!(call.args["there"].is_string(), "in the future");
            Ok(json!(1))
        })
        .with("talks", |_| async { Ok(json!("x".repeat(5_000_000))) })
        .with("complains", |_| async {
            Err(LocalError::Unknown("y".repeat(5_000_000)))
        });
    let options = Options {
        locals,
        ..Options::default()
    };
    let scene = scene_of(&tools, options).await;
    for (name, status) in [
        ("panics", Status::Unknown),
        ("panics_later", Status::Unknown),
        ("talks", Status::Succeeded),
        ("complains", Status::Unknown),
    ] {
        let view = scene.submit(name, json!({})).await;
        let ended = scene.until(view.action.id, status).await;
        assert_eq!(ended.action.attempts.len(), 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_check_that_was_not_understood_is_not_a_no() {
    for status in [400, 451] {
        let shop = Shop::open().await;
        let mut file = shop.tools();
        file["tools"]["write_once"]["check"]["happened"] = json!("status == 200");
        file["tools"]["write_once"]["check"]["settle"] = json!("100ms");
        file["tools"]["write_once"]["execute"]["timeout"] = json!("500ms");
        let log = Arc::new(MemoryLog::new());
        let scene = Scene {
            engine: open(log.clone(), &file, None).await,
            shop,
            log,
            clock: None,
        };
        scene.shop.feels(Mood::DoneThen(500));
        scene.shop.books().check_mood = Some(status);
        let view = scene.submit("write_once", refund_of(100, "r1")).await;
        let ended = scene
            .until_that(view.action.id, |view| {
                // Asked when a no would have counted, or sent again.
                let asked_at = view.action.updated_at;
                matches!(view.action.phase, Phase::Unknown { checks, quiet_at, .. } if 0 < checks && quiet_at <= asked_at)
                    || 1 < view.action.attempts.len()
            })
            .await;
        assert_eq!(ended.action.status(), Status::Unknown, "{status}");
        assert_eq!(scene.shop.posts(), 1, "{status}: not sent again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_a_secret_that_cannot_be_read_in_time_ends_the_attempt() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("token");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let shop = Shop::open().await;
    let tools = json!({ "tools": { "pay": {
        "safetyClass": "irreversible",
        "execute": {
            "http": {
                "post": format!("http://{}/refunds", shop.address),
                "auth": { "bearer": { "file": pipe.to_str().expect("a path") } },
            },
            "timeout": "200ms",
            "retry": { "attempts": 1, "backoff": "1ms..1ms" },
        },
    } } });
    let scene = scene_of(&tools, Options::default()).await;
    let view = scene.submit("pay", json!({})).await;
    let ended = scene.until(view.action.id, Status::Failed).await;
    assert_eq!(
        ended.action.attempts[0].result,
        Some(AttemptResult::NotDone)
    );
    // Lets the thread go that waits for somebody to write; whoever asked it to read has gone.
    let writer = std::fs::OpenOptions::new().write(true).open(&pipe);
    drop(writer.expect("somebody reads"));
    assert_eq!(shop.posts(), 0);
}

/// A clock that is set forward once; real time goes on beside it.
struct SetForward {
    start: std::time::Instant,
    ahead: AtomicI64,
}

impl Clock for SetForward {
    fn now(&self) -> Timestamp {
        let real = Timestamp(1_800_000_000_000).plus(self.start.elapsed());
        Timestamp(real.0 + self.ahead.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Option<Duration> {
        Some(self.start.elapsed())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_clock_that_is_set_forward_ends_no_quiet_time() {
    let shop = Shop::open().await;
    let mut file = shop.tools();
    file["tools"]["write_once"]["requestLifetime"] = json!("1h");
    let clock = Arc::new(SetForward {
        start: std::time::Instant::now(),
        ahead: AtomicI64::new(0),
    });
    let log = Arc::new(MemoryLog::new());
    let options = Options {
        clock: clock.clone(),
        ..Options::default()
    };
    let scene = Scene {
        engine: open_with(log.clone(), &file, None, options).await,
        shop,
        log,
        clock: None,
    };
    scene.shop.feels(Mood::Refuses(500));
    let view = scene.submit("write_once", refund_of(100, "r1")).await;
    scene.until(view.action.id, Status::Unknown).await;
    clock.ahead.store(86_400_000, Ordering::SeqCst);
    scene.engine.wake();
    let before = scene.shop.books().checks;
    let asked = |view: &Versioned| matches!(view.action.phase, Phase::Unknown { checks, .. } if before + 2 < u64::from(checks));
    let ended = scene
        .until_that(view.action.id, |view| {
            asked(view) || 1 < view.action.attempts.len()
        })
        .await;
    assert_eq!(ended.action.status(), Status::Unknown);
    assert_eq!(scene.shop.posts(), 1, "the first one may still arrive");
}

/// Answers everything with a long success.
struct Talker(AtomicUsize);

#[async_trait]
impl Target for Talker {
    async fn call(&self, _outgoing: Outgoing) -> Result<Answer, CallError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Answer {
            status: 200,
            etag: None,
            body: Body::Whole(format!("\"{}\"", "z".repeat(60_000)).into_bytes()),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_the_largest_action_that_is_taken_can_be_carried_to_its_end() {
    let tools = json!({ "tools": { "file": {
        "safetyClass": "approval-bound", "summary": "File it",
        "execute": { "http": { "post": "https://shop.example/file", "form": { "note": "{note}" } } },
        "requestLifetime": "0s",
    } } });
    let target = Arc::new(Talker(AtomicUsize::new(0)));
    let options = Options {
        target: Some(target.clone()),
        ..Options::default()
    };
    let scene = scene_of(&tools, options).await;
    // Each byte takes one in the arguments and three in the form.
    let (mut taken_length, mut refused) = (0, 1 << 20);
    let mut largest = None;
    while taken_length + 1 < refused {
        let length = usize::midpoint(taken_length, refused);
        let wish = submission("file", json!({ "note": "/".repeat(length) }));
        match scene.engine.submit(&service(), wish).await {
            Err(SubmitError::Invalid(_)) => refused = length,
            other => {
                largest = Some(taken(other));
                taken_length = length;
            }
        }
    }
    let largest = largest.expect("something fits");
    let mut vote = ballot(&largest, Vote::Approve);
    vote.reason = Some("\u{1f600}".repeat(2000));
    let voted = scene.engine.vote(&alice(), largest.action.id, vote).await;
    voted.expect("a vote fits");
    scene.until(largest.action.id, Status::Succeeded).await;
    assert_eq!(target.0.load(Ordering::SeqCst), 1);
    assert!(scene.engine.ready().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_a_result_waits_for_room_on_the_disk_and_nobody_has_to_help() {
    let shop = Shop::open().await;
    let memory = Arc::new(MemoryLog::new());
    drop(open(memory.clone(), &shop.tools(), None).await);
    let log = Arc::new(FaultyLog::new(Arc::new(memory.reopen())));
    let engine = open(log.clone(), &shop.tools(), None).await;
    let wish = submission("write_once", refund_of(100, "r1"));
    // The submission and the commit record are stored, and then nothing for a long time.
    log.fail_for(2, 24, Fault::Full);
    let id = taken(engine.submit(&service(), wish).await).action.id;
    let scene = Scene {
        shop,
        engine,
        log: memory,
        clock: None,
    };
    scene.until(id, Status::Succeeded).await;
    assert!(scene.engine.ready().is_ok(), "it goes on");
    assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_42_a_rule_on_a_field_that_is_not_watched_holds_at_the_call_too() {
    let shop = Shop::open().await;
    let mut file = shop.tools();
    let tool = &mut file["tools"]["issue_refund"];
    tool["state"]["watch"] = json!(["/status"]);
    tool["approval"] = json!({ "rules": [
        { "when": "state.refundable_minor < 3000", "required": 2, "reason": "little is left" },
    ] });
    let log = Arc::new(MemoryLog::new());
    let scene = Scene {
        engine: open(log.clone(), &file, None).await,
        shop,
        log,
        clock: None,
    };
    let staged = scene.staged("issue_refund", 100).await;
    scene.shop.moves();
    scene.approve(&alice(), &staged).await;
    scene.until(staged.action.id, Status::ReplanRequired).await;
    assert_eq!(scene.shop.posts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn i14_a_label_of_the_tool_cannot_be_set_where_the_arguments_leave_it_out() {
    let tools = json!({ "tools": { "pay": {
        "safetyClass": "write-once-checkable", "labels": ["order_id"],
    } } });
    let scene = scene_of(&tools, Options::default()).await;
    let mut wish = submission("pay", json!({ "a": 1 }));
    wish.labels.insert("order_id".to_owned(), "8812".to_owned());
    let refused = scene.engine.submit(&service(), wish).await;
    assert!(
        matches!(refused, Err(SubmitError::Invalid(_))),
        "{refused:?}"
    );
}

/// A start on a full disk, after a stop that cut off one call.
async fn start_on_a_full_disk() -> (Scene, Arc<FaultyLog<MemoryLog>>, ActionId) {
    let scene = Scene::open().await;
    let id = scene.on_its_way().await;
    let Scene {
        shop, engine, log, ..
    } = scene;
    drop(engine);
    let full = Arc::new(FaultyLog::new(Arc::new(log.reopen())));
    full.fail_for(0, 2, Fault::Full);
    let scene = Scene {
        engine: open(Arc::clone(&full) as Arc<_>, &shop.tools(), None).await,
        shop,
        log,
        clock: None,
    };
    (scene, full, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_a_start_on_a_full_disk_reads_and_recovers_once_there_is_room() {
    let (scene, _, id) = start_on_a_full_disk().await;
    let waiting = scene.engine.get(&auditor(), id).expect("reads go on");
    assert_eq!(waiting.action.status(), Status::Executing);
    scene.until(id, Status::Succeeded).await;
    assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_a_read_that_fails_after_a_start_on_a_full_disk_does_not_end_the_engine() {
    const VIEWS: u8 = 1;
    const PATIENCE: Duration = Duration::from_mins(1);
    let (scene, log, id) = start_on_a_full_disk().await;
    log.fail_gets(Some(VIEWS), 1);
    let begun = Instant::now();
    while log.faults() < 3 {
        assert!(begun.elapsed() < PATIENCE, "nothing was read");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    scene.until(id, Status::Succeeded).await;
    assert_eq!(scene.engine.ready(), Ok(()));
    assert_eq!((scene.shop.posts(), scene.shop.done()), (1, 1));
}

//! Clocks that are set, in front of the engine and while it is down: what it may still conclude, and let go.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use holdpoint_engine::action::{Phase, Status};
use holdpoint_engine::engine::{Assignment, ClaimWish, Engine, Options, Submission, Versioned};
use holdpoint_engine::identity::Principal;
use holdpoint_engine::time::{Clock, Timestamp};
use holdpoint_storage::{EventLog as _, MemoryLog};
use serde_json::{Value, json};

use crate::world::{
    Mood, Scene, Shop, approver, auditor, open_with, operator, refund_of, service, submission,
    taken,
};

const MINUTE: Duration = Duration::from_mins(1);
const DAY_MS: i64 = 86_400_000;

/// A clock that can be set, beside one that nobody can set.
struct Hands {
    set: AtomicI64,
    steady: AtomicU64,
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.set.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.steady.load(Ordering::SeqCst)))
    }
}

/// A scene whose clock is these hands.
struct Timed {
    scene: Scene,
    hands: Arc<Hands>,
    tools: Value,
}

impl Timed {
    /// With a copy that may be on its way for a minute, and seconds between two tries.
    async fn open() -> Self {
        let shop = Shop::open().await;
        let mut tools = shop.tools();
        for name in ["write_once", "keeps_keys"] {
            tools["tools"][name]["requestLifetime"] = json!("60s");
            tools["tools"][name]["execute"]["retry"]["backoff"] = json!("1s..5s");
        }
        let hands = Arc::new(Hands {
            set: AtomicI64::new(1_800_000_000_000),
            steady: AtomicU64::new(0),
        });
        let log = Arc::new(MemoryLog::new());
        let engine = open_with(log.clone(), &tools, None, with(&hands)).await;
        let scene = Scene {
            shop,
            engine,
            log,
            clock: None,
        };
        Self {
            scene,
            hands,
            tools,
        }
    }

    /// The process dies, the clock is set by that much, and it starts again.
    async fn restart_with_the_clock_set_by(&mut self, milliseconds: i64) {
        let log = Arc::new(self.scene.log.reopen());
        self.scene.log = log.clone();
        self.hands.set.fetch_add(milliseconds, Ordering::SeqCst);
        self.scene.engine = open_with(log, &self.tools, None, with(&self.hands)).await;
    }

    fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).expect("a short time");
        self.hands.steady.fetch_add(millis, Ordering::SeqCst);
        let millis = i64::try_from(millis).expect("a short time");
        self.hands.set.fetch_add(millis, Ordering::SeqCst);
        self.scene.engine.wake();
    }

    /// The kinds of the events of all actions, and the times of all records.
    fn log(&self) -> (Vec<String>, Vec<i64>) {
        let records = self.scene.log.read_all(0, 1_000).expect("the records");
        let kinds = records.iter().map(|record| record.kind.clone());
        (
            kinds.collect(),
            records.iter().map(|record| record.time_ms).collect(),
        )
    }
}

fn with(hands: &Arc<Hands>) -> Options {
    Options {
        clock: hands.clone(),
        ..Options::default()
    }
}

async fn pulled(engine: &Engine) -> Option<Assignment> {
    let worker = Principal {
        scopes: ["work:pulled".to_owned()].into(),
        ..service()
    };
    let wish = ClaimWish {
        tools: vec!["pulled".to_owned()],
        wait: Duration::ZERO,
        lease: None,
        request_key: None,
    };
    engine.claim(&worker, wish).await.expect("a claim")
}

fn looks(view: &Versioned) -> u32 {
    if let Phase::Unknown { checks, .. } = view.action.phase {
        checks
    } else {
        0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_clock_set_forward_while_it_was_down_makes_no_not_found_count() {
    let mut timed = Timed::open().await;
    timed.scene.shop.feels(Mood::Refuses(500));
    let view = timed.scene.submit("write_once", refund_of(100, "r1")).await;
    let id = view.action.id;
    let known = timed.scene.until_that(id, |view| 0 < looks(view)).await;
    timed.restart_with_the_clock_set_by(DAY_MS).await;
    let mut seen = looks(&known);
    // By the clock, quiet time was over long ago; by the one that nobody can set it has to pass.
    // Each wait for the next look is twice as long as the one before.
    for seconds in [3, 5, 9, 17] {
        timed.pass(Duration::from_secs(seconds));
        let view = timed.scene.until_that(id, |view| seen < looks(view)).await;
        assert_eq!(view.action.status(), Status::Unknown);
        seen = looks(&view);
    }
    assert_eq!(timed.scene.shop.posts(), 1, "nothing is sent again yet");
    timed.scene.shop.feels(Mood::Kind);
    timed.pass(MINUTE);
    timed.scene.until(id, Status::Accepted).await;
    timed.pass(Duration::from_secs(6));
    timed.scene.until(id, Status::Succeeded).await;
    assert_eq!((timed.scene.shop.posts(), timed.scene.shop.done()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn i09_a_clock_set_forward_lets_nothing_leave_before_its_time() {
    let timed = Timed::open().await;
    let scene = &timed.scene;
    let held = scene.staged("held_refund", 100).await;
    for name in ["alice", "bob"] {
        scene.approve(&approver(name), &held).await;
    }
    let in_40_minutes = scene.engine.now().plus(40 * MINUTE);
    let mut waiting = Vec::new();
    for tool in ["write_once", "pulled"] {
        let later = Submission {
            not_before: Some(in_40_minutes),
            ..submission(tool, refund_of(100, "later"))
        };
        waiting.push(
            taken(scene.engine.submit(&service(), later).await)
                .action
                .id,
        );
    }
    timed.hands.set.fetch_add(45 * 60_000, Ordering::SeqCst);
    scene.engine.wake();
    assert!(pulled(&scene.engine).await.is_none());
    // By now the scheduler has looked at all that is due by the clock.
    let other = scene.submit("write_once", refund_of(100, "now")).await;
    scene.until(other.action.id, Status::Succeeded).await;
    timed.pass(MINUTE / 2);
    let sent = scene.until(held.action.id, Status::Succeeded).await;
    assert_eq!(sent.action.attempts[0].started_at, scene.engine.now());
    assert!(pulled(&scene.engine).await.is_none());
    let status = |id| {
        scene
            .engine
            .get(&auditor(), id)
            .expect("visible")
            .action
            .status()
    };
    assert_eq!(status(waiting[0]), Status::Accepted);
    timed.pass(40 * MINUTE);
    scene.until(waiting[0], Status::Succeeded).await;
    assert!(pulled(&scene.engine).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn i09_a_hold_is_waited_for_again_after_a_start_and_a_moment_is_not() {
    let mut timed = Timed::open().await;
    let held = timed.scene.staged("held_refund", 100).await;
    for name in ["alice", "bob"] {
        timed.scene.approve(&approver(name), &held).await;
    }
    let later = Submission {
        not_before: Some(timed.scene.engine.now().plus(5 * MINUTE)),
        ..submission("write_once", refund_of(100, "later"))
    };
    let later = taken(timed.scene.engine.submit(&service(), later).await);
    timed.restart_with_the_clock_set_by(10 * 60_000).await;
    timed.scene.until(later.action.id, Status::Succeeded).await;
    let by = approver("bob");
    let taken = timed.scene.engine.withdraw(&by, held.action.id, None).await;
    assert_eq!(taken.expect("in time").action.status(), Status::Staged);
    timed.scene.approve(&by, &held).await;
    timed.pass(MINUTE / 2);
    timed.scene.until(held.action.id, Status::Succeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_a_clock_set_back_while_it_was_down_leaves_what_would_be_sent_again_to_a_person() {
    for (set_by, sent_again) in [(0, true), (-DAY_MS, false)] {
        let mut timed = Timed::open().await;
        timed.scene.shop.feels(Mood::DoneThen(502));
        let view = timed.scene.submit("keeps_keys", refund_of(100, "r1")).await;
        let id = view.action.id;
        timed.scene.until(id, Status::Unknown).await;
        timed.restart_with_the_clock_set_by(set_by).await;
        timed.scene.shop.feels(Mood::Kind);
        timed.pass(Duration::from_secs(6));
        if sent_again {
            timed.scene.until(id, Status::Succeeded).await;
            assert_eq!((timed.scene.shop.posts(), timed.scene.shop.done()), (2, 1));
            continue;
        }
        let left = |view: &Versioned| view.action.due_at().is_none();
        let view = timed.scene.until_that(id, left).await;
        assert_eq!(view.action.status(), Status::Unknown);
        assert_eq!(timed.scene.shop.posts(), 1, "not sent again");
        let asked = timed.scene.engine.attention(&operator()).expect("readable");
        assert_eq!(asked.unknown_total, 1, "a person is asked");
        let tried = asked.unknown[0].why.tried.join("; ");
        assert!(tried.contains("behind the log at the start"), "{tried}");
        let settled = timed
            .scene
            .engine
            .settle(&operator(), id, true, "seen".into())
            .await;
        assert_eq!(settled.expect("settled").action.status(), Status::Succeeded);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i09_the_time_of_the_log_never_goes_back_whatever_the_clock_is_set_to() {
    let mut timed = Timed::open().await;
    let mut last = None;
    for (number, set_by) in [0, -DAY_MS, 3_600_000, -2 * DAY_MS].into_iter().enumerate() {
        timed.restart_with_the_clock_set_by(set_by).await;
        timed.hands.set.fetch_add(set_by, Ordering::SeqCst);
        timed.pass(Duration::from_secs(1));
        let wish = refund_of(1, &format!("r{number}"));
        let view = timed.scene.submit("issue_refund", wish).await;
        last = Some(view.action.id);
    }
    let (kinds, times) = timed.log();
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "action.staged").count(),
        4
    );
    assert!(times.is_sorted(), "{times:?}");
    let first = times.first().zip(times.last()).expect("records");
    assert!(first.0 < first.1, "it goes on: {times:?}");
    let view = timed
        .scene
        .engine
        .get(&auditor(), last.expect("four"))
        .expect("there");
    assert_eq!(
        view.action.status(),
        Status::Staged,
        "no deadline came by that"
    );
}

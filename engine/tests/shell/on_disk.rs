//! The main life on the real store, with a stop in every phase; each start finds what was there, and
//! builds the same indexes from the log alone (I6).

use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{ActionId, AttemptResult, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{Engine, SubmitError, Versioned};
use holdpoint_engine::full;
use holdpoint_storage::{Batch, Direction, Entries, EventLog, ScanRange, SledLog, SledOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{
    ManualClock, Mood, Shop, approver, auditor, ballot, open, refund_of, service, submission, taken,
};

struct House {
    folder: TempDir,
    log: Arc<SledLog>,
    engine: Engine,
    clock: Arc<ManualClock>,
    shop: Shop,
    tools: Value,
}

/// How it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// As it should.
    Stopped,
    /// As if the process had died.
    Dropped,
    /// As it should, and then the indexes are lost.
    WithoutIndexes,
}

impl House {
    async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let shop = Shop::open().await;
        let mut tools = shop.tools();
        tools["tools"]["held_refund"]["requestLifetime"] = json!("0s");
        tools["tools"]["write_once"]["execute"]["retry"]["attempts"] = json!(100);
        // Its clock runs fast here; what is on its way needs real time to arrive.
        tools["tools"]["write_once"]["requestLifetime"] = json!("10s");
        let log = Arc::new(open_log(&folder));
        let clock = ManualClock::new();
        let engine = open(log.clone(), &tools, Some(clock.clone())).await;
        Self {
            folder,
            log,
            engine,
            clock,
            shop,
            tools,
        }
    }

    async fn restart(self, end: End) -> Self {
        let Self {
            folder,
            log,
            engine,
            clock,
            shop,
            tools,
        } = self;
        // First where it ends: what is written while the indexes are read makes it end elsewhere.
        let position = log.stats().expect("figures").last_position;
        let before = indexes(log.as_ref());
        // What is counted follows what is durable by a moment, so it is compared once nothing moves.
        let counts = if end == End::Dropped {
            None
        } else {
            engine.shutdown(Duration::from_millis(100)).await;
            Some(engine.counts())
        };
        drop(engine);
        while 1 < Arc::strong_count(&log) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(log);
        let log = open_log(&folder);
        if end == End::WithoutIndexes {
            delete_indexes(&log).await;
        }
        let log = Arc::new(log);
        let engine = open(log.clone(), &tools, Some(clock.clone())).await;
        if log.stats().expect("figures").last_position == position {
            assert_eq!(indexes(log.as_ref()), before, "{end:?}");
            if let Some(counts) = counts {
                assert_eq!(engine.counts().by_status, counts.by_status, "{end:?}");
            }
        }
        Self {
            folder,
            log,
            engine,
            clock,
            shop,
            tools,
        }
    }

    /// Stops in every way, one after the other.
    async fn restarts(mut self) -> Self {
        for end in [End::Stopped, End::Dropped, End::WithoutIndexes] {
            self = self.restart(end).await;
        }
        self
    }

    async fn submit(&self, tool: &str, args: Value) -> Versioned {
        taken(self.engine.submit(&service(), submission(tool, args)).await)
    }

    async fn vote(&self, by: &str, id: ActionId, vote: Vote) -> Status {
        let ballot = ballot(&self.now(id), vote);
        let voted = self.engine.vote(&approver(by), id, ballot).await;
        voted.expect("a vote").action.status()
    }

    fn now(&self, id: ActionId) -> Versioned {
        self.engine.get(&auditor(), id).expect("visible")
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.engine.wake();
    }

    async fn until(&self, id: ActionId, status: Status) -> Versioned {
        let mut known = 0;
        loop {
            let patience = Duration::from_secs(30);
            let view = self.engine.wait(&auditor(), id, known, patience).await;
            let view = view.expect("visible");
            if view.action.status() == status {
                return view;
            }
            assert_ne!(
                view.version, known,
                "nothing happens any more: {:?}",
                view.action
            );
            known = view.version;
        }
    }
}

fn open_log(folder: &TempDir) -> SledLog {
    let options = SledOptions {
        reserve_bytes: 0,
        ..SledOptions::default()
    };
    SledLog::open(folder.path(), &options).expect("a log")
}

fn content(log: &dyn EventLog, index: u8) -> Entries {
    log.scan(index, ScanRange::default(), 100_000, Direction::Forward)
        .expect("a scan")
}

fn indexes(log: &dyn EventLog) -> [Entries; 2] {
    [content(log, 1), content(log, 2)]
}

async fn delete_indexes(log: &dyn EventLog) {
    for index in 1..=19 {
        let deletes = content(log, index)
            .into_iter()
            .map(|(key, _)| (index, key))
            .collect();
        let batch = Batch {
            deletes,
            ..Batch::default()
        };
        log.append(batch).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_i23_a_life_on_disk_survives_a_stop_in_every_phase() {
    let mut house = House::open().await;
    let id = house
        .submit("held_refund", refund_of(1200, "r1"))
        .await
        .action
        .id;
    house = house.restarts().await;
    assert_eq!(house.vote("alice", id, Vote::Approve).await, Status::Staged);
    house = house.restarts().await;
    assert_eq!(house.now(id).action.approval.expect("one").votes.len(), 1);
    assert_eq!(house.vote("bob", id, Vote::Approve).await, Status::Approved);
    house = house.restarts().await;
    assert_eq!(house.shop.posts(), 0, "it is held");
    house.shop.feels(Mood::DoneThenSilent);
    house.pass(Duration::from_secs(31));
    house.until(id, Status::Executing).await;
    house.shop.was_asked().await;
    house = house.restart(End::Dropped).await;
    assert_eq!(house.now(id).action.status(), Status::Unknown);
    house = house.restarts().await;
    assert_eq!(house.now(id).action.status(), Status::Unknown);
    house.pass(Duration::from_mins(1));
    let done = house.until(id, Status::Succeeded).await;
    house = house.restarts().await;
    assert_eq!(house.now(id), done);
    assert_eq!((house.shop.posts(), house.shop.done()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_every_end_on_disk_is_the_same_after_a_start() {
    let mut house = House::open().await;
    let mut ends = Vec::new();
    let paid = house
        .submit("write_once", refund_of(0, "r0"))
        .await
        .action
        .id;
    ends.push((paid, Status::Succeeded));
    let no = house
        .submit("issue_refund", refund_of(10, "r1"))
        .await
        .action
        .id;
    house.vote("alice", no, Vote::Reject).await;
    ends.push((no, Status::Rejected));
    let back = house
        .submit("issue_refund", refund_of(10, "r2"))
        .await
        .action
        .id;
    let cancelled = house.engine.cancel(&service(), back, None).await;
    cancelled.expect("cancelled");
    ends.push((back, Status::Cancelled));
    let moved = house
        .submit("issue_refund", refund_of(10, "r3"))
        .await
        .action
        .id;
    let again = house
        .submit("restaged_refund", refund_of(10, "r4"))
        .await
        .action
        .id;
    house.shop.moves();
    house.vote("alice", moved, Vote::Approve).await;
    ends.push((moved, Status::ReplanRequired));
    house.vote("alice", again, Vote::Approve).await;
    house
        .engine
        .wait(&auditor(), again, 3, Duration::from_secs(30))
        .await
        .expect("visible");
    let mut stranger = service();
    stranger.scopes.clear();
    let wish = submission("issue_refund", refund_of(10, "r5"));
    match house.engine.submit(&stranger, wish).await {
        Err(SubmitError::Refused { action }) => ends.push((action.action.id, Status::Refused)),
        other => panic!("{other:?}"),
    }
    house.shop.feels(Mood::Refuses(400));
    let failed = house
        .submit("write_once", refund_of(0, "r6"))
        .await
        .action
        .id;
    ends.push((failed, Status::Failed));
    for (id, status) in &ends {
        house.until(*id, *status).await;
    }
    let late = house
        .submit("issue_refund", refund_of(10, "r7"))
        .await
        .action
        .id;
    house.submit("pulled", json!({ "a": 1 })).await;
    house = house.restarts().await;
    let restaged = house.now(again).action;
    assert_eq!((restaged.status(), restaged.revision), (Status::Staged, 2));
    house.pass(Duration::from_hours(24 * 30));
    house.until(late, Status::Expired).await;
    house.until(again, Status::Expired).await;
    ends.extend([(late, Status::Expired), (again, Status::Expired)]);
    house = house.restarts().await;
    for (id, status) in ends {
        assert_eq!(house.now(id).action.status(), status);
    }
    assert_eq!(house.shop.done(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i01_a_stop_at_every_moment_of_many_lives_sends_nothing_twice() {
    let mut house = House::open().await;
    let mut ids = Vec::new();
    for round in 0..8 {
        for number in 0..6 {
            let reference = format!("r{round}-{number}");
            let view = house.submit("write_once", refund_of(0, &reference)).await;
            ids.push(view.action.id);
        }
        // Somewhere in the middle of them.
        tokio::time::sleep(Duration::from_millis(round * 3)).await;
        house = house.restart(End::Dropped).await;
    }
    for id in ids {
        loop {
            let view = house.now(id);
            if view.action.status().is_final() {
                assert_eq!(view.action.status(), Status::Succeeded);
                assert_eq!(
                    view.action.attempts.last().expect("one").result,
                    Some(AttemptResult::Done)
                );
                break;
            }
            house.pass(Duration::from_secs(1));
            let patience = Duration::from_millis(50);
            let waited = house
                .engine
                .wait(&auditor(), id, view.version, patience)
                .await;
            waited.expect("visible");
        }
    }
    let books = house.shop.books();
    assert_eq!(books.refunds.len(), 48, "each took effect");
    let mut keys: Vec<_> = books
        .posts
        .iter()
        .map(|(headers, _)| headers["idempotency-key"].clone())
        .collect();
    keys.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    keys.dedup();
    assert_eq!(keys.len(), 48);
    assert_eq!(books.posts.len(), 48, "and was sent once");
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_on_a_full_disk_the_engine_is_not_ready_and_its_refusal_says_why() {
    let House {
        folder,
        log,
        engine,
        tools,
        ..
    } = House::open().await;
    engine.ready().expect("there is room");
    engine.shutdown(Duration::from_millis(100)).await;
    drop(engine);
    while 1 < Arc::strong_count(&log) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(log);
    let options = SledOptions {
        reserve_bytes: 0,
        // No disk has so much.
        free_bytes_min: u64::MAX,
        ..SledOptions::default()
    };
    let log = SledLog::open(folder.path(), &options).expect("it can be read");
    let engine = open(Arc::new(log), &tools, None).await;
    assert_eq!(engine.ready(), Err(full::WORDS.to_owned()));
    let refused = engine
        .submit(&service(), submission("held_refund", refund_of(1200, "r1")))
        .await;
    let Err(SubmitError::Unavailable(cause)) = refused else {
        panic!("{refused:?}")
    };
    assert!(full::is_full(cause.as_ref()), "{cause}");
}

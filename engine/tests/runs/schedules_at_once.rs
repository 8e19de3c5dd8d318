//! Schedules of which two things are wanted at once, or whose time comes in odd ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::run::{NewOrigin, RunStatus};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{AppendError, Appended, Batch, EventLog, MemoryLog, Record, forward_reads};
use serde_json::json;

use crate::schedules::{House, waiting};

const EACH_HOUR: &str = "0 * * * *";

/// A log that takes a moment, as a disk does, and has no room for the first note that a run was started
/// where it is told to.
struct Odd {
    inner: Arc<MemoryLog>,
    refuses: AtomicBool,
}

#[async_trait]
impl EventLog for Odd {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut records = batch.streams.iter().flat_map(|stream| &stream.records);
        let is_note = records.any(|record| record.kind == "schedule.fired");
        if is_note && self.refuses.swap(false, Ordering::SeqCst) {
            let reason = "no room".to_owned();
            return Err(AppendError::Full { reason });
        }
        self.inner.append(batch).await
    }
    forward_reads!(self => self.inner);
    async fn restore(&self, records: Vec<Record>) -> Result<(), AppendError> {
        self.inner.restore(records).await
    }
    fn confirm_origin(&self) -> std::io::Result<()> {
        self.inner.confirm_origin()
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}

async fn odd(refuses: bool) -> House {
    let inner = Arc::new(MemoryLog::new());
    let odd = Odd {
        inner: inner.clone(),
        refuses: AtomicBool::new(refuses),
    };
    House::on(inner, Arc::new(odd)).await
}

fn loops() -> NewOrigin {
    NewOrigin::Code {
        name: "loops".to_owned(),
        version: None,
        input: json!(0),
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_as_a_new_one_still_goes_on_for_its_schedule() {
    let house = House::open().await;
    let id = house.make(loops(), EACH_HOUR, false).await.schedule.id;
    let waits = |house: &House| {
        house
            .runs()
            .iter()
            .any(|run| run.status == RunStatus::Waiting)
    };
    house.pass(Duration::from_hours(1));
    house.until_so(waits).await;
    house.pass(Duration::from_hours(1));
    assert!(house.skipped(id).await.contains("still goes on"));
    let by_hand = house.engine.run_schedule(&house.by, id).await;
    let words = by_hand.expect_err("one goes on").to_string();
    assert!(words.contains("still goes on"), "{words}");
    assert_eq!(house.runs().len(), 2, "the first and what it goes on as");
}

#[tokio::test(start_paused = true)]
async fn of_two_who_want_a_run_at_once_one_gets_it() {
    let house = odd(false).await;
    let id = house.make(waiting(), EACH_HOUR, false).await.schedule.id;
    let run = || house.engine.run_schedule(&house.by, id);
    let (first, second) = tokio::join!(run(), run());
    assert!(first.is_ok() && second.is_err());
    assert_eq!(house.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_is_deleted_meanwhile_starts_nothing() {
    let house = odd(false).await;
    let id = house.make(waiting(), EACH_HOUR, false).await.schedule.id;
    let (deleted, run) = tokio::join!(
        house.engine.delete_schedule(&house.by, id, "gone"),
        house.engine.run_schedule(&house.by, id)
    );
    deleted.expect("it is deleted");
    assert!(run.is_err());
    assert_eq!(house.runs().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_start_could_not_be_noted_is_still_the_one_that_goes_on() {
    let house = odd(true).await;
    let id = house.make(waiting(), EACH_HOUR, false).await.schedule.id;
    house.pass(Duration::from_hours(1));
    house.until(1, RunStatus::Waiting).await;
    house.pass(Duration::from_hours(1));
    assert!(house.skipped(id).await.contains("still goes on"));
    assert_eq!(house.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_due_begins_also_where_nobody_says_that_the_clock_was_set() {
    let house = House::open().await;
    house.make(waiting(), EACH_HOUR, false).await;
    house.pass_unseen(Duration::from_hours(2));
    house.until_so(|house| !house.runs().is_empty()).await;
    house.until(1, RunStatus::Waiting).await;
    assert_eq!(house.runs()[0].name, "waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_nobody_is_told_that_a_schedule_is_paused_after_a_resumption_of_unknown_outcome() {
    let log = Arc::new(MemoryLog::new());
    let faulty = Arc::new(FaultyLog::new(Arc::clone(&log)));
    let house = House::on(log, faulty.clone()).await;
    let made = house.make(waiting(), EACH_HOUR, false).await;
    let (engine, by, id) = (&house.engine, &house.by, made.schedule.id);
    engine
        .pause_schedule(by, id, "a move")
        .await
        .expect("paused");

    // It is in the log, and nobody knows.
    faulty.fail_after(0, Fault::CrashAfter);
    assert!(engine.resume_schedule(by, id).await.is_err());
    assert!(engine.pause_schedule(by, id, "not yet").await.is_err());
}

//! The suite that every [`EventLog`] passes, and random histories to compare two of them with.
//!
//! It panics, as a test does, where a promise of [`EventLog`] is broken.

#![expect(
    clippy::missing_panics_doc,
    reason = "a failed check panics; that is what it is for"
)]

mod appends;
pub mod history;
mod readers;
mod scans;

use std::sync::Arc;

use crate::batch::{Batch, Claim, IndexPut, StreamAppend};
use crate::log::{AppendError, Appended, EventLog};
use crate::record::{NewRecord, StreamId, Version};

/// A log under test.
pub type Log = Arc<dyn EventLog>;

/// Checks every promise, each on a new empty log from `make`.
///
/// Needs a tokio runtime of several threads, so that writers meet.
pub async fn all(make: impl AsyncFn() -> Log) {
    appends::positions_and_versions_are_dense(make().await).await;
    appends::records_of_a_batch_are_adjacent_and_in_order(make().await).await;
    appends::a_conflict_writes_nothing(make().await).await;
    appends::a_taken_claim_writes_nothing(make().await).await;
    appends::claims_can_be_released_and_handed_over(make().await).await;
    appends::an_append_without_records_checks_the_version(make().await).await;
    appends::time_never_goes_back(make().await).await;
    appends::bounds_are_refused(make().await).await;
    appends::large_values_survive_and_shrink(make().await).await;
    appends::one_of_many_rivals_wins(make().await).await;
    appends::the_log_is_dense_and_chained_under_concurrent_writers(make().await).await;
    readers::streams_are_read_in_pages(make().await).await;
    readers::the_log_is_read_in_pages(make().await).await;
    readers::every_writer_reads_its_writes(make().await).await;
    readers::subscribers_get_everything_once(make().await).await;
    readers::a_subscriber_of_the_past_catches_up(make().await).await;
    readers::nothing_is_torn_apart_for_readers(make().await).await;
    readers::closing_ends_appends_and_subscriptions(make().await).await;
    scans::scans_go_both_ways_within_bounds(make().await).await;
    scans::pages_put_together_give_the_whole(make().await).await;
    scans::indexes_are_apart(make().await).await;
    scans::puts_replace_and_deletes_remove(make().await).await;
}

pub(crate) fn stream(name: &str) -> StreamId {
    StreamId::new(name).expect("a valid name")
}

pub(crate) fn record(kind: &str, body: &[u8]) -> NewRecord {
    NewRecord {
        time_ms: 1,
        actor: "tester".into(),
        kind: kind.into(),
        body: body.to_vec(),
    }
}

/// A batch with one record per name in `kinds`, for one stream.
pub(crate) fn append(name: &str, expected: Version, kinds: &[&str]) -> Batch {
    let records = kinds
        .iter()
        .map(|kind| record(kind, kind.as_bytes()))
        .collect();
    let streams = vec![StreamAppend {
        stream: stream(name),
        expected,
        records,
    }];
    Batch {
        streams,
        ..Batch::default()
    }
}

pub(crate) fn put(index: u8, key: &[u8], value: &[u8]) -> IndexPut {
    IndexPut {
        index,
        key: key.to_vec(),
        value: value.to_vec(),
    }
}

pub(crate) fn claim(key: &[u8], value: &[u8]) -> Claim {
    Claim {
        key: key.to_vec(),
        value: value.to_vec(),
    }
}

pub(crate) async fn applied(log: &dyn EventLog, batch: Batch) -> Appended {
    log.append(batch).await.expect("the batch is applied")
}

pub(crate) async fn refused(log: &dyn EventLog, batch: Batch) -> AppendError {
    log.append(batch).await.expect_err("the batch is refused")
}

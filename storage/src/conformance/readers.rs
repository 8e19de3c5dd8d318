//! What readers and subscribers see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Log, append, applied, put, refused, stream};
use crate::log::{AppendError, Direction, ScanRange};

pub(super) async fn streams_are_read_in_pages(log: Log) {
    for version in 0..300 {
        let mut batch = append("long", version, &["step"]);
        batch
            .streams
            .extend(append("other", version, &["step"]).streams);
        applied(&*log, batch).await;
    }
    let subject = stream("long");
    for page in [1, 7, 128, 129, 1000] {
        let mut after = 0;
        loop {
            let records = log.read_stream(&subject, after, page).expect("reads");
            let Some(last) = records.last() else { break };
            assert!(records.len() <= page);
            assert!(
                records
                    .iter()
                    .map(|found| found.version)
                    .eq(after + 1..=last.version)
            );
            assert!(records.iter().all(|found| found.stream == subject));
            after = last.version;
        }
        assert_eq!(after, 300);
    }
    assert!(log.read_stream(&subject, 300, 5).expect("reads").is_empty());
    assert!(
        log.read_stream(&subject, u64::MAX, 5)
            .expect("reads")
            .is_empty()
    );
    assert!(log.read_stream(&subject, 0, 0).expect("reads").is_empty());
    assert!(
        log.read_stream(&stream("lon"), 0, 5)
            .expect("reads")
            .is_empty()
    );
}

pub(super) async fn the_log_is_read_in_pages(log: Log) {
    for version in 0..10 {
        applied(&*log, append("a", version, &["x", "y", "z"][..1])).await;
    }
    let positions = |after, limit| -> Vec<_> {
        let records = log.read_all(after, limit).expect("reads");
        records.iter().map(|found| found.position).collect()
    };
    assert_eq!(positions(0, 3), [1, 2, 3]);
    assert_eq!(positions(8, 3), [9, 10]);
    assert!(positions(10, 3).is_empty());
    assert!(positions(u64::MAX, 3).is_empty());
    assert!(positions(0, 0).is_empty());
}

pub(super) async fn every_writer_reads_its_writes(log: Log) {
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let own = format!("writer/{writer}");
                for version in 0..20u64 {
                    let mut batch = append(&own, version, &["step"]);
                    batch
                        .puts
                        .push(put(3, own.as_bytes(), &version.to_be_bytes()));
                    let done = applied(&*log, batch).await;
                    let reads = || -> Result<_, crate::log::ReadError> {
                        let version = log.stream_version(&stream(&own))?;
                        let entry = log.get(3, own.as_bytes())?;
                        Ok((version, entry, log.read_all(done.first - 1, 1)?))
                    };
                    let (now, entry, records) = reads().expect("reads");
                    assert_eq!(now, version + 1);
                    assert_eq!(entry, Some(version.to_be_bytes().to_vec()));
                    assert_eq!(records[0].version, version + 1);
                    assert_eq!(records[0].stream.as_str(), own);
                    assert!(done.last <= log.stats().expect("stats").last_position);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no panic");
    }
}

pub(super) async fn subscribers_get_everything_once(log: Log) {
    const RECORDS: u64 = 16 * 25;
    let subscribers: Vec<_> = (0..4u64)
        .map(|number| {
            let after = number * 50;
            let mut subscription = log.subscribe(after);
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let mut last = after;
                while last < RECORDS {
                    let records = subscription.next().await.expect("open").expect("reads");
                    for found in records {
                        assert_eq!(
                            found.position,
                            last + 1,
                            "nothing skipped, nothing repeated"
                        );
                        last = found.position;
                    }
                    assert!(last <= log.stats().expect("stats").last_position);
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                for version in 0..25 {
                    applied(&*log, append(&format!("w{writer}"), version, &["step"])).await;
                }
            })
        })
        .collect();
    for task in writers.into_iter().chain(subscribers) {
        task.await.expect("no panic");
    }
}

pub(super) async fn a_subscriber_of_the_past_catches_up(log: Log) {
    for version in 0..40 {
        applied(&*log, append("a", version * 20, &["x"; 20])).await;
    }
    let mut subscription = log.subscribe(10);
    let mut last = 10;
    while last < 800 {
        for found in subscription.next().await.expect("open").expect("reads") {
            assert_eq!(found.position, last + 1);
            last = found.position;
        }
    }
    applied(&*log, append("a", 800, &["new"])).await;
    let records = subscription.next().await.expect("open").expect("reads");
    assert_eq!(
        records
            .iter()
            .map(|found| found.position)
            .collect::<Vec<_>>(),
        [801]
    );
}

/// Each batch sets two entries to the same number: no reader may ever see them differ, nor an entry
/// whose record it cannot read.
pub(super) async fn nothing_is_torn_apart_for_readers(log: Log) {
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (log, done) = (Arc::clone(&log), Arc::clone(&done));
        tokio::task::spawn_blocking(move || {
            let prefix = ScanRange {
                prefix: b"pair/",
                ..ScanRange::default()
            };
            while !done.load(Ordering::Relaxed) {
                let pair = log.scan(4, prefix, 10, Direction::Forward).expect("reads");
                let [(_, left), (_, right)] = pair.as_slice() else {
                    assert!(pair.is_empty(), "half a batch is visible");
                    continue;
                };
                assert_eq!(left, right, "two batches are mixed");
                let version = u64::from_be_bytes(left.as_slice().try_into().expect("eight bytes"));
                let records = log
                    .read_stream(&stream("a"), version - 1, 1)
                    .expect("reads");
                assert_eq!(records.len(), 1, "an index entry is ahead of the log");
            }
        })
    };
    for version in 0..200u64 {
        let mut batch = append("a", version, &["step"]);
        let value = (version + 1).to_be_bytes();
        batch
            .puts
            .extend([put(4, b"pair/left", &value), put(4, b"pair/right", &value)]);
        applied(&*log, batch).await;
    }
    done.store(true, Ordering::Relaxed);
    reader.await.expect("no panic");
}

pub(super) async fn closing_ends_appends_and_subscriptions(log: Log) {
    applied(&*log, append("a", 0, &["one"])).await;
    let mut subscription = log.subscribe(0);
    assert_eq!(
        subscription
            .next()
            .await
            .expect("open")
            .expect("reads")
            .len(),
        1
    );
    let waiting = tokio::spawn(async move { subscription.next().await.is_none() });
    log.close().await;
    assert!(
        waiting.await.expect("no panic"),
        "a waiting subscription ends"
    );
    assert!(matches!(
        refused(&*log, append("a", 1, &["two"])).await,
        AppendError::Stopped { .. }
    ));
    log.close().await; // Twice is no error.
}

//! Figures about the log on disk; run by hand, on a release build:
//! `cargo test -p holdpoint-storage --release --test throughput -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use holdpoint_storage::{
    Batch, EventLog, IndexPut, NewRecord, SledLog, SledOptions, StreamAppend, StreamId,
};

/// One record of 400 bytes and three index entries, as an event of an action has; a new stream
/// every eight.
fn batch(writer: u64, number: u64) -> Batch {
    let stream = StreamId::new(format!("action/{writer:08x}{:08x}", number / 8)).expect("a name");
    let record = NewRecord {
        time_ms: 1,
        actor: "per_0190c7e2".into(),
        kind: "action.staged".into(),
        body: vec![b'x'; 336],
    };
    let put = |index: u8, value: Vec<u8>| {
        let key = [writer.to_be_bytes(), number.to_be_bytes()].concat();
        IndexPut { index, key, value }
    };
    let append = StreamAppend {
        stream,
        expected: number % 8,
        records: vec![record],
    };
    let puts = vec![
        put(1, vec![b'v'; 64]),
        put(2, Vec::new()),
        put(3, Vec::new()),
    ];
    Batch {
        streams: vec![append],
        puts,
        ..Batch::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a while, and says something on a release build only"]
async fn figures() {
    for (writers, each) in [(1, 5_000), (64, 1_000), (256, 400)] {
        let folder = tempfile::tempdir().expect("a folder");
        let log = SledLog::open(folder.path(), &SledOptions::default()).expect("opens");
        let log = Arc::new(log);
        let start = Instant::now();
        let tasks: Vec<_> = (0..writers)
            .map(|writer| {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    for number in 0..each {
                        log.append(batch(writer, number)).await.expect("appends");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        let took = start.elapsed();
        let stats = log.stats().expect("stats");
        println!(
            "{writers} writers: {} appends in {took:.2?}, {} a second, {} a sync, {} bytes a record",
            stats.records,
            u128::from(stats.records) * 1_000_000 / took.as_micros().max(1),
            stats.batches / stats.syncs.max(1),
            stats.bytes_per_record(),
        );
        let start = Instant::now();
        let mut after = 0;
        while let Some(last) = log.read_all(after, 256).expect("reads").last() {
            after = last.position;
        }
        println!(
            "{after} records read and checked in {:.2?}",
            start.elapsed()
        );
    }
}

//! The device by itself, and appends to a log on it.
//!
//! `holdpoint bench` and `cargo bench --bench append` both measure with this file, so it knows
//! nothing of the program around it.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdpoint_storage::{
    Batch, EventLog, IndexPut, NewRecord, SledLog, SledOptions, StreamAppend, StreamId,
};

use super::rate::Rate;

/// The body of a record, in bytes: that of a typical event.
const BODY_BYTES: usize = 400;

/// Index entries written with each record: as many as an event of an action brings along.
const PUTS: u8 = 3;

/// The value of an index entry, in bytes.
const PUT_BYTES: usize = 64;

/// What appending gave.
pub(super) struct Appends {
    /// Acknowledged appends.
    pub(super) rate: Rate,
    /// How many of them shared a sync of the device.
    pub(super) per_sync: f64,
    /// How much the log grew by each, index entries included.
    pub(super) bytes_per_record: u64,
}

/// How long it takes to bring 4 KiB at the end of a growing file to the device (`fdatasync`), one
/// after another, for so long and at most so often.
pub(super) fn syncs(folder: &Path, time: Duration, count: usize) -> io::Result<Vec<Duration>> {
    let path = folder.join("sync");
    let mut file = std::fs::File::create(&path)?;
    file.sync_all()?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < time && times.len() < count {
        let begin = Instant::now();
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    drop(file);
    std::fs::remove_file(&path)?;
    Ok(times)
}

/// Durable appends to a new log in `folder` by so many writers at once, each to a stream of its
/// own, for so long and at most so often.
pub(super) async fn appends(
    folder: &Path,
    writers: u64,
    time: Duration,
    count: u64,
) -> io::Result<Appends> {
    let log = SledLog::open(folder, &SledOptions::default()).map_err(io::Error::other)?;
    let log: Arc<dyn EventLog> = Arc::new(log);
    let before = log.stats().map_err(io::Error::other)?;
    let (start, most) = (Instant::now(), count / writers.max(1));
    let tasks: Vec<_> = (0..writers)
        .map(|writer| tokio::spawn(write(Arc::clone(&log), writer, start, time, most)))
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    let rate = Rate {
        count,
        time: start.elapsed(),
    };
    let after = log.stats().map_err(io::Error::other)?;
    log.close().await;
    let syncs = Rate {
        count: after.syncs.saturating_sub(before.syncs).max(1),
        time: rate.time,
    };
    let grown = after.bytes.saturating_sub(before.bytes);
    Ok(Appends {
        rate,
        per_sync: rate.per_second() / syncs.per_second(),
        bytes_per_record: grown.checked_div(count).unwrap_or(0),
    })
}

/// One writer: how many appends it did.
async fn write(
    log: Arc<dyn EventLog>,
    writer: u64,
    start: Instant,
    time: Duration,
    most: u64,
) -> io::Result<u64> {
    let stream = StreamId::new(format!("bench/{writer}"))
        .ok_or_else(|| io::Error::other("a stream has no name"))?;
    let mut count = 0;
    while start.elapsed() < time && count < most {
        let record = NewRecord {
            time_ms: 0,
            actor: "bench".to_owned(),
            kind: "bench.written".to_owned(),
            body: vec![7; BODY_BYTES],
        };
        let put = |index| IndexPut {
            index,
            key: format!("{writer}/{count}").into_bytes(),
            value: vec![index; PUT_BYTES],
        };
        let batch = Batch {
            streams: vec![StreamAppend {
                stream: stream.clone(),
                expected: count,
                records: vec![record],
            }],
            puts: (0..PUTS).map(put).collect(),
            ..Batch::default()
        };
        log.append(batch).await.map_err(io::Error::other)?;
        count += 1;
    }
    Ok(count)
}

//! The device by itself, and appends to a log on it.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use holdpoint_storage::{Batch, EventLog, NewRecord, SledLog, SledOptions, StreamAppend, StreamId};

use super::Bounds;
use super::figures::Rate;
use crate::data;
use crate::failure::{Failure, Outcome};

/// The body of a record, in bytes: that of a typical event.
const BODY_BYTES: usize = 400;

/// How often a second 4 KiB can be brought to the device, one after another.
pub(super) fn syncs(folder: &Path, bounds: Bounds) -> Outcome<Rate> {
    let failed = |error: std::io::Error| Failure::because("cannot write to the disk", &error);
    let mut file = std::fs::File::create(folder.join("sync")).map_err(failed)?;
    // The file has its length before, so that only data is synced.
    file.write_all(&vec![0; 1024 * 1024]).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < bounds.time && count < bounds.count {
        file.seek(SeekFrom::Start(count % 256 * 4096))
            .map_err(failed)?;
        file.write_all(&[1; 4096]).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        count += 1;
    }
    Ok(Rate {
        count,
        time: start.elapsed(),
    })
}

/// Durable appends by so many writers at once, and how many of them share a sync.
pub(super) async fn appends(folder: &Path, writers: usize, bounds: Bounds) -> Outcome<(Rate, f64)> {
    let log =
        SledLog::open(folder, &SledOptions::default()).map_err(|error| data::refused(&error))?;
    let log: Arc<dyn EventLog> = Arc::new(log);
    let before = log
        .stats()
        .map_err(|error| Failure::because("the log cannot be read", &error))?;
    let start = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| tokio::spawn(write(Arc::clone(&log), writer, writers, start, bounds)))
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task
            .await
            .map_err(|error| Failure::because("a writer was lost", &error))??;
    }
    let time = start.elapsed();
    let after = log
        .stats()
        .map_err(|error| Failure::because("the log cannot be read", &error))?;
    log.close().await;
    let syncs = after.syncs.saturating_sub(before.syncs).max(1);
    let per_sync = Rate { count, time }.per_second() / (Rate { count: syncs, time }.per_second());
    Ok((Rate { count, time }, per_sync))
}

async fn write(
    log: Arc<dyn EventLog>,
    writer: usize,
    writers: usize,
    start: Instant,
    bounds: Bounds,
) -> Outcome<u64> {
    let most = bounds.count / u64::try_from(writers).unwrap_or(1);
    let name = format!("bench/{writer}");
    let stream = StreamId::new(name).ok_or_else(|| Failure::failed("a stream has no name"))?;
    let mut count = 0;
    while start.elapsed() < bounds.time && count < most {
        let record = NewRecord {
            time_ms: 0,
            actor: "bench".to_owned(),
            kind: "bench.written".to_owned(),
            body: vec![7; BODY_BYTES],
        };
        let batch = Batch {
            streams: vec![StreamAppend {
                stream: stream.clone(),
                expected: count,
                records: vec![record],
            }],
            ..Batch::default()
        };
        log.append(batch)
            .await
            .map_err(|error| Failure::because("an append failed", &error))?;
        count += 1;
    }
    Ok(count)
}

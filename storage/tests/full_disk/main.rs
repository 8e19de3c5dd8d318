//! A full disk, on a small file system in memory. Needs the rights to mount.

mod small;

use std::fs;

use holdpoint_storage::verify::verify_chain;
use holdpoint_storage::{
    AppendError, Batch, EventLog, NewRecord, SledLog, SledOptions, StreamAppend, StreamId,
};

use small::{MIB, Small};

fn last(log: &dyn EventLog) -> u64 {
    log.stats().expect("stats").last_position
}

async fn append(log: &dyn EventLog) -> Result<(), AppendError> {
    let record = NewRecord {
        time_ms: 1,
        actor: "a".into(),
        kind: "k".into(),
        body: vec![7; 100_000],
    };
    let stream = StreamId::new("s").expect("a name");
    let append = StreamAppend {
        stream,
        expected: last(log),
        records: vec![record],
    };
    log.append(Batch {
        streams: vec![append],
        ..Batch::default()
    })
    .await
    .map(drop)
}

/// Appends until it is refused; the appends that went well, and why it was refused.
async fn append_until_refused(log: &dyn EventLog) -> (u64, AppendError) {
    for done in 0..10_000 {
        if let Err(error) = append(log).await {
            return (done, error);
        }
    }
    panic!("the disk never fills up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "mounts a file system; scripts/test runs it where that may be done"]
async fn i23_a_full_disk_refuses_work_and_can_be_opened_again() {
    let root = tempfile::tempdir().expect("a folder");
    let disk = Small::mount(root.path(), 96);
    let path = root.path().join("log");
    let options = SledOptions {
        free_bytes_min: 12 * MIB,
        reserve_bytes: 8 * MIB,
        ..SledOptions::default()
    };
    let open = || SledLog::open(&path, &options).expect("opens");

    let log = open();
    assert_eq!(
        fs::metadata(path.join("reserve")).expect("set aside").len(),
        8 * MIB
    );
    let (done, error) = append_until_refused(&log).await;
    assert!(matches!(error, AppendError::Full { .. }), "{error}");
    assert!(
        matches!(append(&log).await, Err(AppendError::Full { .. })),
        "full, not stopped"
    );
    assert_eq!(last(&log), done);
    let filler = disk.fill();
    drop(log);

    let log = open();
    assert!(!path.join("reserve").exists(), "the reserve was given back");
    assert_eq!(
        verify_chain(&log, 0, u64::MAX).expect("whole").records,
        done
    );
    assert!(matches!(append(&log).await, Err(AppendError::Full { .. })));

    fs::remove_file(filler).expect("removes");
    disk.grow(200);
    append(&log)
        .await
        .expect("there is room again, without opening it again");
    append(&log).await.expect("goes on");
    assert!(
        path.join("reserve").exists(),
        "and the reserve was set aside again, so that the next full disk keeps nobody from a start"
    );
    let filler = disk.fill();
    drop(log);
    assert_eq!(last(&open()), done + 2);
    fs::remove_file(filler).expect("removes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "mounts a file system; scripts/test runs it where that may be done"]
async fn i22_a_write_that_fails_stops_the_log_and_loses_nothing_acknowledged() {
    let root = tempfile::tempdir().expect("a folder");
    let disk = Small::mount(root.path(), 24);
    let path = root.path().join("log");
    let options = SledOptions {
        free_bytes_min: 0,
        reserve_bytes: 0,
        ..SledOptions::default()
    };

    let log = SledLog::open(&path, &options).expect("opens");
    let (done, error) = append_until_refused(&log).await;
    assert!(matches!(error, AppendError::Io(_)), "{error}");
    disk.grow(200);
    let again = append(&log).await;
    assert!(
        matches!(again, Err(AppendError::Stopped { .. })),
        "stopped although there is room"
    );
    // sled refuses to read as well from here on; what it does answer is the durable state.
    let position = log.stats().map_or(done, |stats| stats.last_position);
    assert_eq!(position, done, "what failed is not visible");
    drop(log);
    let log = SledLog::open(&path, &options).expect("opens");
    let records = verify_chain(&log, 0, u64::MAX).expect("whole").records;
    assert!(
        done <= records && records <= done + 1,
        "{done} acknowledged, {records} there"
    );
    append(&log).await.expect("goes on");
}

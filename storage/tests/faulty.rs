//! The faulty log fails as a real one does.

use std::sync::Arc;

use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{
    AppendError, Batch, EventLog, MemoryLog, NewRecord, StreamAppend, StreamId, conformance,
};

fn batch(expected: u64) -> Batch {
    let stream = StreamId::new("s").expect("a name");
    let record = NewRecord {
        time_ms: 0,
        actor: "a".into(),
        kind: "k".into(),
        body: b"body".to_vec(),
    };
    let streams = vec![StreamAppend {
        stream,
        expected,
        records: vec![record],
    }];
    Batch {
        streams,
        ..Batch::default()
    }
}

fn last(log: &dyn EventLog) -> u64 {
    log.stats().expect("stats").last_position
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_faulty_log_without_faults_conforms() {
    conformance::all(async || {
        Arc::new(FaultyLog::new(Arc::new(MemoryLog::new()))) as conformance::Log
    })
    .await;
}

#[tokio::test]
async fn i22_after_a_lost_answer_nothing_is_accepted_until_healed() {
    let log = FaultyLog::new(Arc::new(MemoryLog::new()));
    log.fail_after(1, Fault::CrashAfter);
    log.append(batch(0)).await.expect("the first goes well");
    assert!(matches!(
        log.append(batch(1)).await,
        Err(AppendError::Io(_))
    ));
    assert_eq!(last(&log), 2, "it was written all the same");
    assert!(matches!(
        log.append(batch(2)).await,
        Err(AppendError::Stopped { .. })
    ));
    assert_eq!(last(&log), 2);
    log.heal();
    log.append(batch(2)).await.expect("healed");
}

#[tokio::test]
async fn a_crash_before_the_write_and_a_full_disk_leave_nothing() {
    let log = FaultyLog::new(Arc::new(MemoryLog::new()));
    log.fail_after(0, Fault::Full);
    assert!(matches!(
        log.append(batch(0)).await,
        Err(AppendError::Full { .. })
    ));
    log.append(batch(0))
        .await
        .expect("a full disk does not stop the log");
    log.fail_after(0, Fault::CrashBefore);
    assert!(matches!(
        log.append(batch(1)).await,
        Err(AppendError::Io(_))
    ));
    assert!(log.has_stopped());
    assert_eq!((last(&log), log.faults()), (1, 2));
}

#[tokio::test]
async fn the_same_seed_draws_the_same_faults() {
    let mut told = Vec::new();
    for _ in 0..2 {
        let log = FaultyLog::drawn(Arc::new(MemoryLog::new()), 7, 4);
        let mut answers = Vec::new();
        for _ in 0..200 {
            answers.push(format!(
                "{:?}",
                log.append(batch(last(&log)))
                    .await
                    .map_err(|e| e.to_string())
            ));
            log.restart();
        }
        assert!(20 < log.faults() && log.faults() < 100);
        told.push(answers);
    }
    assert_eq!(told[0], told[1]);
}

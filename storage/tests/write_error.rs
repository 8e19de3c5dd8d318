//! A write that the system refuses (fault D2), without the rights to mount anything: the writer is
//! this test binary again, started by a shell that forbids it files beyond a size.

use std::path::Path;
use std::process::Command;

use holdpoint_storage::verify::verify_chain;
use holdpoint_storage::{
    AppendError, Batch, EventLog, NewRecord, SledLog, SledOptions, StreamAppend, StreamId,
};

const FOLDER: &str = "HOLDPOINT_TEST_FOLDER";

/// The largest file that the writer may make, in blocks of at most 1 KiB: too small for what it
/// wants to write, large enough to open the log.
const BLOCKS: u32 = 8 * 1024;

fn options() -> SledOptions {
    SledOptions {
        free_bytes_min: 0,
        reserve_bytes: 0,
        ..SledOptions::default()
    }
}

async fn append(log: &SledLog, expected: u64) -> Result<(), AppendError> {
    let record = NewRecord {
        time_ms: 1,
        actor: "a".into(),
        kind: "k".into(),
        body: vec![u8::try_from(expected % 256).expect("a byte"); 100_000],
    };
    let append = StreamAppend {
        stream: StreamId::new("s").expect("a name"),
        expected,
        records: vec![record],
    };
    log.append(Batch {
        streams: vec![append],
        ..Batch::default()
    })
    .await
    .map(drop)
}

/// Appends until a write fails, looks at what follows, and leaves a note of what was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let log = SledLog::open(folder.join("log"), &options()).expect("opens");
    let mut acknowledged = 0;
    let error = loop {
        match append(&log, acknowledged).await {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1000, "no write fails");
    };
    assert!(matches!(error, AppendError::Io(_)), "{error}");
    for expected in [acknowledged, acknowledged + 1] {
        let next = append(&log, expected).await;
        assert!(matches!(next, Err(AppendError::Stopped { .. })), "{next:?}");
    }
    let head = log.stats().expect("stats").last_position;
    assert_eq!(head, acknowledged, "what failed is not shown");
    std::fs::write(folder.join("acknowledged"), acknowledged.to_string()).expect("a note");
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_after_a_write_that_failed_nothing_is_taken_until_the_log_is_opened_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let exe = std::env::current_exe().expect("a path");
    let script =
        format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" --exact writer --nocapture");
    let ran = Command::new("sh")
        .args(["-c", &script])
        .arg(exe)
        .env(FOLDER, folder.path())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "the writer found a fault: {said}");
    let note = std::fs::read_to_string(folder.path().join("acknowledged")).expect("a note");
    let acknowledged: u64 = note.parse().expect("a number");
    assert!(0 < acknowledged);

    let log = SledLog::open(folder.path().join("log"), &options()).expect("opens again");
    let head = log.stats().expect("stats").last_position;
    assert!(acknowledged <= head, "{head} of {acknowledged}");
    verify_chain(&log, 0, head).expect("the chain is whole");
    append(&log, head).await.expect("goes on");
}

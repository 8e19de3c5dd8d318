//! The process that gets killed: it appends, and says what was acknowledged.

use std::collections::HashMap;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;

use holdpoint_storage::verify::verify_chain;
use holdpoint_storage::{
    Batch, EventLog, IndexPut, NewRecord, SledLog, SledOptions, StreamAppend, StreamId,
};

const FOLDER: &str = "HOLDPOINT_TEST_FOLDER";
const WRITERS: u64 = 8;

/// Opens the log and appends until it is killed; says what was acknowledged.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let log = SledLog::open(&folder, &SledOptions::default()).expect("opens");
        let log = Arc::new(log);
        say("open");
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(write(Arc::clone(&log), writer)))
            .collect();
        for writer in writers {
            writer.await.expect("goes on");
        }
    });
}

async fn write(log: Arc<SledLog>, writer: u64) {
    let name = format!("w/{writer}");
    let stream = StreamId::new(&name).expect("a name");
    let mut version = log.stream_version(&stream).expect("reads");
    loop {
        // Every ninth is long enough to be split.
        let length = if version % 9 == 8 { 20_000 } else { 300 };
        let record = NewRecord {
            time_ms: 1,
            actor: "w".into(),
            kind: "k".into(),
            body: vec![u8::try_from(version % 256).expect("a byte"); length],
        };
        let append = StreamAppend {
            stream: stream.clone(),
            expected: version,
            records: vec![record],
        };
        version += 1;
        let value = version.to_be_bytes().to_vec();
        let put = IndexPut {
            index: 1,
            key: name.clone().into_bytes(),
            value,
        };
        let batch = Batch {
            streams: vec![append],
            puts: vec![put],
            ..Batch::default()
        };
        let done = log.append(batch).await.expect("appends");
        say(&format!("ack {writer} {version} {}", done.last));
    }
}

/// One whole line to the parent, past the capture of the test harness.
fn say(line: &str) {
    std::io::stderr()
        .write_all(format!("{line}\n").as_bytes())
        .expect("the parent listens");
}

pub(crate) fn start(folder: &Path) -> (Child, BufReader<ChildStderr>) {
    let mut child = Command::new(std::env::current_exe().expect("a path"))
        .args(["child::child", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stderr.take().expect("piped"));
    (child, lines)
}

pub(crate) fn kill(child: &mut Child) {
    child.kill().expect("kills");
    child.wait().expect("ends");
}

/// What was acknowledged: for each writer the last version, and its position in the log.
pub(crate) type Acknowledged = HashMap<u64, (u64, u64)>;

/// Takes note of what a child said.
pub(crate) fn note(line: &str, acknowledged: &mut Acknowledged) {
    if !line.starts_with("ack ") {
        assert!(!line.contains("panicked"), "the child failed: {line}");
        return;
    }
    let numbers: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .map(|word| word.parse().expect("a number"))
        .collect();
    acknowledged.insert(numbers[0], (numbers[1], numbers[2]));
}

/// Opens the log again: all that was acknowledged is there, and nothing was torn apart.
pub(crate) fn check(folder: &Path, acknowledged: &Acknowledged) {
    let log = SledLog::open(folder, &SledOptions::default()).expect("opens after a kill");
    verify_chain(&log, 0, u64::MAX).expect("the chain is whole");
    for writer in 0..WRITERS {
        let name = format!("w/{writer}");
        let stream = StreamId::new(&name).expect("a name");
        let version = log.stream_version(&stream).expect("reads");
        if let Some((acked, position)) = acknowledged.get(&writer) {
            assert!(
                *acked <= version,
                "writer {writer}: {acked} was acknowledged"
            );
            let record = log
                .read_stream(&stream, acked - 1, 1)
                .expect("reads")
                .remove(0);
            assert_eq!((record.version, record.position), (*acked, *position));
        }
        // The index entry is in the same write as the record.
        let entry = log.get(1, name.as_bytes()).expect("reads");
        let expected = (version != 0).then(|| version.to_be_bytes().to_vec());
        assert_eq!(entry, expected, "writer {writer}");
    }
}

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
        let done = log.append(batch(&stream, version)).await.expect("appends");
        version += 1;
        say(&format!("ack {writer} {version} {}", done.last));
    }
}

/// The next record of a writer whose stream is at a version, with the index entry that says so.
pub(crate) fn batch(stream: &StreamId, version: u64) -> Batch {
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
    let put = IndexPut {
        index: 1,
        key: stream.as_str().as_bytes().to_vec(),
        value: (version + 1).to_be_bytes().to_vec(),
    };
    Batch {
        streams: vec![append],
        puts: vec![put],
        ..Batch::default()
    }
}

/// One whole line to the parent, past the capture of the test harness.
pub(crate) fn say(line: &str) {
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

/// What is wrong with a log that was opened again.
#[derive(Debug)]
pub(crate) enum Finding {
    /// It does not open, and says why.
    Refused(String),
    /// It opens, and something that was acknowledged is not there, or was torn apart.
    Lost(String),
}

/// Small, so that folders are copied fast and fit into memory.
pub(crate) fn options() -> SledOptions {
    SledOptions {
        free_bytes_min: 0,
        reserve_bytes: 64 * 1024,
        ..SledOptions::default()
    }
}

/// Opens the log again: all that was acknowledged is there, and nothing was torn apart.
pub(crate) fn check(folder: &Path, acknowledged: &Acknowledged) {
    if let Err(finding) = examine(folder, acknowledged) {
        panic!("{}: {finding:?}", folder.display());
    }
}

/// As [`check`], for who counts what it finds.
pub(crate) fn examine(folder: &Path, acknowledged: &Acknowledged) -> Result<(), Finding> {
    let log = SledLog::open(folder, &options()).map_err(|error| {
        Finding::Refused(match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })
    })?;
    let lost = |what: String| Err(Finding::Lost(what));
    if let Err(error) = verify_chain(&log, 0, u64::MAX) {
        return lost(format!("the chain is broken: {error}"));
    }
    for writer in 0..WRITERS {
        let name = format!("w/{writer}");
        let stream = StreamId::new(&name).expect("a name");
        let version = log.stream_version(&stream).expect("reads");
        if let Some((acked, position)) = acknowledged.get(&writer) {
            if version < *acked {
                return lost(format!(
                    "writer {writer}: {acked} was acknowledged, {version} are there"
                ));
            }
            let record = log
                .read_stream(&stream, acked - 1, 1)
                .expect("reads")
                .remove(0);
            if (record.version, record.position) != (*acked, *position) {
                return lost(format!(
                    "writer {writer}: version {acked} is not at {position}"
                ));
            }
        }
        // The index entry is in the same write as the record.
        let entry = log.get(1, name.as_bytes()).expect("reads");
        if entry != (version != 0).then(|| version.to_be_bytes().to_vec()) {
            return lost(format!(
                "writer {writer}: at {version}, its entry is {entry:?}"
            ));
        }
    }
    Ok(())
}

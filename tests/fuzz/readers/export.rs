//! Files of an exported log: whole, cut, changed, and changed so that every hash fits again.

use std::sync::LazyLock;

use holdpoint_engine::canon::Digest;
use holdpoint_storage::chain::hash_of;
use holdpoint_storage::record::Hash;
use holdpoint_storage::transfer::{ImportError, Item, LogFile, export, import};
use holdpoint_storage::{MemoryLog, Record, StreamId};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// What is in a file that was found whole.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    records: Vec<Record>,
    claims: Vec<(Vec<u8>, Vec<u8>)>,
    is_whole_log: bool,
}

pub(crate) fn export_file(data: &[u8]) {
    file(data);
    if let Some(fitting) = with_fitting_hashes(data) {
        file(&fitting);
    }
}

/// Reads one file, and fills a log from it where it is whole.
fn file(data: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));
    let found = read(data);
    let log = MemoryLog::new();
    let Ok(mut file) = LogFile::open(data) else {
        assert_eq!(found, None);
        return;
    };
    let taken = RUNTIME.block_on(import(&mut file, &log, &mut |_, _| {}));
    match (found, taken) {
        (None, Ok(_)) => panic!("i07: a file that is not whole was taken over"),
        (Some(whole), Ok(_)) => {
            assert!(whole.is_whole_log, "a part is no log");
            let mut again = Vec::new();
            export(&log, 1, None, 1, &mut again, &mut |_| {}).expect("what was taken is whole");
            assert_eq!(read(&again), Some(whole), "nothing is lost on the way");
        }
        (None, Err(_)) => {}
        // Of a part, or of what no log can hold.
        (Some(whole), Err(ImportError::Part { .. })) => assert!(!whole.is_whole_log),
        (Some(_), Err(error)) => assert!(matches!(error, ImportError::Append { .. }), "{error}"),
    }
}

/// Everything in a file; none where any of it cannot be believed.
fn read(data: &[u8]) -> Option<Whole> {
    let mut file = LogFile::open(data).ok()?;
    let mut whole = Whole {
        records: Vec::new(),
        claims: Vec::new(),
        is_whole_log: file.header().whole,
    };
    let from = file.header().from;
    while let Some(item) = file.next_item().ok()? {
        match item {
            Item::Record(record) => whole.records.push(record),
            Item::Claim(key, value) => whole.claims.push((key, value)),
        }
    }
    for (place, record) in whole.records.iter().enumerate() {
        assert_eq!(record.position, from + place as u64, "i07: none is missing");
        assert_eq!(hash_of(record), record.hash, "i07: each is what it was");
    }
    assert_eq!(file.head().position, file.header().to);
    Some(whole)
}

/// The same file with hashes that fit what stands in it, so that what lies behind them is read too.
fn with_fitting_hashes(data: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(data).ok()?;
    let mut lines: Vec<Value> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .ok()?;
    let mut hash = Hash::default();
    let mut claims = 0;
    for line in &mut lines {
        if line.get("position").is_some() {
            let record = record_of(line, hash)?;
            line["prev"] = json!(hash.to_string());
            hash = hash_of(&record);
            line["hash"] = json!(hash.to_string());
        }
        claims += u64::from(line.get("claim").is_some());
    }
    let last = lines.pop()?;
    let mut fitting = String::new();
    for line in &lines {
        fitting.push_str(&line.to_string());
        fitting.push('\n');
    }
    let sum = Hash(Digest::of(fitting.as_bytes()).0);
    // The reader knows the last line by its first key.
    let end = format!(
        "{{\"end\":{},\"last_hash\":\"{hash}\",\"claims\":{claims},\"sha256\":\"{sum}\"}}\n",
        last.get("end")?
    );
    fitting.push_str(&end);
    Some(fitting.into_bytes())
}

fn record_of(line: &Value, prev: Hash) -> Option<Record> {
    use base64::Engine as _;
    let text = |field: &str| line[field].as_str().map(str::to_owned);
    let standard = base64::engine::general_purpose::STANDARD;
    Some(Record {
        position: line["position"].as_u64()?,
        stream: StreamId::new(text("stream")?)?,
        version: line["version"].as_u64()?,
        time_ms: line["time_ms"].as_i64()?,
        actor: text("actor")?,
        kind: text("kind")?,
        body: standard.decode(text("body")?).ok()?,
        prev,
        hash: Hash::default(),
    })
}

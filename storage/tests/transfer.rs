//! The log as a file: everything comes back, and nothing that is damaged does.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use holdpoint_storage::conformance::history::Draw;
use holdpoint_storage::log::BODY_BYTES_MAX;
use holdpoint_storage::transfer::{
    ExportError, FileError, ImportError, Imported, Item, LogFile, export, import,
};
use holdpoint_storage::verify::verify_chain;
use holdpoint_storage::{
    Batch, Claim, EventLog, MemoryLog, NewRecord, OpenError, Origin, SledLog, SledOptions,
    StreamAppend, StreamId,
};

fn options() -> SledOptions {
    SledOptions {
        reserve_bytes: 0,
        ..SledOptions::default()
    }
}

fn written(log: &dyn EventLog, from: u64, to: Option<u64>) -> Result<Vec<u8>, ExportError> {
    let mut bytes = Vec::new();
    export(log, from, to, 1, &mut bytes, &mut |_| {}).map(|_| bytes)
}

async fn read_in(bytes: &[u8], log: &dyn EventLog) -> Result<Imported, ImportError> {
    let mut file = LogFile::open(Cursor::new(bytes))?;
    import(&mut file, log, &mut |_, _| {}).await
}

/// Reads the file to its end.
fn checked(bytes: &[u8]) -> Result<u64, FileError> {
    let mut file = LogFile::open(Cursor::new(bytes))?;
    let mut records = 0;
    while let Some(item) = file.next_item()? {
        records += u64::from(matches!(item, Item::Record(_)));
    }
    Ok(records)
}

/// A log of drawn records and claims.
async fn drawn(seed: u64, steps: u32) -> MemoryLog {
    let log = MemoryLog::new();
    let mut draw = Draw::new(seed);
    for _ in 0..steps {
        // Some are refused, as they should be.
        drop(log.append(draw.batch(&log)).await);
    }
    log
}

async fn append(log: &dyn EventLog, time_ms: i64, body: Vec<u8>) {
    let stream = StreamId::new("s").expect("a name");
    let expected = log.stream_version(&stream).expect("reads");
    let append = StreamAppend {
        stream,
        expected,
        records: vec![NewRecord {
            time_ms,
            actor: "per_1".into(),
            kind: "drawn".into(),
            body,
        }],
    };
    let claim = Claim {
        key: expected.to_be_bytes().to_vec(),
        value: vec![0xff, 0],
    };
    log.append(Batch {
        streams: vec![append],
        claims: vec![claim],
        ..Batch::default()
    })
    .await
    .expect("appends");
}

/// A log of three records and three claims.
async fn small() -> MemoryLog {
    let log = MemoryLog::new();
    for time_ms in [5, 5, 9] {
        append(&log, time_ms, b"body".to_vec()).await;
    }
    log
}

#[tokio::test]
async fn i07_a_log_comes_back_from_its_file_with_the_same_hashes_on_every_store() {
    for seed in 0..6 {
        println!("seed {seed}");
        let log = drawn(seed, 60).await;
        let bytes = written(&log, 1, None).expect("is written");
        let folder = tempfile::tempdir().expect("a folder");
        let sled = SledLog::open_for_import(folder.path(), &options()).expect("opens");
        let memory = MemoryLog::new();
        for other in [&sled as &dyn EventLog, &memory] {
            let imported = read_in(&bytes, other).await.expect("is taken");
            let stats = log.stats().expect("figures");
            assert_eq!(imported.records, stats.records);
            assert_eq!(imported.last_hash, stats.last_hash);
            assert_eq!(
                other.read_all(0, usize::MAX).expect("reads"),
                log.read_all(0, usize::MAX).expect("reads")
            );
            assert_eq!(
                other.claims(None, usize::MAX).expect("reads"),
                log.claims(None, usize::MAX).expect("reads")
            );
            let verified = verify_chain(other, 0, u64::MAX).expect("whole");
            assert_eq!(verified.last_hash, stats.last_hash);
            assert_eq!(written(other, 1, None).expect("is written"), bytes);
        }
        sled.finish_import().expect("is finished");
        drop(sled);
        let sled = SledLog::open(folder.path(), &options()).expect("opens");
        assert_eq!(sled.origin(), Origin::Imported);
        assert_eq!(written(&sled, 1, None).expect("is written"), bytes);
    }
}

#[tokio::test]
async fn i07_a_changed_or_cut_file_is_refused_wherever_it_was_touched() {
    let log = small().await;
    let bytes = written(&log, 1, None).expect("is written");
    assert_eq!(checked(&bytes).expect("is whole"), 3);
    for length in 0..bytes.len() {
        assert!(checked(&bytes[..length]).is_err(), "cut to {length}");
    }
    for place in 0..bytes.len() {
        for bit in [0x01, 0x20] {
            let mut changed = bytes.clone();
            changed[place] ^= bit;
            assert!(checked(&changed).is_err(), "{bit:#x} at {place}");
        }
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let put_together = |order: &[usize]| {
        let chosen: Vec<&[u8]> = order.iter().map(|line| lines[*line]).collect();
        chosen.concat()
    };
    for (order, line, words) in [
        (&[0, 1, 3, 4, 5, 6, 7][..], 3, "a record is missing"),
        (&[0, 2, 1, 3, 4, 5, 6, 7], 2, "a record is missing"),
        (&[0, 1, 1, 2, 3, 4, 5, 6, 7], 3, "a record is missing"),
        (&[0, 1, 2, 3, 5, 4, 6, 7], 6, "not in order"),
        (&[0, 1, 2, 3, 4, 6, 7], 7, "2 claims, there are 2"),
        (&[0, 1, 2, 3, 4, 5, 6, 7, 7], 9, "follows the last line"),
        (&[0, 1, 2, 7], 4, "records are missing"),
        (&[1, 2, 3, 4, 5, 6, 7], 1, "not the first line"),
        (&[0, 1, 2, 3, 4, 5, 6], 7, "cut off"),
    ] {
        let error = checked(&put_together(order)).expect_err("is refused");
        let FileError::Damaged {
            line: found,
            reason,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(found, line, "{order:?}: {reason}");
        // Which claim is gone shows in their number.
        let told = reason.contains(words) || words.starts_with("2 claims");
        assert!(told, "{order:?}: {reason}");
    }
}

#[tokio::test]
async fn a_part_of_a_log_is_checked_and_not_imported() {
    let log = drawn(3, 60).await;
    let last = log.stats().expect("figures").last_position;
    for (from, to) in [(1, 4), (3, 9), (last, last), (2, last)] {
        let bytes = written(&log, from, Some(to)).expect("is written");
        assert_eq!(checked(&bytes).expect("is whole"), to + 1 - from);
        let refused = read_in(&bytes, &MemoryLog::new()).await;
        assert!(
            matches!(refused, Err(ImportError::Part { .. })),
            "{refused:?}"
        );
    }
    for (from, to) in [(0, 1), (4, 3), (last + 1, last + 1), (1, last + 1)] {
        let refused = written(&log, from, Some(to));
        assert!(
            matches!(refused, Err(ExportError::Range { .. })),
            "{from} to {to}"
        );
    }
}

#[tokio::test]
async fn an_empty_log_and_the_longest_body_can_be_written_out_and_read_in() {
    let log = MemoryLog::new();
    let bytes = written(&log, 1, None).expect("is written");
    let other = MemoryLog::new();
    assert_eq!(read_in(&bytes, &other).await.expect("is taken").records, 0);

    append(&log, 1, vec![0xfe; BODY_BYTES_MAX]).await;
    let mut bytes = written(&log, 1, None).expect("is written");
    read_in(&bytes, &other).await.expect("is taken");
    assert_eq!(
        other.read_all(0, 2).expect("reads"),
        log.read_all(0, 2).expect("reads")
    );
    // A line without end takes no more memory than the longest that may be.
    let first = bytes.iter().position(|byte| *byte == b'\n').expect("lines");
    bytes.truncate(first + 1);
    bytes.resize(bytes.len() + 3 * BODY_BYTES_MAX, b' ');
    let error = checked(&bytes).expect_err("is refused").to_string();
    assert!(error.starts_with("line 2: it is longer than"), "{error}");

    let refused = read_in(&bytes, &other).await;
    assert!(
        matches!(refused, Err(ImportError::NotEmpty(1))),
        "{refused:?}"
    );
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("lists");
    entries
        .map(|entry| {
            entry
                .expect("lists")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[tokio::test]
async fn i23_an_import_that_did_not_end_is_no_log_and_can_be_begun_again() {
    let log = drawn(1, 60).await;
    let whole = written(&log, 1, None).expect("is written");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let open = || SledLog::open_for_import(&path, &options()).expect("opens");

    let sled = open();
    let cut = &whole[..whole.len() - 9];
    assert!(read_in(cut, &sled).await.is_err());
    sled.close().await;
    drop(sled);
    // As after a kill: the folder says what it is, to whoever opens it.
    match SledLog::open(&path, &options()).err() {
        Some(OpenError::Damaged { reason, advice, .. }) => {
            assert!(reason.contains("import into it did not end"), "{reason}");
            assert!(advice.contains("again"), "{advice}");
        }
        other => panic!("{other:?}"),
    }
    SledLog::discard_import(&path).expect("is removed");
    assert!(names(&path).is_empty(), "{:?}", names(&path));

    // Once more, and this time without cleaning up in between.
    let sled = open();
    assert!(read_in(cut, &sled).await.is_err());
    drop(sled);
    let sled = open();
    read_in(&whole, &sled).await.expect("is taken");
    sled.finish_import().expect("is finished");
    drop(sled);
    SledLog::discard_import(&path).expect("nothing to remove");
    let sled = SledLog::open(&path, &options()).expect("opens");
    assert_eq!(written(&sled, 1, None).expect("is written"), whole);
    drop(sled);
    let refused = SledLog::open_for_import(&path, &options()).err();
    assert!(
        matches!(refused, Some(OpenError::NotEmpty { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn i07_records_that_do_not_follow_are_not_restored() {
    let log = small().await;
    let records = log.read_all(0, 9).expect("reads");
    let folder = tempfile::tempdir().expect("a folder");
    let sled = SledLog::open(folder.path(), &options()).expect("opens");
    let memory = MemoryLog::new();
    for other in [&sled as &dyn EventLog, &memory] {
        assert!(other.restore(records[1..].to_vec()).await.is_err());
        let mut forged = records.clone();
        forged[0].body.push(1);
        assert!(other.restore(forged).await.is_err());
        assert_eq!(other.stats().expect("figures").records, 0);
        other.restore(records.clone()).await.expect("follows");
        assert!(other.restore(records.clone()).await.is_err(), "twice");
        assert_eq!(other.read_all(0, 9).expect("reads"), records);
        append(other, 1, b"goes on".to_vec()).await;
        let last = other.read_all(3, 9).expect("reads");
        assert_eq!((last[0].version, last[0].time_ms), (4, 9));
    }
}

//! Folders that are not as they were left. What was acknowledged is there, or the loss is named;
//! never anything between.

#[path = "damage/snapshot.rs"]
mod snapshot;

use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_storage::conformance::history::Draw;
use holdpoint_storage::verify::verify_chain;
use holdpoint_storage::{
    Batch, Direction, EventLog, IndexPut, NewRecord, OpenError, Record, ScanRange, SledLog,
    SledOptions, StreamAppend, StreamId,
};

fn open(path: &Path) -> Result<SledLog, OpenError> {
    SledLog::open(
        path,
        &SledOptions {
            reserve_bytes: 0,
            ..SledOptions::default()
        },
    )
}

/// How many records a filled log has.
const RECORDS: u64 = 400;

/// A record and an index entry.
fn batch(version: u64) -> Batch {
    let record = NewRecord {
        time_ms: 1,
        actor: "a".into(),
        kind: "k".into(),
        body: version.to_string().repeat(100).into_bytes(),
    };
    let append = StreamAppend {
        stream: StreamId::new("s").expect("a name"),
        expected: version,
        records: vec![record],
    };
    let key = version.to_be_bytes().to_vec();
    let put = IndexPut {
        index: 1,
        value: key.clone(),
        key,
    };
    Batch {
        streams: vec![append],
        puts: vec![put],
        ..Batch::default()
    }
}

/// A closed log with records and index entries.
fn filled(path: &Path) -> Vec<Record> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let log = open(path).expect("opens");
    let records = runtime.block_on(async {
        for version in 0..RECORDS {
            log.append(batch(version)).await.expect("appends");
        }
        // The last write has no record: its loss must show all the same.
        let put = IndexPut {
            index: 2,
            key: b"last".to_vec(),
            value: b"word".to_vec(),
        };
        log.append(Batch {
            puts: vec![put],
            ..Batch::default()
        })
        .await
        .expect("appends");
        log.read_all(0, 1000).expect("reads")
    });
    drop(log);
    records
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("lists") {
        let entry = entry.expect("lists");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copies");
        }
    }
}

/// Everything is there, or something says that it is not. Answers whether all is there.
fn whole_or_told(path: &Path, records: &[Record]) -> bool {
    let log = match open(path) {
        Ok(log) => log,
        Err(OpenError::Damaged { reason, advice, .. }) => {
            assert!(!reason.is_empty() && !advice.is_empty());
            return false;
        }
        Err(OpenError::Snapshot { reason, file, .. }) => {
            assert!(!reason.is_empty() && path.join(file).is_file());
            return false;
        }
        Err(other) => panic!("another error: {other}"),
    };
    let last = log.stats().expect("stats").last_position;
    assert_eq!(
        last,
        records.len() as u64,
        "a shorter log was opened without a word"
    );
    let Ok(found) = log.read_all(0, 1000) else {
        verify_chain(&log, 0, u64::MAX).expect_err("a record that cannot be read is a break");
        return false;
    };
    assert!(found == records, "records came back changed");
    let Ok(entries) = log.scan(1, ScanRange::default(), 1000, Direction::Forward) else {
        return false;
    };
    assert_eq!(
        entries.len(),
        records.len(),
        "index entries are missing without a word"
    );
    match log.get(2, b"last") {
        Ok(value) => assert_eq!(value.as_deref(), Some(&b"word"[..])),
        Err(_) => return false,
    }
    true
}

/// `HOLDPOINT_DAMAGES` sets another number of rounds.
#[expect(clippy::print_stdout, reason = "a failing seed has to be known")]
fn damage(rounds: u64, harm: impl Fn(&mut Draw, &Path)) {
    let set = std::env::var("HOLDPOINT_DAMAGES")
        .ok()
        .and_then(|set| set.parse().ok());
    let rounds = set.unwrap_or(rounds);
    let root = tempfile::tempdir().expect("a folder");
    let intact = root.path().join("intact");
    let records = filled(&intact);
    assert!(whole_or_told(&intact, &records));
    let mut told = 0;
    for seed in 0..rounds {
        let folder = root.path().join(seed.to_string());
        copy(&intact, &folder);
        harm(&mut Draw::new(seed), &folder);
        println!("seed {seed}");
        told += u64::from(!whole_or_told(&folder, &records));
        fs::remove_dir_all(&folder).expect("removes");
    }
    println!("{told} of {rounds} were told of, the others lost nothing");
    assert_ne!(told, 0, "no damage was found in {rounds} rounds");
}

fn database(folder: &Path) -> PathBuf {
    folder.join("store/db")
}

#[test]
fn i07_i23_a_flipped_byte_never_loses_anything_in_silence() {
    damage(40, |draw, folder| {
        let mut bytes = fs::read(database(folder)).expect("reads");
        // Where the file has content: the rest of it is room that was set aside.
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("content");
        let place = usize::try_from(draw.below(end as u64)).expect("fits");
        bytes[place] ^= 1 << draw.below(8);
        fs::write(database(folder), bytes).expect("writes");
    });
}

#[test]
fn i07_i23_a_cut_file_never_loses_anything_in_silence() {
    damage(25, |draw, folder| {
        let bytes = fs::read(database(folder)).expect("reads");
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("content");
        let length = usize::try_from(draw.below(end as u64)).expect("fits");
        fs::write(database(folder), &bytes[..length]).expect("writes");
    });
}

#[test]
fn i07_i23_a_zeroed_page_never_loses_anything_in_silence() {
    damage(25, |draw, folder| {
        let mut bytes = fs::read(database(folder)).expect("reads");
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("content");
        let page = usize::try_from(draw.below(end as u64 / 4096 + 1)).expect("fits") * 4096;
        let until = (page + 4096).min(bytes.len());
        bytes[page..until].fill(0);
        fs::write(database(folder), bytes).expect("writes");
    });
}

#[test]
fn i29_an_older_copy_of_the_store_is_noticed() {
    let root = tempfile::tempdir().expect("a folder");
    let (log, old) = (root.path().join("log"), root.path().join("old"));
    drop(open(&log).expect("opens"));
    copy(&log.join("store"), &old);
    filled(&log);
    fs::remove_dir_all(log.join("store")).expect("removes");
    copy(&old, &log.join("store"));
    let error = open(&log).err().expect("refused").to_string();
    assert!(error.contains("acknowledged"), "{error}");
    assert!(error.contains("backup"), "{error}");
}

#[test]
fn files_of_the_store_that_are_garbage_or_missing_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    let intact = root.path().join("intact");
    let records = filled(&intact);
    for (number, name) in ["store/db", "store/conf", "log-format", "mark"]
        .into_iter()
        .enumerate()
    {
        let garbage = root.path().join(format!("garbage{number}"));
        copy(&intact, &garbage);
        fs::write(garbage.join(name), b"this is not what was here").expect("writes");
        let whole = whole_or_told(&garbage, &records);
        assert_eq!(
            whole,
            name == "mark",
            "{name}: only the mark can be done without"
        );

        let missing = root.path().join(format!("missing{number}"));
        copy(&intact, &missing);
        fs::remove_file(missing.join(name)).expect("removes");
        for folder in [&garbage, &missing] {
            let refusal = open(folder).err().map(|error| error.to_string());
            // Of garbage in the database itself nothing is left but the mark to speak of.
            let is_named = refusal
                .is_none_or(|words| words.contains(name) || words.contains("its end was lost"));
            assert!(is_named, "{name} is not named");
        }
        let whole = whole_or_told(&missing, &records);
        assert_eq!(
            whole,
            name == "mark",
            "{name}: only the mark can be done without"
        );
    }
}

#[test]
fn a_newer_format_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    drop(open(&path).expect("opens"));
    fs::write(
        path.join("log-format"),
        "holdpoint log\nformat 2\nwhatever comes\n",
    )
    .expect("writes");
    match open(&path).err().expect("refused") {
        OpenError::NewerFormat {
            found: 2,
            supported: 1,
            ..
        } => {}
        other => panic!("another error: {other}"),
    }
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let root = tempfile::tempdir().expect("a folder");
    fs::write(root.path().join("letter.txt"), "dear").expect("writes");
    let error = open(root.path()).err().expect("refused");
    assert!(matches!(error, OpenError::Damaged { .. }));
    assert!(error.to_string().contains("letter.txt"), "{error}");
    assert_eq!(fs::read_dir(root.path()).expect("lists").count(), 1);

    // A file that is called as ours is, and is not.
    let locked = root.path().join("locked");
    fs::create_dir(&locked).expect("creates");
    fs::write(locked.join("lock"), "of somebody else").expect("writes");
    let error = open(&locked).err().expect("refused");
    assert!(error.to_string().contains("holds lock"), "{error}");
    let lock = fs::read_to_string(locked.join("lock")).expect("reads");
    assert_eq!(lock, "of somebody else");
}

#[test]
fn a_creation_that_did_not_end_is_begun_again() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    drop(open(&path).expect("opens"));
    fs::write(
        path.join("log-format"),
        "holdpoint log\nformat 1\ncreating\n",
    )
    .expect("writes");
    fs::write(path.join("store/conf"), "half").expect("writes");
    assert_eq!(
        open(&path)
            .expect("opens")
            .stats()
            .expect("stats")
            .last_position,
        0
    );
    let marker = fs::read_to_string(path.join("log-format")).expect("reads");
    assert!(marker.contains("ready"), "{marker}");
}

#[test]
fn i23_a_snapshot_that_was_never_finished_is_removed() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    let records = filled(&path);
    let leftover = path.join("store/snap.FFFFFFFFFFFFFF00.generating");
    fs::write(&leftover, b"half a snapshot").expect("writes");
    assert!(
        whole_or_told(&path, &records),
        "it opens, and nothing is missing"
    );
    assert!(!leftover.exists());
}

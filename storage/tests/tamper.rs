//! Somebody who knows the format changes the past (invariant I7).

use std::path::Path;

use holdpoint_storage::chain::hash_of;
use holdpoint_storage::codec;
use holdpoint_storage::verify::{VerifyError, verify_chain};
use holdpoint_storage::{
    Batch, EventLog, IndexPut, NewRecord, OpenError, ReadError, SledLog, SledOptions, StreamAppend,
    StreamId,
};

const RECORDS: u64 = 600;

/// What is done to the record at a position.
type Harm = fn(&sled::Db, u64);

/// Opens it as a long log is: only its end is checked.
fn open(path: &Path) -> Result<SledLog, OpenError> {
    open_checking(path, 0)
}

fn open_checking(path: &Path, whole_check_records_max: u64) -> Result<SledLog, OpenError> {
    let options = SledOptions {
        reserve_bytes: 0,
        whole_check_records_max,
        ..SledOptions::default()
    };
    SledLog::open(path, &options)
}

/// What a start says that reads the whole log.
fn refusal(path: &Path) -> String {
    let opened = open_checking(path, RECORDS).err();
    opened
        .expect("the damage is found at the start")
        .to_string()
}

async fn fill(path: &Path) {
    let log = open(path).expect("opens");
    for version in 0..RECORDS / 50 {
        let record = NewRecord {
            time_ms: 1,
            actor: "per_1".into(),
            kind: "action.approved".into(),
            body: b"50.00".to_vec(),
        };
        let append = StreamAppend {
            stream: StreamId::new("s").expect("a name"),
            expected: version * 50,
            records: vec![record; 50],
        };
        let put = |key: &[u8], value: u8| IndexPut {
            index: 1,
            key: key.to_vec(),
            value: vec![value; 20],
        };
        let number = u8::try_from(version).expect("few");
        log.append(Batch {
            streams: vec![append],
            puts: vec![put(b"same", number), put(&[number], 7)],
            deletes: vec![(1, vec![number.wrapping_sub(2)])],
            ..Batch::default()
        })
        .await
        .expect("appends");
    }
    log.close().await;
}

fn key(position: u64) -> Vec<u8> {
    [b"r".as_slice(), &position.to_be_bytes()].concat()
}

/// Works on the closed store with its own library.
fn with_store(path: &Path, change: impl FnOnce(&sled::Db)) {
    let store = sled::open(path.join("store")).expect("opens");
    // It has written another snapshot; whoever knows the format knows the note of it as well.
    drop(std::fs::remove_file(path.join("snapshot")));
    change(&store);
    store.flush().expect("flushes");
}

/// Rewrites a record as one that is whole in itself.
fn forge(store: &sled::Db, position: u64) {
    let stored = store.get(key(position)).expect("reads").expect("is there");
    let mut record = codec::decode(&stored[1..]).expect("decodes");
    record.body = b"5000.00".to_vec();
    record.hash = hash_of(&record);
    let forged = [&[0], codec::encode(&record).expect("encodes").as_slice()].concat();
    store.insert(key(position), forged).expect("writes");
}

fn break_in(path: &Path) -> u64 {
    let log = open(path).expect("the end is whole, so it opens");
    assert_eq!(verify_chain(&log, 0, 99).expect("whole so far").records, 99);
    assert_eq!(
        verify_chain(&log, 101, u64::MAX)
            .expect("whole from there")
            .last_position,
        RECORDS
    );
    match verify_chain(&log, 0, u64::MAX).expect_err("a break") {
        VerifyError::Broken { position, .. } => position,
        VerifyError::Read(error) => panic!("another error: {error}"),
    }
}

#[tokio::test]
async fn i07_a_forged_record_is_named_by_the_verifier() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    fill(&path).await;
    with_store(&path, |store| forge(store, 100));
    // The forged record is whole; the one after it does not carry its hash.
    assert!(refusal(&path).contains("record 101"), "{}", refusal(&path));
    assert_eq!(break_in(&path), 101);
}

#[tokio::test]
async fn i07_a_dropped_record_is_named_by_the_verifier_and_by_readers() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    fill(&path).await;
    with_store(&path, |store| {
        drop(store.remove(key(100)).expect("removes"));
    });
    assert!(
        refusal(&path).contains("a record is missing"),
        "{}",
        refusal(&path)
    );
    assert_eq!(break_in(&path), 100);
    let log = open(&path).expect("opens");
    let stream = StreamId::new("s").expect("a name");
    for read in [log.read_all(50, 100), log.read_stream(&stream, 50, 100)] {
        let Err(ReadError::Corrupt { place, .. }) = read else {
            panic!("a gap was passed over")
        };
        assert_eq!(place, "record 100");
    }
}

#[tokio::test]
async fn i07_forged_swapped_and_dropped_records_at_the_end_keep_the_log_from_opening() {
    let changes: [fn(&sled::Db); 3] = [
        |store| forge(store, RECORDS - 10),
        |store| {
            let [left, right] = [RECORDS - 3, RECORDS - 2].map(key);
            let first = store.insert(&left, store.get(&right).expect("reads").expect("is there"));
            store
                .insert(&right, first.expect("writes").expect("was there"))
                .expect("writes");
        },
        |store| drop(store.remove(key(RECORDS)).expect("removes")),
    ];
    for change in changes {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("log");
        fill(&path).await;
        with_store(&path, change);
        let error = open(&path).err().expect("refused");
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    }
}

#[tokio::test]
async fn i07_an_index_entry_that_is_lost_or_an_older_one_is_found_at_the_start() {
    let root = tempfile::tempdir().expect("a folder");
    for (name, change) in [
        ("lost", None),
        ("older", Some([&[0], [1_u8; 20].as_slice()].concat())),
    ] {
        let path = root.path().join(name);
        fill(&path).await;
        drop(open_checking(&path, RECORDS).expect("it is whole"));
        with_store(&path, |store| {
            let key = b"i\x01same";
            assert!(store.contains_key(key).expect("reads"));
            match &change {
                Some(value) => drop(store.insert(key, value.as_slice()).expect("writes")),
                None => drop(store.remove(key).expect("removes")),
            }
        });
        let words = refusal(&path);
        assert!(words.contains("missing or are older ones"), "{words}");
    }
}

#[tokio::test]
async fn i07_damage_is_found_at_the_start_whoever_reads_the_part_that_it_is_in() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    fill(&path).await;
    let said = |threads| {
        let options = SledOptions {
            reserve_bytes: 0,
            check_threads: threads,
            ..SledOptions::default()
        };
        SledLog::open(&path, &options)
            .err()
            .map(|error| error.to_string())
    };
    // With three threads a part ends at record 200, and the next begins at 201.
    let drop_it: Harm = |store, at| drop(store.remove(key(at)).expect("removes"));
    let harms: [(u64, Harm, &str); 6] = [
        (199, forge, "record 200 "),
        (200, forge, "record 201 "),
        (201, forge, "record 202 "),
        (200, drop_it, "missing"),
        (201, drop_it, "missing"),
        (1, drop_it, "missing"),
    ];
    for (at, harm, named) in harms {
        let before = std::cell::RefCell::new(None);
        with_store(&path, |store| {
            *before.borrow_mut() = store.get(key(at)).expect("reads");
            harm(store, at);
        });
        for threads in [1, 2, 3, 7] {
            let words = said(threads).expect("the damage is found");
            assert!(words.contains(named), "{threads}: {words}");
        }
        with_store(&path, |store| {
            let whole = before.borrow_mut().take().expect("was there");
            store.insert(key(at), whole).expect("writes");
        });
        assert_eq!(said(3), None, "it is whole again");
    }
}

/// What a start costs: `HOLDPOINT_START_RECORDS=100000 cargo test --workspace --test tamper start_cost --
/// --nocapture`. A few records where it is not set.
#[tokio::test(flavor = "multi_thread")]
async fn the_start_cost_of_a_whole_check_can_be_measured() {
    let wanted = std::env::var("HOLDPOINT_START_RECORDS").ok();
    let wanted = wanted.and_then(|count| count.parse().ok()).unwrap_or(2000);
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("log");
    let log = open(&path).expect("opens");
    for number in 0..wanted / 50 {
        let record = NewRecord {
            time_ms: 1,
            actor: "per_1".into(),
            kind: "action.approved".into(),
            body: vec![7; 336],
        };
        let append = StreamAppend {
            stream: StreamId::new(format!("s/{number}")).expect("a name"),
            expected: 0,
            records: vec![record; 50],
        };
        let puts = (0..150_u64).map(|place| IndexPut {
            index: 1,
            key: (number * 150 + place).to_be_bytes().to_vec(),
            value: vec![7; 64],
        });
        let batch = Batch {
            streams: vec![append],
            puts: puts.collect(),
            ..Batch::default()
        };
        log.append(batch).await.expect("appends");
    }
    log.close().await;
    drop(log);
    for (threads, whole_check_records_max) in [(1, 0), (1, u64::MAX), (2, u64::MAX), (8, u64::MAX)]
    {
        let options = SledOptions {
            reserve_bytes: 0,
            whole_check_records_max,
            check_threads: threads,
            ..SledOptions::default()
        };
        let begun = std::time::Instant::now();
        let log = SledLog::open(&path, &options).expect("opens");
        let took = begun.elapsed();
        let records = log.stats().expect("figures").records;
        println!(
            "{records} records, {threads} threads, whole: {}: {took:?}",
            whole_check_records_max != 0
        );
        assert_eq!(records, wanted / 50 * 50);
    }
}

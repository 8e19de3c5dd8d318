//! Writers and readers of the log (invariants I4, I5, I22).

use std::collections::BTreeSet;
use std::sync::Arc;

use shuttle::sync::Mutex;
use shuttle::thread;

use crate::batch::{Batch, Claim, IndexPut, StreamAppend};
use crate::chain::Head;
use crate::log::{AppendError, Appended, Disk, Log};
use crate::record::{NewRecord, StreamId, Version};

const WRITERS: u8 = 3;
const APPENDS: u8 = 2;
/// Enough for every scenario here.
const SYNCS_ALL: u64 = 1000;

fn stream() -> StreamId {
    StreamId::new("s").expect("a name")
}

/// One record of `writer` on the version that it knows, an entry with the version that it makes, and
/// with its first append a claim that one writer can have.
fn batch(writer: u8, number: u8, expected: Version) -> Batch {
    let record = NewRecord {
        time_ms: 1,
        actor: writer.to_string(),
        kind: "k".into(),
        body: vec![writer, number],
    };
    let append = StreamAppend {
        stream: stream(),
        expected,
        records: vec![record],
    };
    let put = IndexPut {
        index: 1,
        key: b"latest".to_vec(),
        value: (expected + 1).to_be_bytes().to_vec(),
    };
    let claim = Claim {
        key: b"first".to_vec(),
        value: vec![writer],
    };
    Batch {
        streams: vec![append],
        puts: vec![put],
        claims: (number == 0).then_some(claim).into_iter().collect(),
        ..Batch::default()
    }
}

/// What a writer was told.
#[derive(Default)]
struct Told {
    acknowledged: Vec<(Appended, u8, u8)>,
    claimed: BTreeSet<u8>,
    failures: usize,
}

fn write(log: &Log, told: &Mutex<Told>, writer: u8) {
    let mut expected = 0;
    let mut number = 0;
    while number < APPENDS {
        let mut wish = batch(writer, number, expected);
        let claims = !wish.claims.is_empty();
        if claims && log.claim(b"first").is_some() {
            wish.claims.clear();
        }
        let claims = !wish.claims.is_empty();
        let has_failed = told.lock().expect("nobody panicked").failures != 0;
        match log.append(wish) {
            Ok(appended) => {
                assert!(!has_failed, "taken after a failure was told");
                // Acknowledged is durable, and from now on everybody can read it.
                assert!(appended.last <= log.durable(), "told before it was durable");
                assert!(appended.last <= log.head());
                assert!(expected < log.stream_version(&stream()));
                let mut told = told.lock().expect("nobody panicked");
                told.acknowledged.push((appended, writer, number));
                if claims {
                    assert!(told.claimed.insert(writer));
                }
                (expected, number) = (expected + 1, number + 1);
            }
            Err(AppendError::VersionConflict { actual, .. }) => {
                assert_ne!(actual, expected);
                expected = actual;
            }
            Err(AppendError::ClaimTaken { .. }) => assert!(claims),
            Err(AppendError::Io(_) | AppendError::Stopped { .. }) => {
                told.lock().expect("nobody panicked").failures += 1;
                return;
            }
            Err(error @ (AppendError::Full { .. } | AppendError::Invalid { .. })) => {
                panic!("{error}")
            }
        }
    }
}

/// Looks at everything that a reader can look at; each look asserts that it is durable.
fn read(log: &Log) {
    for _ in 0..3 {
        let entry = log.entry(b"latest");
        let entry = entry.map(|value| Version::from_be_bytes(value.try_into().expect("8 bytes")));
        // One stream alone is written to, so its versions are the positions.
        assert!(
            entry.unwrap_or(0) <= log.durable(),
            "an entry ahead of its record"
        );
        assert!(entry.unwrap_or(0) <= log.stream_version(&stream()));
        for (_, value) in log.entries() {
            let version = Version::from_be_bytes(value.try_into().expect("8 bytes"));
            assert!(version <= log.durable(), "an entry ahead of its record");
        }
        let records = log.records();
        let mut head = Head::default();
        for record in &records {
            assert_eq!(head.refuse(record), None);
            head = Head::after(record);
        }
        assert!(head.position <= log.head());
        assert!(records.len() <= log.stream(&stream()).len());
        if let Some(writer) = log.claim(b"first") {
            let records = log.records();
            assert!(records.iter().any(|record| record.body[..1] == writer[..]));
        }
    }
}

fn run(disk: &Disk, syncs: u64) -> Told {
    let log = Arc::new(Log::open(disk, syncs));
    let told = Arc::new(Mutex::new(Told::default()));
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let (log, told) = (Arc::clone(&log), Arc::clone(&told));
        threads.push(thread::spawn(move || write(&log, &told, writer)));
    }
    let reader = Arc::clone(&log);
    threads.push(thread::spawn(move || read(&reader)));
    for thread in threads {
        thread.join().expect("no panic");
    }
    let told = Arc::into_inner(told).expect("all have ended");
    let told = told.into_inner().expect("nobody panicked");
    let records = log.records();
    for (appended, writer, number) in &told.acknowledged {
        let place = usize::try_from(appended.last - 1).expect("a place");
        assert_eq!(
            records[place].body,
            [*writer, *number],
            "read as it was told"
        );
    }
    assert_eq!(records.len(), told.acknowledged.len(), "each is told once");
    assert!(told.claimed.len() <= 1, "one claim, one holder");
    Arc::into_inner(log).expect("all have ended").close();
    told
}

/// Concurrent appends with versions and claims, and a reader.
pub fn appends() -> impl Fn() + Send + Sync + 'static {
    let disk = Disk::new();
    move || {
        let told = run(&disk, SYNCS_ALL);
        assert_eq!(told.failures, 0);
        assert_eq!(told.acknowledged.len(), usize::from(WRITERS * APPENDS));
        assert_eq!(told.claimed.len(), 1);
    }
}

/// The same, on a device that fails after one sync or two: nothing is taken after the failure, and
/// nobody ever reads what failed.
pub fn failing_device() -> impl Fn() + Send + Sync + 'static {
    let disk = Disk::new();
    move || {
        for syncs in [1, 2] {
            run(&disk, syncs);
        }
    }
}

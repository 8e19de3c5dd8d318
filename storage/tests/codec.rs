//! The stored form of a record, and the chain.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use holdpoint_storage::chain::{Head, hash_of};
use holdpoint_storage::codec::{self, DecodeError};
use holdpoint_storage::{Hash, Record, StreamId};
use proptest::prelude::*;

fn sealed(mut record: Record) -> Record {
    record.hash = hash_of(&record);
    record
}

fn sample(name: &str) -> Record {
    let stream = |name: &str| StreamId::new(name).expect("a name");
    sealed(match name {
        "small" => Record {
            position: 1,
            stream: stream("a"),
            version: 1,
            time_ms: 0,
            actor: String::new(),
            kind: String::new(),
            body: Vec::new(),
            prev: Hash::default(),
            hash: Hash::default(),
        },
        "usual" => Record {
            position: 70_000,
            stream: stream("action/0190c7e2-6f3a-7b1c-9d4e-5f60718293a4"),
            version: 7,
            time_ms: 1_790_000_000_123,
            actor: "per_0190c7e2".into(),
            kind: "action.staged".into(),
            body: br#"{"tool":"issue_refund","reason":"caf\u00e9"}"#.to_vec(),
            prev: Hash([0xab; 32]),
            hash: Hash::default(),
        },
        "extreme" => Record {
            position: u64::MAX,
            stream: stream(&"~".repeat(StreamId::LENGTH_MAX)),
            version: u64::MAX,
            time_ms: i64::MIN,
            actor: "é".repeat(64),
            kind: "k".repeat(64),
            body: (0..=255).collect(),
            prev: Hash([0xff; 32]),
            hash: Hash::default(),
        },
        other => panic!("no sample {other}"),
    })
}

/// What was written once must be read for ever. `HOLDPOINT_WRITE_SAMPLES=1` writes the samples of a
/// new format; those of an old one are never written again.
#[test]
fn i26_samples_of_every_stored_format_are_read() {
    for name in ["small", "usual", "extreme"] {
        let record = sample(name);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!(
            "tests/formats/record-v{}-{name}.hex",
            codec::FORMAT
        ));
        let stored = codec::encode(&record).expect("encodes");
        if std::env::var_os("HOLDPOINT_WRITE_SAMPLES").is_some() {
            fs::write(&path, to_hex(&stored)).expect("writes");
        }
        let golden = from_hex(&fs::read_to_string(&path).expect("the sample exists"));
        assert_eq!(codec::decode(&golden), Ok(record), "{name} is read");
        assert_eq!(
            to_hex(&stored),
            to_hex(&golden),
            "{name} is written as ever"
        );
    }
}

/// 32 bytes a line.
fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(32) {
        for byte in line {
            write!(text, "{byte:02x}").expect("a string takes everything");
        }
        text.push('\n');
    }
    text
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte"))
        .collect()
}

#[test]
fn i07_every_flipped_bit_of_a_stored_record_is_found() {
    for name in ["small", "usual", "extreme"] {
        let stored = codec::encode(&sample(name)).expect("encodes");
        for bit in 0..stored.len() * 8 {
            let mut flipped = stored.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            codec::decode(&flipped).expect_err("a flipped bit is found");
        }
    }
}

#[test]
fn bytes_that_are_no_record_are_refused() {
    let stored = codec::encode(&sample("usual")).expect("encodes");
    for length in 0..stored.len() {
        codec::decode(&stored[..length]).expect_err("a cut record is refused");
    }
    let longer = [stored.as_slice(), &[0]].concat();
    assert_eq!(codec::decode(&longer), Err(DecodeError::Checksum));
    // With a checksum that fits, the left-over byte is still an error.
    assert!(matches!(
        codec::decode(&resummed(longer)),
        Err(DecodeError::Content(_))
    ));
    let mut newer = stored.clone();
    newer[0] = codec::FORMAT + 1;
    assert_eq!(
        codec::decode(&newer),
        Err(DecodeError::Format(codec::FORMAT + 1))
    );
    let mut other = stored;
    let last = other.len() - 40;
    other[last] ^= 1;
    assert_eq!(
        codec::decode(&resummed(other)),
        Err(DecodeError::Hash),
        "checksum alone is no proof"
    );
    let huge = vec![codec::FORMAT; codec::RECORD_BYTES_MAX + 1];
    assert!(matches!(codec::decode(&huge), Err(DecodeError::Length(_))));
}

fn resummed(mut stored: Vec<u8>) -> Vec<u8> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&stored[..1]);
    hasher.update(&stored[5..]);
    stored[1..5].copy_from_slice(&hasher.finalize().to_le_bytes());
    stored
}

#[test]
fn i07_every_field_is_in_the_hash() {
    let record = sample("usual");
    let changes: [&dyn Fn(&mut Record); 8] = [
        &|record| record.position += 1,
        &|record| record.stream = StreamId::new("b").expect("a name"),
        &|record| record.version += 1,
        &|record| record.time_ms += 1,
        &|record| record.actor.push('x'),
        &|record| record.kind.push('x'),
        &|record| record.body.push(0),
        &|record| record.prev.0[0] ^= 1,
    ];
    for change in changes {
        let mut other = record.clone();
        change(&mut other);
        assert_ne!(hash_of(&other), record.hash);
    }
    // Moving bytes between neighbouring fields is a change too.
    let mut moved = record.clone();
    moved.kind.insert(0, moved.actor.pop().expect("an actor"));
    assert_ne!(hash_of(&moved), record.hash);
}

#[test]
fn i07_a_dropped_moved_or_late_record_breaks_the_chain() {
    let first = sample("small");
    let second = sealed(Record {
        position: 2,
        prev: first.hash,
        ..sample("small")
    });
    let third = sealed(Record {
        position: 3,
        prev: second.hash,
        ..sample("small")
    });
    let head = Head::after(&first);
    assert_eq!(head.refuse(&second), None);
    assert!(head.refuse(&third).is_some());
    assert!(Head::default().refuse(&second).is_some());
    assert!(
        head.refuse(&sealed(Record {
            position: 2,
            ..third
        }))
        .is_some()
    );
    assert!(
        head.refuse(&sealed(Record {
            time_ms: -1,
            ..second
        }))
        .is_some()
    );
}

prop_compose! {
    fn any_record()(
        position: u64, version: u64, time_ms: i64, prev: [u8; 32],
        stream in "[!-~]{1,96}", actor in ".{0,32}", kind in "[a-z.]{0,64}",
        body in prop::collection::vec(any::<u8>(), 0..2000),
    ) -> Record {
        let stream = StreamId::new(stream).expect("a name");
        let prev = Hash(prev);
        let hash = Hash::default();
        sealed(Record { position, stream, version, time_ms, actor, kind, body, prev, hash })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_record_survives_being_stored(record in any_record()) {
        prop_assert_eq!(codec::decode(&codec::encode(&record).expect("encodes")), Ok(record));
    }

    #[test]
    fn i07_a_flipped_bit_anywhere_is_found(record in any_record(), bit: prop::sample::Index) {
        let mut stored = codec::encode(&record).expect("encodes");
        let bit = bit.index(stored.len() * 8);
        stored[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(codec::decode(&stored).is_err());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), whole: bool) {
        let bytes = if whole { resummed([&[codec::FORMAT, 0, 0, 0, 0], bytes.as_slice()].concat()) } else { bytes };
        prop_assert!(codec::decode(&bytes).is_err());
    }
}

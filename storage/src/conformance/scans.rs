//! Index entries and their order.

use super::{Log, applied, put};
use crate::batch::Batch;
use crate::log::{Direction, EventLog, ScanRange};

const KEYS: [&[u8]; 9] = [
    b"",
    b"a",
    b"a\0",
    b"a/1",
    b"a/1\xff",
    b"a/2",
    b"a0",
    b"b",
    b"\xff\xff\xff",
];

async fn filled(log: &dyn EventLog) {
    let puts = KEYS.iter().map(|key| put(7, key, key)).collect();
    applied(
        log,
        Batch {
            puts,
            ..Batch::default()
        },
    )
    .await;
}

fn keys(log: &dyn EventLog, range: ScanRange<'_>, limit: usize, way: Direction) -> Vec<Vec<u8>> {
    let entries = log.scan(7, range, limit, way).expect("scans");
    assert!(entries.iter().all(|(key, value)| key == value));
    entries.into_iter().map(|(key, _)| key).collect()
}

pub(super) async fn scans_go_both_ways_within_bounds(log: Log) {
    filled(&*log).await;
    let bounds = KEYS.iter().copied().map(Some).chain([None]);
    let bounds: Vec<_> = bounds
        .chain([Some(&b"a/"[..]), Some(b"zz"), Some(b"a/1\xff\xff")])
        .collect();
    for prefix in KEYS.iter().copied().chain([&b"a/"[..], b"c"]) {
        for above in &bounds {
            for below in &bounds {
                let range = ScanRange {
                    prefix,
                    above: *above,
                    below: *below,
                };
                let mut expected: Vec<_> = KEYS
                    .iter()
                    .filter(|key| key.starts_with(prefix))
                    .filter(|key| above.is_none_or(|above| above < **key))
                    .filter(|key| below.is_none_or(|below| **key < below))
                    .map(|key| key.to_vec())
                    .collect();
                expected.sort();
                assert_eq!(
                    keys(&*log, range, 100, Direction::Forward),
                    expected,
                    "{range:?}"
                );
                expected.reverse();
                assert_eq!(
                    keys(&*log, range, 100, Direction::Backward),
                    expected,
                    "{range:?}"
                );
                expected.truncate(2);
                assert_eq!(
                    keys(&*log, range, 2, Direction::Backward),
                    expected,
                    "{range:?}"
                );
            }
        }
    }
}

pub(super) async fn pages_put_together_give_the_whole(log: Log) {
    let puts = (0..500u32).map(|number| put(7, &number.to_be_bytes(), &number.to_be_bytes()));
    applied(
        &*log,
        Batch {
            puts: puts.collect(),
            ..Batch::default()
        },
    )
    .await;
    for way in [Direction::Forward, Direction::Backward] {
        let whole = keys(&*log, ScanRange::default(), 1000, way);
        assert_eq!(whole.len(), 500);
        let mut paged: Vec<Vec<u8>> = Vec::new();
        loop {
            let cursor = paged.last().cloned();
            let range = match way {
                Direction::Forward => ScanRange {
                    above: cursor.as_deref(),
                    ..ScanRange::default()
                },
                Direction::Backward => ScanRange {
                    below: cursor.as_deref(),
                    ..ScanRange::default()
                },
            };
            let page = keys(&*log, range, 33, way);
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, whole);
    }
}

pub(super) async fn indexes_are_apart(log: Log) {
    let puts = (0..=255u8)
        .map(|index| put(index, b"key", &[index]))
        .collect();
    applied(
        &*log,
        Batch {
            puts,
            ..Batch::default()
        },
    )
    .await;
    for index in 0..=255u8 {
        let expected = [(b"key".to_vec(), vec![index])];
        for way in [Direction::Forward, Direction::Backward] {
            let entries = log
                .scan(index, ScanRange::default(), 10, way)
                .expect("scans");
            assert_eq!(entries, expected);
        }
    }
    assert_eq!(log.claim(b"key").expect("reads"), None);
}

pub(super) async fn puts_replace_and_deletes_remove(log: Log) {
    let puts = |value: &[u8]| Batch {
        puts: vec![put(1, b"k", value)],
        ..Batch::default()
    };
    applied(&*log, puts(b"one")).await;
    applied(&*log, puts(b"two")).await;
    assert_eq!(log.get(1, b"k").expect("reads"), Some(b"two".to_vec()));
    // Deletes come before puts, and of two puts the later one holds.
    let mut both = puts(b"three");
    both.puts.push(put(1, b"k", b"four"));
    both.deletes.push((1, b"k".to_vec()));
    applied(&*log, both).await;
    assert_eq!(log.get(1, b"k").expect("reads"), Some(b"four".to_vec()));
    let delete = Batch {
        deletes: vec![(1, b"k".to_vec())],
        ..Batch::default()
    };
    applied(&*log, delete.clone()).await;
    applied(&*log, delete).await;
    assert_eq!(log.get(1, b"k").expect("reads"), None);
    assert!(keys(&*log, ScanRange::default(), 10, Direction::Forward).is_empty());
}

//! What an append does and refuses.

use std::sync::Arc;

use super::{Log, append, applied, claim, put, record, refused, stream};
use crate::batch::{Batch, StreamAppend};
use crate::bounds::{ACTOR_BYTES_MAX, CLAIM_VALUE_BYTES_MAX, KIND_BYTES_MAX};
use crate::log::{AppendError, BODY_BYTES_MAX, KEY_BYTES_MAX};
use crate::verify::verify_chain;

pub(super) async fn positions_and_versions_are_dense(log: Log) {
    assert_eq!(log.stats().expect("stats").last_position, 0);
    let first = applied(&*log, append("a", 0, &["one", "two"])).await;
    assert_eq!((first.first, first.last), (1, 2));
    let second = applied(&*log, append("b", 0, &["three"])).await;
    assert_eq!((second.first, second.last), (3, 3));
    let third = applied(&*log, append("a", 2, &["four"])).await;
    assert_eq!((third.first, third.last), (4, 4));

    let all = log.read_all(0, 10).expect("reads");
    let seen: Vec<_> = all
        .iter()
        .map(|found| (found.position, found.stream.as_str(), found.version))
        .collect();
    assert_eq!(seen, [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "a", 3)]);
    assert_eq!(log.stream_version(&stream("a")).expect("reads"), 3);
    assert_eq!(log.stream_version(&stream("nobody")).expect("reads"), 0);
    let stats = log.stats().expect("stats");
    assert_eq!((stats.records, stats.last_position), (4, 4));
    assert_eq!(stats.last_hash, all[3].hash);
    assert_eq!(verify_chain(&*log, 0, u64::MAX).expect("whole").records, 4);
}

pub(super) async fn records_of_a_batch_are_adjacent_and_in_order(log: Log) {
    let mut batch = append("z", 0, &["1", "2"]);
    batch.streams.extend(append("a", 0, &["3"]).streams);
    batch.streams.extend(append("m", 0, &["4", "5"]).streams);
    applied(&*log, batch).await;
    let kinds: Vec<_> = log
        .read_all(0, 10)
        .expect("reads")
        .into_iter()
        .map(|found| found.kind)
        .collect();
    assert_eq!(kinds, ["1", "2", "3", "4", "5"]);
}

pub(super) async fn a_conflict_writes_nothing(log: Log) {
    applied(&*log, append("a", 0, &["one"])).await;
    let mut batch = append("b", 0, &["never"]);
    batch.streams.extend(append("a", 0, &["never"]).streams);
    batch.puts.push(put(1, b"key", b"never"));
    batch.claims.push(claim(b"claim", b"never"));
    let before = log.stats().expect("stats").last_hash;
    match refused(&*log, batch).await {
        AppendError::VersionConflict {
            stream: of,
            expected: 0,
            actual: 1,
        } => {
            assert_eq!(of, stream("a"));
        }
        other => panic!("another error: {other}"),
    }
    assert_eq!(log.stats().expect("stats").last_hash, before);
    assert_eq!(log.stream_version(&stream("b")).expect("reads"), 0);
    assert_eq!(log.get(1, b"key").expect("reads"), None);
    assert_eq!(log.claim(b"claim").expect("reads"), None);
}

pub(super) async fn a_taken_claim_writes_nothing(log: Log) {
    let mut first = append("a", 0, &["one"]);
    first.claims.push(claim(b"key", b"a was here"));
    applied(&*log, first).await;
    let mut second = append("b", 0, &["never"]);
    second.claims.push(claim(b"free", b""));
    second.claims.push(claim(b"key", b"b"));
    match refused(&*log, second).await {
        AppendError::ClaimTaken { key, holder } => {
            assert_eq!(
                (key.as_slice(), holder.as_slice()),
                (&b"key"[..], &b"a was here"[..])
            );
        }
        other => panic!("another error: {other}"),
    }
    assert_eq!(log.stream_version(&stream("b")).expect("reads"), 0);
    assert_eq!(log.claim(b"free").expect("reads"), None);
    assert_eq!(
        log.claim(b"key").expect("reads"),
        Some(b"a was here".to_vec())
    );
}

pub(super) async fn claims_can_be_released_and_handed_over(log: Log) {
    let take = |value: &[u8]| Batch {
        claims: vec![claim(b"key", value)],
        ..Batch::default()
    };
    applied(&*log, take(b"first")).await;
    let mut over = take(b"second");
    over.releases.push(b"key".to_vec());
    applied(&*log, over).await;
    assert_eq!(log.claim(b"key").expect("reads"), Some(b"second".to_vec()));
    let release = Batch {
        releases: vec![b"key".to_vec()],
        ..Batch::default()
    };
    applied(&*log, release.clone()).await;
    assert_eq!(log.claim(b"key").expect("reads"), None);
    applied(&*log, release).await; // What is not there is no error.
    applied(&*log, take(b"third")).await;
}

pub(super) async fn an_append_without_records_checks_the_version(log: Log) {
    applied(&*log, append("a", 0, &["one"])).await;
    let checked = applied(&*log, append("a", 1, &[])).await;
    assert_eq!((checked.first, checked.last), (1, 1));
    assert!(matches!(
        refused(&*log, append("a", 0, &[])).await,
        AppendError::VersionConflict { .. }
    ));
    assert_eq!(applied(&*log, Batch::default()).await.last, 1);
}

pub(super) async fn time_never_goes_back(log: Log) {
    let at = |version, times: &[i64]| {
        let mut batch = append("a", version, &vec!["tick"; times.len()]);
        for (record, time_ms) in batch.streams[0].records.iter_mut().zip(times) {
            record.time_ms = *time_ms;
        }
        batch
    };
    assert_eq!(applied(&*log, at(0, &[-5])).await.time_ms, -5);
    assert_eq!(applied(&*log, at(1, &[100, 300, 200])).await.time_ms, 300);
    assert_eq!(applied(&*log, at(4, &[50])).await.time_ms, 300);
    let times: Vec<_> = log
        .read_all(0, 10)
        .expect("reads")
        .iter()
        .map(|found| found.time_ms)
        .collect();
    assert_eq!(times, [-5, 300, 300, 300, 300]);
}

pub(super) async fn bounds_are_refused(log: Log) {
    let bytes = |length: usize| vec![b'x'; length];
    let with = |change: &dyn Fn(&mut Batch)| {
        let mut batch = append("a", 0, &["one"]);
        change(&mut batch);
        batch
    };
    let broken = [
        with(&|batch| batch.streams[0].records[0].body = bytes(BODY_BYTES_MAX + 1)),
        with(&|batch| batch.streams[0].records[0].actor = "x".repeat(ACTOR_BYTES_MAX + 1)),
        with(&|batch| batch.streams[0].records[0].kind = "x".repeat(KIND_BYTES_MAX + 1)),
        with(&|batch| batch.streams.extend(append("a", 1, &["two"]).streams)),
        with(&|batch| batch.puts.push(put(1, &bytes(KEY_BYTES_MAX + 1), b""))),
        with(&|batch| batch.puts.push(put(1, b"k", &bytes(BODY_BYTES_MAX + 1)))),
        with(&|batch| {
            batch
                .puts
                .extend((0..5).map(|key| put(1, &[key], &bytes(BODY_BYTES_MAX))));
        }),
        with(&|batch| batch.deletes.push((1, bytes(KEY_BYTES_MAX + 1)))),
        with(&|batch| batch.claims.push(claim(&bytes(KEY_BYTES_MAX + 1), b""))),
        with(&|batch| {
            batch
                .claims
                .push(claim(b"k", &bytes(CLAIM_VALUE_BYTES_MAX + 1)));
        }),
        with(&|batch| batch.claims.extend([claim(b"k", b"1"), claim(b"k", b"2")])),
        with(&|batch| batch.releases.push(bytes(KEY_BYTES_MAX + 1))),
        with(&|batch| batch.releases.extend(vec![Vec::new(); 20_000])),
    ];
    for (number, batch) in broken.into_iter().enumerate() {
        let error = refused(&*log, batch).await;
        assert!(
            matches!(error, AppendError::Invalid { .. }),
            "batch {number}: {error}"
        );
    }
    assert_eq!(log.stats().expect("stats").last_position, 0);
}

pub(super) async fn large_values_survive_and_shrink(log: Log) {
    // Around the size at which a store may split values, and the largest allowed.
    let sizes = [
        0,
        1,
        7162,
        7163,
        7164,
        7168,
        14_326,
        14_327,
        100_000,
        BODY_BYTES_MAX,
        20_000,
        3,
    ];
    for (version, size) in (0u64..).zip(sizes) {
        let value: Vec<u8> = (0..size)
            .map(|at| u8::try_from(at % 251).unwrap_or(0))
            .collect();
        let mut batch = append("large", version, &["body"]);
        batch.streams[0].records[0].body.clone_from(&value);
        batch.puts.push(put(2, b"key", &value));
        applied(&*log, batch).await;
        let stored = log
            .read_stream(&stream("large"), version, 2)
            .expect("reads");
        assert_eq!(stored.len(), 1);
        assert!(
            stored[0].body == value,
            "a body of {size} bytes came back changed"
        );
        assert!(
            log.get(2, b"key").expect("reads") == Some(value),
            "a value of {size} bytes"
        );
    }
    let delete = Batch {
        deletes: vec![(2, b"key".to_vec())],
        ..Batch::default()
    };
    applied(&*log, delete).await;
    assert_eq!(log.get(2, b"key").expect("reads"), None);
    verify_chain(&*log, 0, u64::MAX).expect("whole");
}

pub(super) async fn one_of_many_rivals_wins(log: Log) {
    let rivals: Vec<_> = (0..32u8)
        .map(|rival| {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let mut batch = append("prize", 0, &["won"]);
                batch.streams[0].records[0].body = vec![rival];
                let mut other = append(&format!("rival/{rival}"), 0, &["took"]);
                other.claims.push(claim(b"prize", &[rival]));
                (
                    log.append(batch).await.is_ok(),
                    log.append(other).await.is_ok(),
                )
            })
        })
        .collect();
    let (mut by_version, mut by_claim) = (0, 0);
    for rival in rivals {
        let (version, claim) = rival.await.expect("no panic");
        by_version += u32::from(version);
        by_claim += u32::from(claim);
    }
    assert_eq!((by_version, by_claim), (1, 1));
    assert_eq!(log.stream_version(&stream("prize")).expect("reads"), 1);
}

pub(super) async fn the_log_is_dense_and_chained_under_concurrent_writers(log: Log) {
    let writers: Vec<_> = (0..64u64)
        .map(|writer| {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let own = format!("writer/{writer}");
                for version in 0..8 {
                    let mut batch = append(&own, version * 2, &["first", "second"]);
                    batch
                        .puts
                        .push(put(1, own.as_bytes(), &version.to_be_bytes()));
                    applied(&*log, batch).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no panic");
    }
    let all = log.read_all(0, 2000).expect("reads");
    assert_eq!(all.len(), 64 * 16);
    for pair in all.chunks(2) {
        assert_eq!(pair[0].stream, pair[1].stream, "batches are not mixed");
    }
    assert_eq!(
        verify_chain(&*log, 0, u64::MAX).expect("whole").records,
        64 * 16
    );
    for writer in 0..64 {
        let own = stream(&format!("writer/{writer}"));
        let records = log.read_stream(&own, 0, 100).expect("reads");
        assert!(records.iter().map(|found| found.version).eq(1..=16));
    }
    let more = StreamAppend {
        stream: stream("many"),
        expected: 0,
        records: vec![record("x", b"x"); 300],
    };
    applied(
        &*log,
        Batch {
            streams: vec![more],
            ..Batch::default()
        },
    )
    .await;
    assert_eq!(log.stream_version(&stream("many")).expect("reads"), 300);
}

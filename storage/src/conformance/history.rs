//! Random histories: the same steps on two logs must give the same answers.

use super::{claim, put, stream};
use crate::batch::{Batch, StreamAppend};
use crate::log::{AppendError, Direction, EventLog, ScanRange};
use crate::record::NewRecord;

/// A source of numbers that depends on its seed alone (splitmix64).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The source for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or(0)
    }

    fn key(&mut self) -> Vec<u8> {
        let length = self.below(4);
        // Few letters, so that keys meet; the extremes, for the bounds of scans.
        (0..length)
            .map(|_| [0, b'a', b'b', 0xff][usize::from(self.byte() % 4)])
            .collect()
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(12) {
            0 => self.below(40_000),
            1 => 7_160 + self.below(10),
            _ => self.below(40),
        };
        let byte = self.byte();
        (0..length).map(|_| byte).collect()
    }

    /// A batch that is mostly, but not always, one that `log` takes.
    pub fn batch(&mut self, log: &dyn EventLog) -> Batch {
        let mut batch = Batch::default();
        let first = self.below(6);
        for number in 0..self.below(3) {
            let stream = stream(&format!("s/{}", (first + number) % 6));
            let mut expected = log.stream_version(&stream).expect("reads");
            if self.below(10) == 0 {
                expected += 1;
            }
            let count = if self.below(20) == 0 {
                150
            } else {
                self.below(4)
            };
            let records = (0..count).map(|_| NewRecord {
                time_ms: i64::try_from(self.below(1_000_000)).unwrap_or(0),
                actor: format!("per_{}", self.below(5)),
                kind: "drawn".to_owned(),
                body: self.value(),
            });
            let records = records.collect();
            batch.streams.push(StreamAppend {
                stream,
                expected,
                records,
            });
        }
        for _ in 0..self.below(4) {
            batch
                .puts
                .push(put(self.byte() % 2, &self.key(), &self.value()));
        }
        for _ in 0..self.below(3) {
            batch.deletes.push((self.byte() % 2, self.key()));
        }
        if self.below(4) == 0 {
            batch.claims.push(claim(&self.key(), &[self.byte()]));
        }
        if self.below(4) == 0 {
            batch.releases.push(self.key());
        }
        batch
    }
}

/// Gives both logs the same `steps` drawn batches and compares every answer, then everything that
/// can be read.
pub async fn same_answers(draw: &mut Draw, steps: u32, left: &dyn EventLog, right: &dyn EventLog) {
    for step in 0..steps {
        let batch = draw.batch(left);
        let answers = (left.append(batch.clone()).await, right.append(batch).await);
        match answers {
            (Ok(left), Ok(right)) => assert_eq!(left, right, "step {step}"),
            (Err(left), Err(right)) => assert_eq!(told(&left), told(&right), "step {step}"),
            (left, right) => panic!("step {step}: {left:?} but {right:?}"),
        }
        if draw.below(8) == 0 {
            same_scans(draw, left, right);
        }
    }
    same_content(left, right);
}

/// Compares everything that can be read of two logs.
pub fn same_content(left: &dyn EventLog, right: &dyn EventLog) {
    let records = left.read_all(0, usize::MAX).expect("reads");
    assert_eq!(records, right.read_all(0, usize::MAX).expect("reads"));
    for number in 0..6 {
        let stream = stream(&format!("s/{number}"));
        let version = left.stream_version(&stream).expect("reads");
        assert_eq!(version, right.stream_version(&stream).expect("reads"));
        for after in [0, version / 2, version.saturating_sub(1)] {
            let records = left.read_stream(&stream, after, 1000).expect("reads");
            assert_eq!(
                records,
                right.read_stream(&stream, after, 1000).expect("reads")
            );
        }
    }
    for index in 0..2 {
        for way in [Direction::Forward, Direction::Backward] {
            let entries = left
                .scan(index, ScanRange::default(), 1000, way)
                .expect("scans");
            for (key, value) in &entries {
                assert_eq!(right.get(index, key).expect("reads").as_ref(), Some(value));
            }
            let others = right
                .scan(index, ScanRange::default(), 1000, way)
                .expect("scans");
            assert_eq!(entries, others);
        }
    }
}

fn same_scans(draw: &mut Draw, left: &dyn EventLog, right: &dyn EventLog) {
    let (prefix, above, below) = (draw.key(), draw.key(), draw.key());
    let bounded = draw.below(4);
    let range = ScanRange {
        prefix: &prefix[..prefix.len().min(1)],
        above: (bounded & 1 == 0).then_some(&above),
        below: (bounded & 2 == 0).then_some(&below),
    };
    for way in [Direction::Forward, Direction::Backward] {
        let entries = left.scan(0, range, 5, way).expect("scans");
        assert_eq!(
            entries,
            right.scan(0, range, 5, way).expect("scans"),
            "{range:?}"
        );
    }
    let claim = draw.key();
    assert_eq!(
        left.claim(&claim).expect("reads"),
        right.claim(&claim).expect("reads")
    );
}

/// An error as far as it must be the same everywhere.
fn told(error: &AppendError) -> String {
    format!("{error:?}")
}

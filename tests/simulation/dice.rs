//! Where every choice of a run comes from: the seed.

use std::sync::{Mutex, PoisonError};

use holdpoint_engine::time::{Entropy, EntropyError};
use holdpoint_storage::conformance::history::Draw;

/// One stream of numbers. Each part of the world has its own, so that a further choice in one of
/// them leaves the others as they were.
pub(crate) struct Dice(Mutex<Draw>);

impl Dice {
    /// The stream of `part` under `seed`.
    pub(crate) fn new(seed: u64, part: &str) -> Self {
        let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xcbf2_9ce4_8422_2325;
        for byte in part.bytes() {
            mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(Mutex::new(Draw::new(mixed)))
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        let mut draw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        draw.below(bound)
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn between(&self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Whether something happens that happens so many times in a thousand.
    pub(crate) fn in_thousand(&self, rate: u64) -> bool {
        self.below(1000) < rate
    }

    /// The place of one of `count` things.
    pub(crate) fn place(&self, count: usize) -> usize {
        usize::try_from(self.below(count.max(1) as u64)).unwrap_or(0)
    }

    /// One of several things.
    pub(crate) fn pick<'a, T>(&self, things: &'a [T]) -> Option<&'a T> {
        things.get(self.place(things.len()))
    }
}

/// Ids and tokens, too, depend on the seed alone.
impl Entropy for Dice {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        for byte in bytes {
            *byte = u8::try_from(self.below(256)).unwrap_or(0);
        }
        Ok(())
    }
}

//! Choices that a seed replays.

use holdpoint_engine::time::{Entropy, EntropyError, SystemEntropy};

/// `SplitMix64`: small, and good enough to choose moments.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that nobody chose.
    pub(crate) fn fresh_seed() -> Result<u64, EntropyError> {
        let mut bytes = [0; 8];
        SystemEntropy.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` - 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

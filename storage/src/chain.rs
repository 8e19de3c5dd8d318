//! The hash chain (invariant I7).
//!
//! The hash of a record is SHA-256 over, in this order:
//!
//! ```text
//! "holdpoint/record/1"  prev (32 bytes)  position  version  time_ms
//! length stream  length actor  length kind  length body
//! ```
//!
//! Every number is eight bytes, big-endian (`time_ms` in two's complement), and every text or body
//! comes after its length, so that no two different records have the same bytes. It depends on no
//! storage format: whoever has the exported fields can check it.

use sha2::{Digest, Sha256};

use crate::log::AppendError;
use crate::record::{Hash, Record};
use crate::seeded::Bug;

/// Sets these hashes apart from hashes of anything else, and names the version of the rule.
const DOMAIN: &[u8] = b"holdpoint/record/1";

/// What the hash of `record` must be, from every other field of it.
pub fn hash_of(record: &Record) -> Hash {
    let mut digest = Sha256::new();
    digest.update(DOMAIN);
    digest.update(record.prev.0);
    digest.update(record.position.to_be_bytes());
    digest.update(record.version.to_be_bytes());
    digest.update(record.time_ms.to_be_bytes());
    for field in [
        record.stream.as_str().as_bytes(),
        record.actor.as_bytes(),
        record.kind.as_bytes(),
        &record.body,
    ] {
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field);
    }
    Hash(digest.finalize().into())
}

/// The end of a chain, where the next record is tied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The position of the last record; 0 where there is none.
    pub position: u64,
    /// The hash of the last record; all zeros where there is none.
    pub hash: Hash,
    /// The time of the last record, in milliseconds since the Unix epoch.
    pub time_ms: Option<i64>,
}

impl Head {
    /// The head after `record`.
    pub fn after(record: &Record) -> Self {
        Self {
            position: record.position,
            hash: record.hash,
            time_ms: Some(record.time_ms),
        }
    }

    /// The time for a batch that asks for `asked`: the latest of them, never before the log's.
    pub fn time_for(&self, asked: impl IntoIterator<Item = i64>) -> i64 {
        asked.into_iter().chain(self.time_ms).max().unwrap_or(0)
    }

    /// Moves on to `next`, which must be the record that follows; else says why it cannot be stored.
    pub fn take(self, next: &Record) -> Result<Self, AppendError> {
        let reason = match next.version {
            0 => Some("it has no version"),
            _ => self.refuse(next),
        };
        match reason {
            Some(reason) => Err(AppendError::Invalid {
                reason: format!("record {} does not follow: {reason}", next.position),
            }),
            None => Ok(Self::after(next)),
        }
    }

    /// What is wrong with `next` as the record that follows this head, if anything is.
    pub fn refuse(&self, next: &Record) -> Option<&'static str> {
        if next.position != self.position + 1 {
            return Some("a record is missing");
        }
        if Bug::ChainSkipsOne.is_on() && next.position.is_multiple_of(2) {
            return None;
        }
        if next.prev != self.hash {
            return Some("it does not carry the hash of the record before it");
        }
        if hash_of(next) != next.hash {
            return Some("its hash does not match its content");
        }
        self.time_ms
            .is_some_and(|time| next.time_ms < time)
            .then_some("its time goes back")
    }
}

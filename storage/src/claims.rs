//! A digest over every claim of a log, in the order of their keys.
//!
//! Claims stand in no record, so the hash of the last record says nothing of them. This does: with the
//! hash beside it, it tells whether a log is the one that it was at its last record.
//!
//! It is SHA-256 over `"holdpoint/claims/1"`, and for each claim the length of its key, the key, the
//! length of its value and the value. Every length is eight bytes, big-endian.

use sha2::{Digest as _, Sha256};

use crate::log::{EventLog, ReadError};
use crate::record::Hash;

/// Sets it apart from digests of anything else, and names the version of the rule.
const DOMAIN: &[u8] = b"holdpoint/claims/1";

/// How many claims are read at once.
const PAGE: usize = 1024;

/// How many claims there are, and the digest over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// How many.
    pub count: u64,
    /// The digest over all of them.
    pub hash: Hash,
}

impl Claims {
    /// Those of a log.
    pub fn of(log: &dyn EventLog) -> Result<Self, ReadError> {
        let mut seen = Summed::default();
        each(log, |key, value| {
            seen.add(key, value);
            Ok::<_, ReadError>(())
        })?;
        Ok(seen.claims())
    }
}

/// Hands every claim of a log out, in the order of their keys.
pub(crate) fn each<E: From<ReadError>>(
    log: &dyn EventLog,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut above: Option<Vec<u8>> = None;
    loop {
        let claims = log.claims(above.as_deref(), PAGE)?;
        for (key, value) in &claims {
            take(key, value)?;
        }
        match claims.into_iter().last() {
            Some((key, _)) => above = Some(key),
            None => return Ok(()),
        }
    }
}

/// The digest while it is being made; claims come in the order of their keys.
#[derive(Clone)]
pub(crate) struct Summed {
    count: u64,
    digest: Sha256,
}

impl Default for Summed {
    fn default() -> Self {
        Self {
            count: 0,
            digest: Sha256::new_with_prefix(DOMAIN),
        }
    }
}

impl Summed {
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        for part in [key, value] {
            self.digest.update((part.len() as u64).to_be_bytes());
            self.digest.update(part);
        }
    }

    pub(crate) fn claims(&self) -> Claims {
        Claims {
            count: self.count,
            hash: Hash(self.digest.clone().finalize().into()),
        }
    }
}

//! One request at a time for each key that clients choose.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use super::Engine;
use crate::canon::Digest;

/// Parts of any length, so that no two pairs make one key.
pub(super) fn claim_key(kind: &str, scope: &str, key: &str) -> Vec<u8> {
    let mut digest = Sha256::new();
    digest.update((scope.len() as u64).to_be_bytes());
    digest.update(scope);
    digest.update(key);
    let mut bytes = kind.as_bytes().to_vec();
    bytes.extend_from_slice(&digest.finalize());
    bytes
}

/// A claim that this program did not write.
#[derive(Debug, thiserror::Error)]
#[error("the value of a claim is damaged")]
pub(super) struct DamagedClaim;

/// What a claim holds: what was asked for, and the id of what came of it.
pub(super) fn claimed(holder: &[u8]) -> Result<(Digest, [u8; 16]), DamagedClaim> {
    let parts = holder.split_at_checked(32);
    let parts =
        parts.and_then(|(digest, id)| Some((Digest(digest.try_into().ok()?), id.try_into().ok()?)));
    parts.ok_or(DamagedClaim)
}

/// A request key that is being worked on; free again when dropped.
pub(super) struct Alone {
    all: Arc<Mutex<HashSet<Vec<u8>>>>,
    key: Vec<u8>,
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.key);
    }
}

impl Engine {
    /// Begins to work on a request key; none where it is being worked on.
    pub(super) fn begin(&self, key: &[u8]) -> Option<Alone> {
        let all = &self.inner.in_progress;
        let is_new = all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.to_vec());
        is_new.then(|| Alone {
            all: Arc::clone(all),
            key: key.to_vec(),
        })
    }
}

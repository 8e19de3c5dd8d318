//! One request at a time for each key that clients choose.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_storage::{Claim, EventLog, ReadError};
use sha2::{Digest as _, Sha256};

use super::Engine;
use crate::canon::Digest;
use crate::identity::Principal;

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

/// A key that a client chose for a request, each principal's own, and what is asked for under it.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(super) key: Vec<u8>,
    /// Over all that is asked for.
    pub(super) fingerprint: Digest,
}

impl Asked {
    /// What is asked for under a key of one kind of request, where the client chose one.
    pub(super) fn of(
        kind: &str,
        by: &Principal,
        key: Option<&str>,
        fingerprint: Digest,
    ) -> Option<Self> {
        key.map(|key| Self {
            key: claim_key(kind, &by.id, key),
            fingerprint,
        })
    }

    /// The claim under which what came of it is found again.
    pub(super) fn claim(&self, id: &[u8; 16]) -> Claim {
        Claim {
            key: self.key.clone(),
            value: [self.fingerprint.0.as_slice(), id].concat(),
        }
    }

    /// What the first request under the key left; none where this is the first one.
    pub(super) fn held(&self, log: &dyn EventLog) -> Result<Option<Vec<u8>>, ReadError> {
        log.claim(&self.key)
    }
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

//! The same claim again, by a worker whose answer was lost.

use holdpoint_storage::{Direction, ReadError, ScanRange};

use super::unavailable;
use crate::action::{ClaimKey, Event, Snapshot};
use crate::engine::work::{Assignment, WorkError, WorkId};
use crate::engine::{Engine, Versioned};
use crate::identity::Principal;
use crate::store::codec;
use crate::store::index::{self, ClaimedKey};

/// The most leases that one key can stand for: of two claims at once that were both answered, where
/// the first of them is on its way back.
const SAME_MAX: usize = 16;

/// How many records of an action are read at once, from the end.
const PAGE: u64 = 64;

impl Engine {
    /// What the principal was given under this key, where it still has it.
    pub(super) fn given_before(
        &self,
        by: &Principal,
        asked: ClaimKey,
    ) -> Result<Option<Assignment>, WorkError> {
        let store = &self.inner.store;
        let range = ScanRange {
            prefix: asked.key.as_bytes(),
            ..ScanRange::default()
        };
        let entries = store
            .log
            .scan(index::CLAIMED, range, SAME_MAX, Direction::Forward)
            .map_err(unavailable)?;
        for (key, value) in &entries {
            let Some(entry) = ClaimedKey::parse(key, value) else {
                continue;
            };
            let Some(view) = store.load(entry.id).map_err(unavailable)? else {
                continue;
            };
            let Some((id, epoch, lease_until)) = self.still_held(by, &view, asked.key.as_bytes())
            else {
                continue;
            };
            if entry.asked.fingerprint != asked.fingerprint {
                return Err(WorkError::KeyReused { first: id });
            }
            let state = self.state_of(&view, id.attempt)?;
            return Ok(Some(Assignment {
                id,
                epoch,
                lease_until,
                action: Box::new(view.action),
                state,
            }));
        }
        Ok(None)
    }

    /// The attempt that the principal has at this moment, where it asked for it under this key.
    fn still_held(
        &self,
        by: &Principal,
        view: &Versioned,
        key: &[u8; 32],
    ) -> Option<(WorkId, u64, crate::time::Timestamp)> {
        let action = &view.action;
        let last = action.attempts.last().filter(|_| action.is_leased())?;
        let lease = last.lease.as_ref()?;
        let is_own = lease.worker.id == by.id
            && lease.key.is_some_and(|own| own.key.as_bytes() == key)
            && self.now() < lease.until;
        let id = WorkId {
            action: action.id,
            attempt: last.number,
        };
        is_own.then_some((id, lease.epoch, lease.until))
    }

    /// The state that the commit record of an attempt holds.
    fn state_of(&self, view: &Versioned, attempt: u32) -> Result<Option<Snapshot>, WorkError> {
        let stream = codec::stream_of(view.action.id);
        let mut end = view.version;
        while 0 < end {
            let after = end.saturating_sub(PAGE);
            let count = usize::try_from(end - after).unwrap_or(usize::MAX);
            let log = &self.inner.store.log;
            let records = log
                .read_stream(&stream, after, count)
                .map_err(unavailable)?;
            for record in records.iter().rev() {
                let event = codec::decode_event(record).map_err(|error| {
                    unavailable(ReadError::Corrupt {
                        place: format!("position {}", record.position),
                        reason: error.to_string(),
                    })
                })?;
                match event {
                    Event::CommitRecorded {
                        attempt: number,
                        revalidated,
                        ..
                    } if number == attempt => return Ok(revalidated),
                    _ => {} // The commit record stands further up.
                }
            }
            end = after;
        }
        Ok(None)
    }
}

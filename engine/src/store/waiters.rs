//! Who waits for a change of one action. A change wakes nobody else.

use std::collections::HashMap;
use std::sync::PoisonError;

use holdpoint_storage::Version;

use crate::action::ActionId;
use crate::seeded::Bug;
use crate::sync::{Mutex, MutexGuard, watch};

const SHARDS: usize = 32;

type Shard = HashMap<ActionId, Place>;

/// Where those who wait for one action are woken; there for as long as there are any.
struct Place {
    wake: watch::Sender<Version>,
    waiting: usize,
}

/// Everybody who waits, by action.
pub(crate) struct Waiters {
    shards: [Mutex<Shard>; SHARDS],
}

impl Default for Waiters {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

/// One waiter; gives its place back when dropped.
pub(crate) struct Waiter<'a> {
    waiters: &'a Waiters,
    id: ActionId,
    changed: watch::Receiver<Version>,
}

impl Waiters {
    /// Begins to wait. Look at the action after this, not before: a change in between is not missed.
    pub(crate) fn register(&self, id: ActionId) -> Waiter<'_> {
        let changed = {
            let mut shard = self.shard(id);
            let place = shard.entry(id).or_insert_with(|| Place {
                wake: watch::Sender::new(0),
                waiting: 0,
            });
            place.waiting += 1;
            place.wake.subscribe()
        };
        Waiter {
            waiters: self,
            id,
            changed,
        }
    }

    /// Wakes whoever waits for this action, after its change is durable.
    pub(crate) fn wake(&self, id: ActionId, version: Version) {
        if let Some(place) = self.shard(id).get(&id) {
            place.wake.send_replace(version);
        }
    }

    fn shard(&self, id: ActionId) -> MutexGuard<'_, Shard> {
        // The last byte of an id is random.
        let place = usize::from(id.as_bytes()[15]) % SHARDS;
        self.shards[place]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter<'_> {
    /// Waits for the next change.
    pub(crate) async fn changed(&mut self) {
        if Bug::LostWakeup.is_on() {
            self.changed.mark_unchanged();
        }
        // The sender lives in the map for as long as this waiter does.
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut shard = self.waiters.shard(self.id);
        if let Some(place) = shard.get_mut(&self.id) {
            place.waiting -= 1;
            if place.waiting == 0 {
                shard.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn i27_a_change_between_looking_and_waiting_is_not_missed() {
        let (waiters, id) = (Waiters::default(), ActionId::new(Timestamp(1), [7; 10]));
        let mut waiter = waiters.register(id);
        assert!(waiter.changed().now_or_never().is_none(), "nothing yet");
        waiters.wake(id, 2);
        assert!(waiter.changed().now_or_never().is_some(), "it was woken");
        assert!(waiter.changed().now_or_never().is_none(), "once");
        drop(waiter);
        assert!(waiters.shard(id).is_empty(), "the last one clears up");
    }
}

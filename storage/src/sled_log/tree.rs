//! Letting go of sled.

use std::ops::Deref;

use tracing::warn;

use super::fault::apart;

/// The tree of sled, which is let go of without a panic.
///
/// sled syncs its file once more when the last reference goes, and panics where that fails. By then
/// an error has been told to whoever has to know, and what was acknowledged is safe; so whoever
/// happens to hold the last reference, a reader perhaps, must not be ended by it.
pub(super) struct Tree(Option<sled::Db>);

impl Tree {
    pub(super) fn new(db: sled::Db) -> Self {
        Self(Some(db))
    }
}

impl Deref for Tree {
    type Target = sled::Db;

    fn deref(&self) -> &sled::Db {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let db = self.0.take();
        // Quietly, on the thread whose panics are told in words.
        let closed = apart(move || drop(db));
        if !closed.is_ok_and(|ended| ended.is_ok()) {
            warn!("closing the store: its last sync failed; what was acknowledged is safe");
        }
    }
}

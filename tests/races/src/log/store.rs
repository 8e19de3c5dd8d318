//! The real store over a device that knows what it holds, and that can fail.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::keys::{self, Tip};
use crate::record::Position;

/// The store and its device.
pub(crate) struct Store {
    pub(crate) db: sled::Db,
    /// The last position that is on the device.
    durable: AtomicU64,
    /// How many syncs go well; every one after these fails.
    syncs_left: AtomicU64,
}

impl Store {
    pub(crate) fn new(db: sled::Db, syncs: u64) -> Self {
        Self {
            db,
            durable: AtomicU64::new(0),
            syncs_left: AtomicU64::new(syncs),
        }
    }

    /// Brings everything in the tree to the device. While the device works, others go on.
    pub(crate) fn sync(&self) -> io::Result<()> {
        shuttle::thread::yield_now();
        let left = self.syncs_left.load(Ordering::SeqCst);
        if left == 0 {
            return Err(io::Error::other("the device failed"));
        }
        self.syncs_left.store(left - 1, Ordering::SeqCst);
        let tip = self.db.get(keys::TIP).map_err(io::Error::other)?;
        let tip = tip
            .and_then(|bytes| Tip::decode(&bytes))
            .unwrap_or_default();
        self.durable.store(tip.head.position, Ordering::SeqCst);
        shuttle::thread::yield_now();
        Ok(())
    }

    /// There is always room.
    #[expect(clippy::unused_self, reason = "as the real one")]
    pub(crate) fn too_full(&self, _bytes: usize) -> Option<String> {
        None
    }

    /// Nothing is set aside.
    #[expect(clippy::unused_self, reason = "as the real one")]
    pub(crate) fn wants_reserve(&self) -> bool {
        false
    }

    /// The last position that is on the device now.
    pub(crate) fn durable(&self) -> Position {
        self.durable.load(Ordering::SeqCst)
    }
}

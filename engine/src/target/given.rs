//! The secret inputs that a run was given.

use std::sync::Arc;

use tokio::sync::watch;

use crate::skill::Secrets;

/// The secrets of one run, in memory alone: given when it starts, and again after the process that had
/// them has ended. Whoever needs one can wait for it.
#[derive(Default)]
pub(crate) struct Given(watch::Sender<Arc<Secrets>>);

impl Given {
    /// Those that are known now.
    pub(crate) fn now(&self) -> Arc<Secrets> {
        Arc::clone(&self.0.borrow())
    }

    /// Adds some; of two under one name the later one holds.
    pub(crate) fn add(&self, more: &Secrets) {
        self.0
            .send_modify(|known| *known = Arc::new(known.with(more)));
    }

    /// Learns of those that are added.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Secrets>> {
        self.0.subscribe()
    }
}

//! Nobody has to wake the writer here: sled itself never fails.

use std::sync::Arc;

/// As the real one, it is held until the writer lets go.
#[derive(Default)]
pub(crate) struct Waker(Arc<()>);

pub(super) struct Watched(Arc<()>);

impl Waker {
    pub(super) fn begin(&self) -> Watched {
        Watched(Arc::clone(&self.0))
    }
}

//! What tasks and threads of the engine wait on, in one place: `tests/races` puts a scheduler's own
//! there, to try their interleavings.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicI64};
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock};

pub(crate) use tokio::sync::{Notify, mpsc, watch};

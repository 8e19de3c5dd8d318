//! What threads of the log wait on, in one place: `tests/races` puts a scheduler's own there, to try
//! their interleavings.

pub(super) use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(super) use tokio::sync::mpsc;

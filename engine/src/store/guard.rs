//! The log as everything in this process writes to it: the first error of a write ends taking and
//! sending for all of them, whoever met it (invariant I22).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdpoint_storage::{AppendError, Appended, Batch, EventLog, Record, forward_reads};

use super::Stop;

/// A log that tells [`Stop`] of its errors, and writes nothing after them. Reading goes on.
pub(crate) struct GuardedLog {
    inner: Arc<dyn EventLog>,
    stop: Arc<Stop>,
    is_closed: AtomicBool,
}

impl GuardedLog {
    /// A guard around `inner`.
    pub(crate) fn new(inner: Arc<dyn EventLog>, stop: Arc<Stop>) -> Self {
        Self {
            inner,
            stop,
            is_closed: AtomicBool::new(false),
        }
    }

    fn may_write(&self) -> Result<(), AppendError> {
        self.stop.may_write().map_err(|error| AppendError::Stopped {
            reason: error.to_string(),
        })
    }

    fn watch<T>(&self, outcome: Result<T, AppendError>) -> Result<T, AppendError> {
        match &outcome {
            // What comes after closing meets no error of the store.
            Err(AppendError::Stopped { .. }) if self.is_closed.load(Ordering::Acquire) => {}
            Err(error @ (AppendError::Io(_) | AppendError::Stopped { .. })) => {
                self.stop.fail(&format!(
                    "the store failed ({error}); repair it and start again"
                ));
            }
            Err(
                AppendError::VersionConflict { .. }
                | AppendError::ClaimTaken { .. }
                | AppendError::Invalid { .. }
                | AppendError::Full { .. },
            )
            | Ok(_) => {}
        }
        outcome
    }
}

#[async_trait]
impl EventLog for GuardedLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.may_write()?;
        self.watch(self.inner.append(batch).await)
    }

    fn may_append(&self) -> Result<(), AppendError> {
        self.may_write()?;
        self.inner.may_append()
    }

    forward_reads!(self => self.inner);

    async fn restore(&self, records: Vec<Record>) -> Result<(), AppendError> {
        self.may_write()?;
        self.watch(self.inner.restore(records).await)
    }

    fn confirm_origin(&self) -> std::io::Result<()> {
        self.inner.confirm_origin()
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.inner.close().await;
    }
}

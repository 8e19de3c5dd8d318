//! The log as everything in this process writes to it: the first error of a write ends taking and
//! sending for all of them, whoever met it (invariant I22).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdpoint_storage::{
    AppendError, Appended, Batch, Direction, Entries, EventLog, Origin, Position, ReadError,
    Record, ScanRange, Stats, StreamId, Subscription, Version,
};

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

    fn read_stream(
        &self,
        stream: &StreamId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.inner.read_stream(stream, after, limit)
    }

    fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError> {
        self.inner.stream_version(stream)
    }

    fn read_all(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.inner.read_all(after, limit)
    }

    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.inner.get(index, key)
    }

    fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        self.inner.scan(index, range, limit, direction)
    }

    fn claim(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.inner.claim(key)
    }

    fn subscribe(&self, after: Position) -> Subscription {
        self.inner.subscribe(after)
    }

    fn claims(&self, above: Option<&[u8]>, limit: usize) -> Result<Entries, ReadError> {
        self.inner.claims(above, limit)
    }

    async fn restore(&self, records: Vec<Record>) -> Result<(), AppendError> {
        self.may_write()?;
        self.watch(self.inner.restore(records).await)
    }

    fn origin(&self) -> Origin {
        self.inner.origin()
    }

    fn confirm_origin(&self) -> std::io::Result<()> {
        self.inner.confirm_origin()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.inner.stats()
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.inner.close().await;
    }
}

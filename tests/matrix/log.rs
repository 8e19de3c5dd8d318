//! A log whose appends can be stopped before the write, between write and sync, and after the sync.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_storage::{
    AppendError, Appended, Batch, EventLog, MemoryLog, ReadError, forward_reads,
};

use crate::hooks::{Hooks, Moment, Verdict};

/// The index of views.
const VIEWS: u8 = 1;

/// The log of one life of the engine. What `inner` holds is durable.
pub(crate) struct GatedLog {
    pub(crate) inner: Arc<MemoryLog>,
    pub(crate) hooks: Hooks,
}

fn io_error() -> io::Error {
    io::Error::other("an injected fault")
}

#[async_trait]
impl EventLog for GatedLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let records = batch.streams.iter().flat_map(|stream| &stream.records);
        let sites: Vec<_> = records
            .filter_map(|record| {
                let site = |moment| Hooks::site_of(&record.kind, moment);
                Some((
                    site(Moment::Before)?,
                    site(Moment::Written)?,
                    site(Moment::Synced)?,
                ))
            })
            .collect();
        for (before, ..) in &sites {
            if self.hooks.at(*before).await == Verdict::Fail {
                let reason = "an injected fault".to_owned();
                return Err(AppendError::Full { reason });
            }
        }
        let mut kept = None;
        for (_, written, _) in &sites {
            if self.hooks.keeps(*written) {
                kept = Some(self.inner.append(batch.clone()).await);
            }
            if self.hooks.at(*written).await == Verdict::Fail {
                return Err(AppendError::Io(io_error()));
            }
        }
        if self.hooks.is_dead() {
            return std::future::pending().await;
        }
        let appended = match kept {
            Some(appended) => appended,
            None => self.inner.append(batch).await,
        };
        for (.., synced) in &sites {
            if appended.is_ok() && self.hooks.at(*synced).await == Verdict::Fail {
                return Err(AppendError::Io(io_error()));
            }
        }
        appended
    }

    forward_reads!(self => self.inner, except get);

    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        if index == VIEWS && self.hooks.at_load() == Verdict::Fail {
            return Err(ReadError::Io(io_error()));
        }
        self.inner.get(index, key)
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

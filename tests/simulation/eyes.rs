//! The log as the engine reads it: what the disk holds, unless a read fails (D2).

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_storage::{
    AppendError, Appended, Batch, Direction, Entries, EventLog, Origin, Position, ReadError,
    Record, ScanRange, Stats, StreamId, Subscription, Version,
};

use crate::copies::Copies;
use crate::disk::{Parts, SimDisk};
use crate::weather::Fault;
use crate::world::Broken;

/// The engine's index of what is open, and what its keys begin with for what is unknown.
const OPEN: u8 = 2;
const EXECUTING: u8 = 4;
const UNKNOWN: u8 = 5;

/// Where in its keys the time stands at which the engine must look, and what stands there for never.
const DUE: std::ops::Range<usize> = 1..9;
const NEVER: [u8; 8] = i64::MAX.to_be_bytes();

/// The log of one process, read. See the [module](self).
pub(crate) struct Eyes {
    pub(crate) disk: Arc<SimDisk>,
    pub(crate) parts: Parts,
    pub(crate) copies: Arc<Copies>,
    /// What of it is broken on purpose: what the checks must find.
    pub(crate) broken: Broken,
}

impl Eyes {
    fn overlooks(&self, key: &[u8]) -> bool {
        let lane = key.first();
        match self.broken {
            Broken::Forgets => {
                lane == Some(&UNKNOWN)
                    && key.get(DUE).is_some_and(|due| *due != NEVER)
                    && key.last().is_some_and(|byte| byte % 2 == 0)
            }
            Broken::Hides => lane == Some(&UNKNOWN),
            Broken::ForgetsCopies => lane == Some(&EXECUTING) && self.copies.is_unconfirmed(),
            Broken::Nothing
            | Broken::Disk
            | Broken::Source
            | Broken::Switch
            | Broken::Post
            | Broken::PostTwice
            | Broken::Twice
            | Broken::Forged
            | Broken::Deaf => false,
        }
    }

    fn look(&self) -> Result<&SimDisk, ReadError> {
        let Parts { dice, weather, .. } = &self.parts;
        if weather.strikes(Fault::ReadFails, dice) {
            let error = std::io::Error::other("a simulated fault of a read");
            return Err(ReadError::Io(error));
        }
        Ok(&self.disk)
    }
}

#[async_trait]
impl EventLog for Eyes {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let appended = self.disk.append(batch).await;
        if let (Broken::Deaf, Err(AppendError::Io(_) | AppendError::Stopped { .. })) =
            (self.broken, &appended)
        {
            let last = self.disk.stats().map_or(0, |stats| stats.last_position);
            return Ok(Appended {
                first: last,
                last,
                time_ms: 0,
            });
        }
        appended
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.look()?.read_stream(stream, after, limit)
    }

    fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError> {
        self.look()?.stream_version(stream)
    }

    fn read_all(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.look()?.read_all(after, limit)
    }

    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.look()?.get(index, key)
    }

    fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        let mut found = self.look()?.scan(index, range, limit, direction)?;
        if index == OPEN {
            found.retain(|(key, _)| !self.overlooks(key));
        }
        Ok(found)
    }

    fn claim(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.look()?.claim(key)
    }

    fn claims(&self, above: Option<&[u8]>, limit: usize) -> Result<Entries, ReadError> {
        self.look()?.claims(above, limit)
    }

    fn subscribe(&self, after: Position) -> Subscription {
        self.disk.subscribe(after)
    }

    fn origin(&self) -> Origin {
        if self.copies.is_unconfirmed() {
            Origin::Copied
        } else {
            Origin::Own
        }
    }

    fn confirm_origin(&self) -> io::Result<()> {
        self.copies.confirm();
        Ok(())
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.disk.stats()
    }

    async fn close(&self) {
        self.disk.close().await;
    }
}

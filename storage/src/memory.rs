//! A log in memory, for tests and for trying things out. Nothing survives the process.
//!
//! It keeps every promise of [`EventLog`] but durability; [`crate::conformance`] holds it to that.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::batch::Batch;
use crate::bounds;
use crate::chain::{self, Head};
use crate::log::{
    AppendError, Appended, Direction, Entries, EventLog, ReadError, ScanRange, Stats,
};
use crate::record::{Hash, Position, Record, StreamId, Version};
use crate::subscription::{Subscription, TailSource};

/// A log in memory. See the [module](self).
pub struct MemoryLog {
    shared: Arc<Shared>,
    durable: watch::Receiver<Position>,
}

struct Shared {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    content: Content,
    /// `None` once the log is closed.
    publish: Option<watch::Sender<Position>>,
}

#[derive(Clone, Default)]
struct Content {
    records: Vec<Record>,
    streams: HashMap<StreamId, Vec<Position>>,
    entries: BTreeMap<(u8, Vec<u8>), Vec<u8>>,
    claims: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: u64,
    batches: u64,
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::over(Content::default())
    }

    /// Closes this log and answers with a new one that holds the same, as opening a folder again
    /// does.
    #[must_use]
    pub fn reopen(&self) -> Self {
        let mut state = self.shared.write();
        state.publish = None;
        Self::over(Content {
            batches: 0,
            ..state.content.clone()
        })
    }

    /// A second log that holds the same, as a copy of a folder does; this one goes on.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self::over(self.shared.read().content.clone())
    }

    fn over(content: Content) -> Self {
        let (publish, durable) = watch::channel(content.records.len() as Position);
        let state = RwLock::new(State {
            content,
            publish: Some(publish),
        });
        Self {
            shared: Arc::new(Shared { state }),
            durable,
        }
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    // No code that runs under the lock can panic half-way through a change, so a poisoned lock
    // guards a whole state all the same.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    fn version(&self, stream: &StreamId) -> Version {
        self.streams
            .get(stream)
            .map_or(0, |positions| positions.len() as Version)
    }

    fn head(&self) -> Head {
        self.records.last().map_or_else(Head::default, Head::after)
    }

    fn refuse(&self, batch: &Batch) -> Option<AppendError> {
        for append in &batch.streams {
            let actual = self.version(&append.stream);
            if actual != append.expected {
                let (stream, expected) = (append.stream.clone(), append.expected);
                return Some(AppendError::VersionConflict {
                    stream,
                    expected,
                    actual,
                });
            }
        }
        let taken = batch.claims.iter().find_map(|claim| {
            let holder = self.claims.get(&claim.key)?;
            (!batch.releases.contains(&claim.key)).then(|| (claim.key.clone(), holder.clone()))
        });
        taken.map(|(key, holder)| AppendError::ClaimTaken { key, holder })
    }

    fn apply(&mut self, batch: Batch) -> Appended {
        let mut head = self.head();
        let before = head.position;
        let asked = batch.streams.iter().flat_map(|append| &append.records);
        let time_ms = head.time_for(asked.map(|record| record.time_ms));
        for append in batch.streams {
            for (version, new) in (append.expected + 1..).zip(append.records) {
                let mut record = Record {
                    position: head.position + 1,
                    stream: append.stream.clone(),
                    version,
                    time_ms,
                    actor: new.actor,
                    kind: new.kind,
                    body: new.body,
                    prev: head.hash,
                    hash: Hash::default(),
                };
                record.hash = chain::hash_of(&record);
                head = Head::after(&record);
                self.bytes += record.body.len() as u64;
                self.streams
                    .entry(append.stream.clone())
                    .or_default()
                    .push(record.position);
                self.records.push(record);
            }
        }
        for entry in batch.deletes {
            if let Some(old) = self.entries.remove(&entry) {
                self.bytes -= old.len() as u64;
            }
        }
        for put in batch.puts {
            self.bytes += put.value.len() as u64;
            if let Some(old) = self.entries.insert((put.index, put.key), put.value) {
                self.bytes -= old.len() as u64;
            }
        }
        for key in batch.releases {
            self.claims.remove(&key);
        }
        for claim in batch.claims {
            self.claims.insert(claim.key, claim.value);
        }
        self.batches += 1;
        let first = if before < head.position {
            before + 1
        } else {
            before
        };
        Appended {
            first,
            last: head.position,
            time_ms,
        }
    }

    fn records_after(&self, after: Position, limit: usize) -> Vec<Record> {
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        self.records
            .iter()
            .skip(skip)
            .take(limit)
            .cloned()
            .collect()
    }
}

impl TailSource for Shared {
    fn read_tail(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        Ok(self.read().content.records_after(after, limit))
    }
}

#[async_trait]
impl EventLog for MemoryLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        bounds::check(&batch)?;
        let mut state = self.shared.write();
        if state.publish.is_none() {
            return Err(AppendError::Stopped {
                reason: "it was closed".to_owned(),
            });
        }
        if let Some(refusal) = state.content.refuse(&batch) {
            return Err(refusal);
        }
        let appended = state.content.apply(batch);
        if let Some(publish) = &state.publish {
            publish.send_replace(appended.last);
        }
        Ok(appended)
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let state = self.shared.read();
        let positions = state
            .content
            .streams
            .get(stream)
            .map_or(&[][..], Vec::as_slice);
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        let records = positions.iter().skip(skip).take(limit);
        // Positions start at 1 and are dense, so a record stands one place before its number.
        let places = records.filter_map(|position| usize::try_from(position - 1).ok());
        Ok(places
            .filter_map(|place| state.content.records.get(place).cloned())
            .collect())
    }

    fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError> {
        Ok(self.shared.read().content.version(stream))
    }

    fn read_all(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        Ok(self.shared.read().content.records_after(after, limit))
    }

    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self
            .shared
            .read()
            .content
            .entries
            .get(&(index, key.to_vec()))
            .cloned())
    }

    fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        let from = match range.above {
            Some(above) if range.prefix <= above => Bound::Excluded((index, above.to_vec())),
            Some(_) | None => Bound::Included((index, range.prefix.to_vec())),
        };
        let state = self.shared.read();
        let entries = state
            .content
            .entries
            .range((from, Bound::Unbounded))
            .take_while(|((of, key), _)| {
                *of == index
                    && key.starts_with(range.prefix)
                    && range.below.is_none_or(|below| key.as_slice() < below)
            })
            .map(|((_, key), value)| (key, value));
        let owned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        Ok(match direction {
            Direction::Forward => entries.take(limit).map(owned).collect(),
            Direction::Backward => {
                let all: Vec<_> = entries.collect();
                all.into_iter().rev().take(limit).map(owned).collect()
            }
        })
    }

    fn claim(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.shared.read().content.claims.get(key).cloned())
    }

    fn claims(&self, above: Option<&[u8]>, limit: usize) -> Result<Entries, ReadError> {
        let from = above.map_or(Bound::Unbounded, Bound::Excluded);
        let state = self.shared.read();
        let claims = state
            .content
            .claims
            .range::<[u8], _>((from, Bound::Unbounded));
        Ok(claims
            .take(limit)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect())
    }

    fn subscribe(&self, after: Position) -> Subscription {
        Subscription::new(
            Arc::clone(&self.shared) as Arc<_>,
            self.durable.clone(),
            after,
        )
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        let state = self.shared.read();
        let head = state.content.head();
        Ok(Stats {
            records: head.position,
            bytes: state.content.bytes,
            last_position: head.position,
            last_hash: head.hash,
            batches: state.content.batches,
            syncs: state.content.batches,
        })
    }

    async fn close(&self) {
        self.shared.write().publish = None;
    }
}

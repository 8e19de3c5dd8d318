//! A group of batches that share one atomic write and one sync.
//!
//! Batches are checked in the order they came, each against the tree and the batches before it. One
//! that is refused leaves no trace in the group.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use sled::Db;

use super::fault::Fault;
use super::keys::{self, StreamChunk, Tip};
use super::values;
use super::view::{Overlay, last_chunk, stored_value};
use crate::batch::Batch;
use crate::chain::{self, Head};
use crate::codec;
use crate::log::{AppendError, Appended};
use crate::record::{Hash, Position, Record, StreamId};

/// The last chunks of streams that were written to lately, so that a busy stream is not looked up
/// for each batch.
#[derive(Default)]
pub(super) struct Tails {
    chunks: HashMap<StreamId, StreamChunk>,
}

impl Tails {
    /// How many streams are kept: at most 2 KiB each, mostly far less.
    const STREAMS_MAX: usize = 16_384;

    fn get(&mut self, db: &Db, stream: &StreamId) -> Result<&mut StreamChunk, Fault> {
        Ok(match self.chunks.entry(stream.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(last_chunk(db, stream)?),
        })
    }

    /// Makes room. Only between groups: within one the tree does not have the newest chunks yet.
    fn trim(&mut self) {
        if Self::STREAMS_MAX < self.chunks.len() {
            self.chunks.clear();
        }
    }
}

/// Why a batch did not get into the group.
pub(super) enum Refusal {
    /// The batch is at fault; nothing of it is in the group.
    Batch(AppendError),
    /// The tree could not be read or a record not be encoded: nothing may be written any more.
    Store(Fault),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl From<sled::Error> for Refusal {
    fn from(error: sled::Error) -> Self {
        Self::Store(error.into())
    }
}

/// An index entry or claim that the group touches.
struct Change {
    /// What the tree holds.
    old: Option<Vec<u8>>,
    old_pieces: u32,
    /// What the group leaves there.
    new: Option<Vec<u8>>,
}

pub(super) struct Group<'a> {
    db: &'a Db,
    tails: &'a mut Tails,
    head: Head,
    /// How many groups were written before this one.
    groups: u64,
    /// The sum of all entries, as in [`Tip`].
    sum: u64,
    records: Vec<(Position, Vec<u8>)>,
    chunks: BTreeMap<Vec<u8>, Vec<u8>>,
    changes: BTreeMap<Vec<u8>, Change>,
}

/// What a group comes to.
pub(super) struct Write {
    /// Where the log ends once it is written.
    pub(super) tip: Tip,
    /// What readers go on seeing until it is durable.
    pub(super) overlay: Overlay,
    /// The write itself; `None` where the group changes nothing.
    pub(super) batch: Option<sled::Batch>,
}

impl<'a> Group<'a> {
    pub(super) fn new(db: &'a Db, tails: &'a mut Tails, tip: Tip) -> Self {
        tails.trim();
        let (records, chunks, changes) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let Tip { head, groups, sum } = tip;
        Self {
            db,
            tails,
            head,
            groups,
            sum,
            records,
            chunks,
            changes,
        }
    }

    /// Takes the batch into the group, if its versions and claims hold.
    pub(super) fn add(&mut self, batch: Batch) -> Result<Appended, Refusal> {
        self.check(&batch)?;
        let before = self.head.position;
        let asked = batch.streams.iter().flat_map(|append| &append.records);
        let time_ms = self.head.time_for(asked.map(|record| record.time_ms));
        for append in batch.streams {
            for (version, new) in (append.expected + 1..).zip(append.records) {
                let mut record = Record {
                    position: self.head.position + 1,
                    stream: append.stream.clone(),
                    version,
                    time_ms,
                    actor: new.actor,
                    kind: new.kind,
                    body: new.body,
                    prev: self.head.hash,
                    hash: Hash::default(),
                };
                record.hash = chain::hash_of(&record);
                self.push(&record)?;
            }
        }
        for (index, key) in batch.deletes {
            self.change(keys::entry(index, &key))?.new = None;
        }
        for put in batch.puts {
            self.change(keys::entry(put.index, &put.key))?.new = Some(put.value);
        }
        for key in batch.releases {
            self.change(keys::claim(&key))?.new = None;
        }
        for claim in batch.claims {
            self.change(keys::claim(&claim.key))?.new = Some(claim.value);
        }
        let first = if before < self.head.position {
            before + 1
        } else {
            before
        };
        Ok(Appended {
            first,
            last: self.head.position,
            time_ms,
        })
    }

    /// Takes records into the group as another log had them, if each is the next.
    pub(super) fn restore(&mut self, records: &[Record]) -> Result<Appended, Refusal> {
        let before = self.head.position;
        let mut head = self.head;
        let mut versions = HashMap::new();
        for record in records {
            head = head.take(record).map_err(Refusal::Batch)?;
            let version = match versions.entry(&record.stream) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let tail = self.tails.get(self.db, &record.stream)?;
                    unknown.insert(tail.version())
                }
            };
            if record.version != *version + 1 {
                return Err(Refusal::Batch(AppendError::VersionConflict {
                    stream: record.stream.clone(),
                    expected: record.version - 1,
                    actual: *version,
                }));
            }
            *version += 1;
        }
        for record in records {
            self.push(record)?;
        }
        Ok(Appended {
            first: before + u64::from(before < self.head.position),
            last: self.head.position,
            time_ms: self.head.time_for([]),
        })
    }

    fn check(&mut self, batch: &Batch) -> Result<(), Refusal> {
        for append in &batch.streams {
            let actual = self.tails.get(self.db, &append.stream)?.version();
            if actual != append.expected {
                let (stream, expected) = (append.stream.clone(), append.expected);
                let conflict = AppendError::VersionConflict {
                    stream,
                    expected,
                    actual,
                };
                return Err(Refusal::Batch(conflict));
            }
        }
        for claim in &batch.claims {
            let held = self.change(keys::claim(&claim.key))?.new.clone();
            if let Some(holder) = held
                && !batch.releases.contains(&claim.key)
            {
                let key = claim.key.clone();
                return Err(Refusal::Batch(AppendError::ClaimTaken { key, holder }));
            }
        }
        Ok(())
    }

    fn push(&mut self, record: &Record) -> Result<(), Refusal> {
        let stored = codec::encode(record).map_err(|error| Fault::Corrupt(error.to_string()))?;
        let tail = self.tails.get(self.db, &record.stream)?;
        if tail.is_full() {
            *tail = StreamChunk {
                number: tail.number + 1,
                positions: Vec::new(),
            };
        }
        let key = keys::stream_chunk(&record.stream, tail.number);
        if !tail.positions.is_empty() {
            self.sum = self.sum.wrapping_sub(keys::weigh(&key, &tail.encode()));
        }
        tail.positions.push(record.position);
        assert_eq!(
            tail.version(),
            record.version,
            "the version was checked before"
        );
        let chunk = tail.encode();
        let own = keys::weigh(&keys::record(record.position), &record.hash.0);
        self.sum = self
            .sum
            .wrapping_add(keys::weigh(&key, &chunk))
            .wrapping_add(own);
        self.chunks.insert(key, chunk);
        self.records.push((record.position, stored));
        self.head = Head::after(record);
        Ok(())
    }

    /// The change under a key, which so far leaves there what is there.
    fn change(&mut self, key: Vec<u8>) -> Result<&mut Change, Refusal> {
        Ok(match self.changes.entry(key) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(unknown) => {
                let first = self.db.get(unknown.key())?;
                let old_pieces = first.as_deref().map_or(0, values::pieces);
                let old = if old_pieces == 0 {
                    first.map(|whole| whole.get(1..).unwrap_or_default().to_vec())
                } else {
                    stored_value(self.db, unknown.key())?
                };
                unknown.insert(Change {
                    new: old.clone(),
                    old,
                    old_pieces,
                })
            }
        })
    }

    /// The write that the group comes to.
    pub(super) fn finish(self) -> Write {
        let mut sum = self.sum;
        let mut batch = sled::Batch::default();
        let mut overlay = Overlay::new();
        let mut empty = true;
        for (position, stored) in &self.records {
            values::insert(&mut batch, keys::record(*position), stored, 0);
            empty = false;
        }
        for (key, chunk) in self.chunks {
            batch.insert(key, chunk);
        }
        for (key, change) in self.changes {
            if change.new == change.old {
                continue;
            }
            empty = false;
            if let Some(old) = &change.old {
                sum = sum.wrapping_sub(keys::weigh(&key, old));
            }
            if let Some(new) = &change.new {
                sum = sum.wrapping_add(keys::weigh(&key, new));
            }
            match &change.new {
                Some(value) => values::insert(&mut batch, key.clone(), value, change.old_pieces),
                None => values::remove(&mut batch, key.clone(), change.old_pieces),
            }
            overlay.insert(key, change.old);
        }
        let tip = Tip {
            head: self.head,
            groups: self.groups + u64::from(!empty),
            sum,
        };
        batch.insert(keys::TIP, tip.encode());
        Write {
            tip,
            overlay,
            batch: (!empty).then_some(batch),
        }
    }
}

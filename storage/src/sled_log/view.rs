//! What readers see: the durable state, and nothing of the batch that is on its way.
//!
//! sled shows a batch as soon as it is applied, which is before it is on the device. Waiting for
//! the device in every read would be simple, but a sync takes as long as thousands of reads. So the
//! writer lays an *overlay* over the tree before it applies a batch: for each index entry and claim
//! that will change, the value it has now. Readers look there first. Records and positions above
//! the durable head are left out. When the batch is on the device, the head moves and the overlay
//! goes, in one step.
//!
//! A reader holds the view for the whole of one read of entries, so each read is of one moment.
//! Records never change, so reading them only needs the head.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use sled::IVec;

use super::fault::{Fault, closed, guarded, place};
use super::keys::{self, CHUNK, StreamChunk};
use super::scan;
use super::store::Store;
use super::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use super::values::{self, ValueError};
use crate::chain::Head;
use crate::codec;
use crate::log::{Direction, Entries, ReadError, ScanRange};
use crate::record::{Position, Record, StreamId, Version};
use crate::seeded::Bug;
use crate::subscription::TailSource;

/// The values that keys had before the batch that is on its way; `None` for no value.
pub(super) type Overlay = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub(super) struct View {
    state: RwLock<State>,
}

struct State {
    /// `None` once the log is closed.
    store: Option<Arc<Store>>,
    head: Head,
    overlay: Overlay,
}

impl View {
    pub(super) fn new(store: Arc<Store>, head: Head) -> Self {
        let state = State {
            store: Some(store),
            head,
            overlay: Overlay::new(),
        };
        Self {
            state: RwLock::new(state),
        }
    }

    /// Hides what is about to change. From here on the overlay answers for its keys.
    pub(super) fn cover(&self, overlay: Overlay) {
        if !Bug::IndexAheadOfLog.is_on() {
            self.write().overlay = overlay;
        }
    }

    /// Shows everything up to `head`, which is on the device now.
    pub(super) fn publish(&self, head: Head) {
        let mut state = self.write();
        state.head = head;
        state.overlay.clear();
    }

    /// Lets go of the store; reads fail from here on.
    pub(super) fn close(&self) -> Option<Arc<Store>> {
        self.write().store.take()
    }

    /// The store, while it is open.
    pub(super) fn store(&self) -> Option<Arc<Store>> {
        self.read().store.clone()
    }

    pub(super) fn head(&self) -> Head {
        self.read().head
    }

    pub(super) fn bytes_on_disk(&self) -> Result<u64, ReadError> {
        let (store, _) = self.now()?;
        guarded("the size", || Ok(store.db.size_on_disk()?))
    }

    pub(super) fn records(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        let (store, head) = self.now()?;
        let count = usize::try_from(head.position.saturating_sub(after)).unwrap_or(usize::MAX);
        let mut records = Vec::with_capacity(count.min(limit).min(1024));
        let from = keys::record(after.saturating_add(1));
        let mut stored = store
            .db
            .range(from..=keys::record(head.position.max(after)));
        for expected in (after.saturating_add(1)..=head.position).take(limit) {
            records.push(guarded(&format!("record {expected}"), || {
                let missing = ValueError::Broken("it is missing");
                let (key, first) = stored.next().ok_or(missing)??;
                if keys::record_position(&key) != Some(expected) {
                    return Err(ValueError::Broken("it is missing").into());
                }
                decode(&store, &key, &first, expected)
            })?);
        }
        Ok(records)
    }

    pub(super) fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError> {
        let (store, head) = self.now()?;
        guarded(&format!("stream {stream}"), || {
            for stored in store.db.scan_prefix(keys::stream(stream)).rev() {
                let (key, value) = stored?;
                let mut chunk = decode_chunk(&key, &value)?;
                chunk
                    .positions
                    .retain(|position| *position <= head.position);
                if !chunk.positions.is_empty() {
                    return Ok(chunk.version());
                }
            }
            Ok(0)
        })
    }

    pub(super) fn stream(
        &self,
        stream: &StreamId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let (store, head) = self.now()?;
        let positions = guarded(&format!("stream {stream}"), || {
            let first = after / CHUNK;
            let from = keys::stream_chunk(stream, first);
            let mut positions = Vec::new();
            let mut skip = usize::try_from(after % CHUNK).unwrap_or(usize::MAX);
            for (number, stored) in
                (first..).zip(store.db.range(from..=keys::stream_chunk(stream, u64::MAX)))
            {
                let (key, value) = stored?;
                let chunk = decode_chunk(&key, &value)?;
                if chunk.number != number {
                    return Err(ValueError::Broken("some of its positions are missing").into());
                }
                let durable = chunk
                    .positions
                    .iter()
                    .filter(|place| **place <= head.position);
                positions.extend(durable.skip(skip));
                skip = 0;
                if limit <= positions.len() {
                    break;
                }
            }
            positions.truncate(limit);
            Ok(positions)
        })?;
        let records = positions.into_iter().zip(1..).map(|(position, place)| {
            guarded(&format!("record {position}"), || {
                let key = keys::record(position);
                let first = store
                    .db
                    .get(&key)?
                    .ok_or(ValueError::Broken("it is missing"))?;
                let record = decode(&store, &key, &first, position)?;
                if record.stream != *stream || record.version != after + place {
                    return Err(ValueError::Broken("it is not the one its stream names").into());
                }
                Ok(record)
            })
        });
        records.collect()
    }

    /// The value of an index entry or claim by its key in the tree.
    pub(super) fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        let state = self.read();
        if let Some(hidden) = state.overlay.get(key) {
            return Ok(hidden.clone());
        }
        let store = state.store.as_deref().ok_or_else(closed)?;
        guarded(&place(key), || stored_value(&store.db, key))
    }

    /// Index entries of a range.
    pub(super) fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        let Some(bounds) = scan::of_index(index, range) else {
            return Ok(Vec::new());
        };
        self.entries(&format!("index {index}"), &bounds, limit, direction)
    }

    /// Claims in order.
    pub(super) fn claims(&self, above: Option<&[u8]>, limit: usize) -> Result<Entries, ReadError> {
        self.entries(
            "the claims",
            &scan::of_claims(above),
            limit,
            Direction::Forward,
        )
    }

    fn entries(
        &self,
        place: &str,
        bounds: &scan::Bounds,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        let state = self.read();
        let store = state.store.as_deref().ok_or_else(closed)?;
        guarded(place, || {
            scan::merge(&store.db, &state.overlay, bounds, limit, direction)
        })
    }

    fn now(&self) -> Result<(Arc<Store>, Head), ReadError> {
        let state = self.read();
        Ok((state.store.clone().ok_or_else(closed)?, state.head))
    }

    // Every change under the lock is a plain assignment, so a poisoned lock guards a whole state.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TailSource for View {
    fn read_tail(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        if self.read().store.is_none() {
            return Ok(Vec::new());
        }
        self.records(after, limit)
    }
}

/// The value under a key of the tree, overlay aside.
pub(super) fn stored_value(db: &sled::Db, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let Some(first) = db.get(key)? else {
        return Ok(None);
    };
    Ok(Some(values::assemble(db, key, &first)?.into_owned()))
}

/// The last chunk of a stream in the tree, durable or not.
pub(super) fn last_chunk(db: &sled::Db, stream: &StreamId) -> Result<StreamChunk, Fault> {
    match db
        .scan_prefix(keys::stream(stream))
        .next_back()
        .transpose()?
    {
        Some((key, value)) => decode_chunk(&key, &value),
        None => Ok(StreamChunk::default()),
    }
}

fn decode_chunk(key: &[u8], value: &[u8]) -> Result<StreamChunk, Fault> {
    let chunk = keys::chunk_number(key).and_then(|number| StreamChunk::decode(number, value));
    chunk.ok_or(ValueError::Broken("its positions cannot be read").into())
}

/// The record whose first piece is `first`, which must be the one at `position`.
pub(super) fn decode(
    store: &Store,
    key: &[u8],
    first: &IVec,
    position: Position,
) -> Result<Record, Fault> {
    let bytes: Cow<'_, [u8]> = values::assemble(&store.db, key, first)?;
    let record = codec::decode(&bytes).map_err(|error| Fault::Corrupt(error.to_string()))?;
    if record.position != position {
        return Err(ValueError::Broken("it is another record").into());
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sled_log::folder::Purpose;
    use crate::sled_log::{SledOptions, open};

    #[test]
    fn i05_index_entries_on_their_way_are_not_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened =
            open::open(folder.path(), &SledOptions::default(), Purpose::Use).expect("opens");
        let (db, view) = (
            &opened.store.db,
            View::new(Arc::clone(&opened.store), Head::default()),
        );
        let set = |key: &[u8], value: &[u8]| {
            db.insert(keys::entry(1, key), [&[0], value].concat())
                .expect("writes");
        };
        for key in [b"b", b"c", b"e"] {
            set(key, b"old");
        }
        // On its way: b changes, c goes, a, d and f come.
        let old = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
        let hidden = [
            (b"a", None),
            (b"b", Some(&b"old"[..])),
            (b"c", Some(b"old")),
            (b"d", None),
            (b"f", None),
        ];
        let hidden = hidden.map(|(key, value)| (keys::entry(1, key), old(value)));
        view.cover(hidden.into_iter().collect());
        for key in [b"a", b"b", b"d", b"f"] {
            set(key, b"new");
        }
        db.remove(keys::entry(1, b"c")).expect("removes");

        let seen = |way, limit| -> Vec<String> {
            let entries = view
                .scan(1, ScanRange::default(), limit, way)
                .expect("scans");
            let told =
                |(key, value): (Vec<u8>, Vec<u8>)| [key, value].concat().escape_ascii().to_string();
            entries.into_iter().map(told).collect()
        };
        assert_eq!(seen(Direction::Forward, 9), ["bold", "cold", "eold"]);
        assert_eq!(seen(Direction::Backward, 9), ["eold", "cold", "bold"]);
        assert_eq!(seen(Direction::Backward, 2), ["eold", "cold"]);
        assert_eq!(view.value(&keys::entry(1, b"a")).expect("reads"), None);

        view.publish(Head::default());
        let now = ["anew", "bnew", "dnew", "eold", "fnew"];
        assert_eq!(seen(Direction::Forward, 9), now);
    }
}

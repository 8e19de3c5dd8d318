//! The high-water mark: how far the log has been acknowledged, kept outside the tree.
//!
//! When sled meets damage in the last part of its file it takes it for the torn end of a write and
//! goes on without it; what had been acknowledged there would be gone without a word. So a small
//! file of its own says how far the log was, and opening compares (invariant I7).
//!
//! The mark is written after the sync of the log, without a sync of its own: it may be late (after a
//! power cut), never early. It has two slots, used in turn, so that a torn write leaves the other.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::folder::at;
use super::keys::Tip;
use crate::record::{Hash, Position};

const SLOT_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"hp-mark1";

/// An open mark file.
pub(super) struct Mark {
    file: File,
    slot: u8,
}

/// What a mark says: the log had been acknowledged up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marked {
    /// The last record.
    pub(super) position: Position,
    /// Its hash.
    pub(super) hash: Hash,
    /// The groups written, as in [`Tip`].
    pub(super) groups: u64,
}

impl Mark {
    /// Opens the file, or creates it, and reads what it says; `None` where no slot is valid.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Option<Marked>)> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| at(path, &error))?;
        let mut bytes = Vec::with_capacity(2 * SLOT_BYTES);
        (&mut file)
            .take(2 * SLOT_BYTES as u64)
            .read_to_end(&mut bytes)?;
        let slots = bytes.chunks(SLOT_BYTES).filter_map(decode);
        let latest = slots.max_by_key(|marked| marked.groups);
        Ok((Self { file, slot: 0 }, latest))
    }

    /// Notes that the log is acknowledged up to `tip`.
    pub(super) fn set(&mut self, tip: &Tip) -> io::Result<()> {
        self.file
            .seek(SeekFrom::Start(u64::from(self.slot) * SLOT_BYTES as u64))?;
        self.file.write_all(&encode(tip))?;
        self.slot = 1 - self.slot;
        Ok(())
    }

    /// Brings the mark to the device.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

fn encode(tip: &Tip) -> [u8; SLOT_BYTES] {
    let mut slot = [0; SLOT_BYTES];
    slot[..8].copy_from_slice(&MAGIC);
    slot[8..16].copy_from_slice(&tip.head.position.to_be_bytes());
    slot[16..48].copy_from_slice(&tip.head.hash.0);
    slot[48..56].copy_from_slice(&tip.groups.to_be_bytes());
    let checksum = crc32fast::hash(&slot[..60]);
    slot[60..].copy_from_slice(&checksum.to_be_bytes());
    slot
}

fn decode(slot: &[u8]) -> Option<Marked> {
    let slot: &[u8; SLOT_BYTES] = slot.try_into().ok()?;
    let (content, checksum) = slot.split_last_chunk()?;
    if u32::from_be_bytes(*checksum) != crc32fast::hash(content) {
        return None;
    }
    let rest = content.strip_prefix(&MAGIC)?;
    let (position, rest) = rest.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk()?;
    let (groups, _) = rest.split_first_chunk()?;
    Some(Marked {
        position: Position::from_be_bytes(*position),
        hash: Hash(*hash),
        groups: u64::from_be_bytes(*groups),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_mark_is_read_and_a_torn_slot_leaves_the_one_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mark");
        let (mut mark, found) = Mark::open(&path).expect("opens");
        assert_eq!(found, None);
        for groups in 1..=3 {
            mark.set(&Tip {
                groups,
                ..Tip::default()
            })
            .expect("writes");
        }
        let found = || {
            Mark::open(&path)
                .expect("opens")
                .1
                .map(|marked| marked.groups)
        };
        assert_eq!(found(), Some(3));

        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[20] ^= 1; // The first slot, which holds the latest.
        std::fs::write(&path, bytes).expect("writes");
        assert_eq!(found(), Some(2));
    }
}

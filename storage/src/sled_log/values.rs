//! Values of any length in a tree that may only hold short ones.
//!
//! A leaf of the tree that grows past 128 KiB goes to a file of its own that is never synced. A
//! leaf has up to 16 entries, so no stored value is longer than [`PIECE`]; a longer one is split:
//! its first piece says how long the whole is, the others are under keys of their own, written in
//! the same batch.

use std::borrow::Cow;

use sled::{Batch, IVec, Tree};

use super::keys;

/// The longest value that the tree gets, in bytes, without its header.
pub(super) const PIECE: usize = 7 * 1024 - HEADER_BYTES;

const WHOLE: u8 = 0;
const SPLIT: u8 = 1;
const HEADER_BYTES: usize = 5;

/// Why a value could not be put together.
#[derive(Debug)]
pub(super) enum ValueError {
    /// The tree could not be read.
    Sled(sled::Error),
    /// The bytes are not a value, or a piece is missing.
    Broken(&'static str),
}

impl From<sled::Error> for ValueError {
    fn from(error: sled::Error) -> Self {
        Self::Sled(error)
    }
}

/// Adds to `batch` what stores `value` under `key`, and what removes the pieces of an older value
/// there that had `old_pieces` of them.
pub(super) fn insert(batch: &mut Batch, key: Vec<u8>, value: &[u8], old_pieces: u32) {
    if value.len() <= PIECE {
        remove_pieces(batch, &key, 0, old_pieces);
        batch.insert(key, [&[WHOLE], value].concat());
        return;
    }
    let mut used = 0;
    for (number, piece) in (0u32..).zip(value[PIECE..].chunks(PIECE)) {
        batch.insert(keys::piece(&key, number), piece);
        used = number + 1;
    }
    remove_pieces(batch, &key, used, old_pieces);
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes();
    batch.insert(key, [&[SPLIT], length.as_slice(), &value[..PIECE]].concat());
}

/// Adds to `batch` what removes the value under `key` with its pieces.
pub(super) fn remove(batch: &mut Batch, key: Vec<u8>, old_pieces: u32) {
    remove_pieces(batch, &key, 0, old_pieces);
    batch.remove(key);
}

fn remove_pieces(batch: &mut Batch, key: &[u8], from: u32, to: u32) {
    for number in from..to {
        batch.remove(keys::piece(key, number));
    }
}

/// How many further pieces the value has whose first piece is `stored`.
pub(super) fn pieces(stored: &[u8]) -> u32 {
    match length(stored) {
        Some(length) => u32::try_from(length.saturating_sub(1) / PIECE).unwrap_or(u32::MAX),
        None => 0,
    }
}

/// The length of a split value; `None` for a whole one.
fn length(stored: &[u8]) -> Option<usize> {
    let ([SPLIT, length @ ..], _) = stored.split_first_chunk::<HEADER_BYTES>()? else {
        return None;
    };
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

/// The value whose first piece, found under `key`, is `stored`.
pub(super) fn assemble<'a>(
    tree: &Tree,
    key: &[u8],
    stored: &'a IVec,
) -> Result<Cow<'a, [u8]>, ValueError> {
    if let Some((&WHOLE, value)) = stored.split_first() {
        return Ok(Cow::Borrowed(value));
    }
    let (Some(length), Some(first)) = (length(stored), stored.get(HEADER_BYTES..)) else {
        return Err(ValueError::Broken("it has no valid header"));
    };
    let mut value = first.to_vec();
    for number in 0..pieces(stored) {
        let piece = tree.get(keys::piece(key, number))?;
        let piece = piece.ok_or(ValueError::Broken("a piece of it is missing"))?;
        value.extend_from_slice(&piece);
    }
    if value.len() != length {
        return Err(ValueError::Broken(
            "its pieces do not have the length that they should",
        ));
    }
    Ok(Cow::Owned(value))
}

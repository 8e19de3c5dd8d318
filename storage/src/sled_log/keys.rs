//! The keys of the tree, and the small values that are not records.
//!
//! | first byte | key | value |
//! |---|---|---|
//! | `h` | — | [`Tip`]: the last record, how many groups were written, the sum of all entries |
//! | `r` | position | a record ([`crate::codec`]), as in [`super::values`] |
//! | `s` | stream, 0, chunk number | positions of up to [`CHUNK`] records of the stream |
//! | `i` | index, key | an index entry, as in [`super::values`] |
//! | `u` | key | a claim, as in [`super::values`] |
//! | `+` | any of the above, piece number | the further pieces of a long value |
//!
//! Numbers are big-endian, so that keys sort as the numbers do. A stream has one key for each
//! [`CHUNK`] records instead of one for each: every key costs about 10 µs of the one writer.

use crate::chain::Head;
use crate::record::{Hash, Position, StreamId, Version};

/// How many records of a stream share one key.
pub(super) const CHUNK: u64 = 128;

pub(super) const TIP: &[u8] = b"h";

const TIP_BYTES: usize = 8 + 32 + 8 + 8 + 8;

pub(super) fn record(position: Position) -> Vec<u8> {
    [b"r".as_slice(), &position.to_be_bytes()].concat()
}

/// The position in a key made by [`record`].
pub(super) fn record_position(key: &[u8]) -> Option<Position> {
    Some(Position::from_be_bytes(
        key.strip_prefix(b"r")?.try_into().ok()?,
    ))
}

/// What all chunk keys of a stream start with. The 0 ends the name: no name holds one.
pub(super) fn stream(stream: &StreamId) -> Vec<u8> {
    [b"s".as_slice(), stream.as_str().as_bytes(), b"\0"].concat()
}

pub(super) fn stream_chunk(name: &StreamId, number: u64) -> Vec<u8> {
    [stream(name).as_slice(), &number.to_be_bytes()].concat()
}

/// The chunk number in a key made by [`stream_chunk`].
pub(super) fn chunk_number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.last_chunk()?))
}

pub(super) fn entry(index: u8, key: &[u8]) -> Vec<u8> {
    [&[b'i', index], key].concat()
}

pub(super) fn claim(key: &[u8]) -> Vec<u8> {
    [b"u", key].concat()
}

/// The key of a further piece of the value under `key`. The number has a fixed length, so two keys
/// never share one.
pub(super) fn piece(key: &[u8], number: u32) -> Vec<u8> {
    [b"+", key, &number.to_be_bytes()].concat()
}

/// The least key above all that start with `prefix`; `None` where there is none.
pub(super) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Where the log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tip {
    /// The last record.
    pub(super) head: Head,
    /// How many groups were ever written, with records or without.
    pub(super) groups: u64,
    /// The sum of [`weigh`] over every other entry. Where the store lost an entry, or came back with
    /// an older one, it does not fit any more.
    pub(super) sum: u64,
}

/// What an entry adds to [`Tip::sum`]. A record stands with its hash instead of its body.
pub(super) fn weigh(key: &[u8], value: &[u8]) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(key.len() as u64).to_be_bytes());
    hasher.update(key);
    hasher.update(value);
    u64::from(hasher.finalize())
}

impl Tip {
    pub(super) fn encode(&self) -> Vec<u8> {
        let Head {
            position,
            hash,
            time_ms,
        } = self.head;
        // Without a record there is no time, and the position says so.
        let time_ms = time_ms.unwrap_or(0).to_be_bytes();
        let (position, groups) = (position.to_be_bytes(), self.groups.to_be_bytes());
        let sum = self.sum.to_be_bytes();
        [position.as_slice(), &hash.0, &time_ms, &groups, &sum].concat()
    }

    /// The tip in `bytes`; `None` where they are not one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TIP_BYTES] = bytes.try_into().ok()?;
        let (position, rest) = bytes.split_first_chunk()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let (time_ms, rest) = rest.split_first_chunk()?;
        let (groups, sum) = rest.split_first_chunk()?;
        let position = Position::from_be_bytes(*position);
        let time_ms = (position != 0).then_some(i64::from_be_bytes(*time_ms));
        let head = Head {
            position,
            hash: Hash(*hash),
            time_ms,
        };
        Some(Self {
            head,
            groups: u64::from_be_bytes(*groups),
            sum: u64::from_be_bytes(sum.try_into().ok()?),
        })
    }
}

/// One chunk of a stream: the positions of its records, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamChunk {
    /// Which chunk: the versions in it start after `number * CHUNK`.
    pub(super) number: u64,
    /// At most [`CHUNK`] positions, ascending.
    pub(super) positions: Vec<Position>,
}

impl StreamChunk {
    /// The version of the last record in the chunk.
    pub(super) fn version(&self) -> Version {
        self.number * CHUNK + self.positions.len() as u64
    }

    pub(super) fn is_full(&self) -> bool {
        self.positions.len() as u64 == CHUNK
    }

    /// The distances between positions, seven bits a byte, least first; the high bit says that more
    /// follows.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.positions.len() * 3 + 4);
        let mut before = 0;
        for position in &self.positions {
            let mut distance = position - before;
            loop {
                let [low, ..] = distance.to_le_bytes();
                distance >>= 7;
                if distance == 0 {
                    bytes.push(low & 0x7f);
                    break;
                }
                bytes.push(low | 0x80);
            }
            before = *position;
        }
        bytes
    }

    /// The chunk in `bytes`; `None` where they are not one.
    pub(super) fn decode(number: u64, bytes: &[u8]) -> Option<Self> {
        let mut positions = Vec::new();
        let (mut before, mut distance, mut shift) = (0u64, 0u64, 0u32);
        for byte in bytes {
            if 63 < shift {
                return None;
            }
            distance |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                before = before.checked_add(distance)?;
                if distance == 0 || CHUNK <= positions.len() as u64 {
                    return None;
                }
                positions.push(before);
                (distance, shift) = (0, 0);
            }
        }
        (shift == 0 && !positions.is_empty()).then_some(Self { number, positions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_of_positions_survives_encoding() {
        for positions in [
            vec![1],
            vec![127, 128, 129, 1 << 14],
            vec![5, u64::MAX],
            (1..=128).collect(),
        ] {
            let chunk = StreamChunk {
                number: 3,
                positions,
            };
            assert_eq!(StreamChunk::decode(3, &chunk.encode()), Some(chunk));
        }
    }

    #[test]
    fn bytes_that_are_no_chunk_are_refused() {
        for bytes in [&[][..], &[0], &[0x80], &[1, 0], &[0xff; 11], &[1; 129]] {
            assert_eq!(StreamChunk::decode(0, bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn the_key_after_a_prefix_skips_bytes_that_cannot_grow() {
        assert_eq!(after_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff"), None);
    }
}

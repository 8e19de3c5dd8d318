//! The stored form of a record.
//!
//! ```text
//! format (1 byte)   CRC-32 of format and payload (4 bytes, little-endian)   payload (bincode)
//! ```
//!
//! The payload is not self-describing and most damaged payloads would decode to something else, so
//! the checksum is looked at first and the hash of the record after. A change of the payload is a
//! new format number with a struct of its own; samples of every format ever written are in
//! `tests/formats/` and replayed by a test.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::{BorrowDecode, Encode};

use crate::chain;
use crate::log::BODY_BYTES_MAX;
use crate::record::{Hash, Record, StreamId};

/// The format that [`encode`] writes.
pub const FORMAT: u8 = 1;

/// The longest stored record, in bytes: the longest body, and more than all other fields take.
pub const RECORD_BYTES_MAX: usize = BODY_BYTES_MAX + 1024;

const HEADER_BYTES: usize = 5;

/// Why bytes are not a record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than the header, or longer than any record.
    #[error("{0} bytes cannot be a record")]
    Length(usize),
    /// A format that this version does not know.
    #[error("record format {0} is not known to this version")]
    Format(u8),
    /// The checksum does not match: bytes were changed after they were written.
    #[error("the checksum does not match")]
    Checksum,
    /// The checksum matches, the content makes no sense.
    #[error("the content does not decode: {0}")]
    Content(String),
    /// The record was decoded, its hash is not the hash of its content.
    #[error("the hash does not match the content")]
    Hash,
}

/// Format 1. Fields keep their order for ever.
#[derive(Encode, BorrowDecode)]
struct RecordV1<'a> {
    position: u64,
    stream: &'a str,
    version: u64,
    time_ms: i64,
    actor: &'a str,
    kind: &'a str,
    body: &'a [u8],
    prev: [u8; 32],
    hash: [u8; 32],
}

type Config = Configuration<LittleEndian, Varint, Limit<RECORD_BYTES_MAX>>;

const fn config() -> Config {
    bincode::config::standard().with_limit::<RECORD_BYTES_MAX>()
}

/// The bytes to store for `record`.
pub fn encode(record: &Record) -> Result<Vec<u8>, DecodeError> {
    let payload = RecordV1 {
        position: record.position,
        stream: record.stream.as_str(),
        version: record.version,
        time_ms: record.time_ms,
        actor: &record.actor,
        kind: &record.kind,
        body: &record.body,
        prev: record.prev.0,
        hash: record.hash.0,
    };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + 160 + record.body.len());
    bytes.extend_from_slice(&[FORMAT, 0, 0, 0, 0]);
    bincode::encode_into_std_write(payload, &mut bytes, config())
        .map_err(|error| DecodeError::Content(error.to_string()))?;
    let checksum = checksum(FORMAT, &bytes[HEADER_BYTES..]);
    bytes[1..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// The record behind stored bytes, with its checksum and its hash checked.
pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
    if RECORD_BYTES_MAX < bytes.len() {
        return Err(DecodeError::Length(bytes.len()));
    }
    let Some(([format, stored_checksum @ ..], payload)) = bytes.split_first_chunk::<HEADER_BYTES>()
    else {
        return Err(DecodeError::Length(bytes.len()));
    };
    if *format != FORMAT {
        return Err(DecodeError::Format(*format));
    }
    if u32::from_le_bytes(*stored_checksum) != checksum(*format, payload) {
        return Err(DecodeError::Checksum);
    }
    let (decoded, used): (RecordV1<'_>, usize) =
        bincode::borrow_decode_from_slice(payload, config())
            .map_err(|error| DecodeError::Content(error.to_string()))?;
    if used != payload.len() {
        let left = payload.len() - used;
        return Err(DecodeError::Content(format!("{left} bytes are left over")));
    }
    let stream = StreamId::new(decoded.stream)
        .ok_or_else(|| DecodeError::Content("the name of the stream is not valid".to_owned()))?;
    let record = Record {
        position: decoded.position,
        stream,
        version: decoded.version,
        time_ms: decoded.time_ms,
        actor: decoded.actor.to_owned(),
        kind: decoded.kind.to_owned(),
        body: decoded.body.to_owned(),
        prev: Hash(decoded.prev),
        hash: Hash(decoded.hash),
    };
    if chain::hash_of(&record) != record.hash {
        return Err(DecodeError::Hash);
    }
    Ok(record)
}

fn checksum(format: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[format]);
    hasher.update(payload);
    hasher.finalize()
}

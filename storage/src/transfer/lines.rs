//! The lines of the file, as they are written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::record::{Hash, Record, StreamId};

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine {
    pub(super) holdpoint_log: u32,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) prev: String,
    pub(super) whole: bool,
    pub(super) incarnation: u64,
}

/// Only the version, which says how the rest is to be read.
#[derive(Deserialize)]
pub(super) struct VersionOnly {
    pub(super) holdpoint_log: u32,
}

/// A record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordLine {
    position: u64,
    stream: String,
    version: u64,
    time_ms: i64,
    actor: String,
    kind: String,
    body: String,
    prev: String,
    hash: String,
}

/// A claim.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimLine {
    claim: String,
    value: String,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) end: u64,
    pub(super) last_hash: String,
    pub(super) claims: u64,
    pub(super) sha256: String,
}

impl RecordLine {
    pub(super) fn of(record: &Record) -> Self {
        Self {
            position: record.position,
            stream: record.stream.as_str().to_owned(),
            version: record.version,
            time_ms: record.time_ms,
            actor: record.actor.clone(),
            kind: record.kind.clone(),
            body: STANDARD.encode(&record.body),
            prev: record.prev.to_string(),
            hash: record.hash.to_string(),
        }
    }

    pub(super) fn into_record(self) -> Result<Record, String> {
        Ok(Record {
            position: self.position,
            stream: StreamId::new(self.stream)
                .ok_or("\"stream\" is no name of a stream".to_owned())?,
            version: self.version,
            time_ms: self.time_ms,
            actor: self.actor,
            kind: self.kind,
            body: bytes("body", &self.body)?,
            prev: hash("prev", &self.prev)?,
            hash: hash("hash", &self.hash)?,
        })
    }
}

impl ClaimLine {
    pub(super) fn of(key: &[u8], value: &[u8]) -> Self {
        Self {
            claim: STANDARD.encode(key),
            value: STANDARD.encode(value),
        }
    }

    pub(super) fn into_claim(self) -> Result<(Vec<u8>, Vec<u8>), String> {
        Ok((bytes("claim", &self.claim)?, bytes("value", &self.value)?))
    }
}

/// 64 hexadecimal digits, as they are written.
pub(super) fn hash(field: &str, text: &str) -> Result<Hash, String> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let parsed = (digits.len() == 64).then(|| {
        digits.chunks(2).zip(&mut bytes).all(|(pair, byte)| {
            let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
                return false;
            };
            *byte = high << 4 | low;
            true
        })
    });
    if parsed == Some(true) {
        Ok(Hash(bytes))
    } else {
        Err(format!("{field:?} is not 64 lowercase hexadecimal digits"))
    }
}

fn bytes(field: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD
        .decode(text)
        .map_err(|error| format!("{field:?} is not base64: {error}"))
}

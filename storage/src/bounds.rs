//! The bounds of a batch, checked before anything else looks at it (invariant I21).
//!
//! Every implementation of [`EventLog`](crate::EventLog) calls [`check`], so that a batch which one
//! store takes is taken by all.

use std::collections::HashSet;

use crate::batch::Batch;
use crate::log::{AppendError, BATCH_BYTES_MAX, BODY_BYTES_MAX, KEY_BYTES_MAX};
use crate::record::Record;

/// The most records, index changes, claims and releases together in one batch. One atomic write of
/// more keys than this would hold up every other writer.
pub const BATCH_ENTRIES_MAX: usize = 16_384;

/// The longest value of a claim, in bytes.
pub const CLAIM_VALUE_BYTES_MAX: usize = 1024;

/// The longest actor of a record, in bytes.
pub const ACTOR_BYTES_MAX: usize = 128;

/// The longest kind of a record, in bytes.
pub const KIND_BYTES_MAX: usize = 64;

/// Answers with the bytes (keys, bodies and values) that the batch carries, or with the first bound
/// that it breaks, as [`AppendError::Invalid`].
pub fn check(batch: &Batch) -> Result<usize, AppendError> {
    let entries = batch
        .streams
        .iter()
        .map(|stream| stream.records.len().max(1))
        .sum::<usize>()
        + batch.puts.len()
        + batch.deletes.len()
        + batch.claims.len()
        + batch.releases.len();
    at_most("the batch", "entries", entries, BATCH_ENTRIES_MAX)?;

    let mut payload = 0;
    let mut keys = 0;
    let mut streams = HashSet::new();
    for append in &batch.streams {
        if !streams.insert(&append.stream) {
            return Err(invalid(format!("stream {} appears twice", append.stream)));
        }
        for record in &append.records {
            payload += check_record(&record.actor, &record.kind, &record.body)?;
        }
    }
    for put in &batch.puts {
        at_most("an index key", "bytes", put.key.len(), KEY_BYTES_MAX)?;
        at_most("an index value", "bytes", put.value.len(), BODY_BYTES_MAX)?;
        payload += put.value.len();
        keys += put.key.len();
    }
    for (_, key) in &batch.deletes {
        at_most("an index key", "bytes", key.len(), KEY_BYTES_MAX)?;
        keys += key.len();
    }
    let mut claims = HashSet::new();
    for claim in &batch.claims {
        at_most("a claim key", "bytes", claim.key.len(), KEY_BYTES_MAX)?;
        at_most(
            "a claim value",
            "bytes",
            claim.value.len(),
            CLAIM_VALUE_BYTES_MAX,
        )?;
        if !claims.insert(&claim.key) {
            return Err(invalid("a claim appears twice".to_owned()));
        }
        payload += claim.value.len();
        keys += claim.key.len();
    }
    for key in &batch.releases {
        at_most("a claim key", "bytes", key.len(), KEY_BYTES_MAX)?;
        keys += key.len();
    }
    at_most("the batch", "bytes", payload, BATCH_BYTES_MAX)?;
    Ok(payload + keys)
}

/// As [`check`], for records to be restored as they are.
pub fn check_records(records: &[Record]) -> Result<usize, AppendError> {
    at_most("the batch", "entries", records.len(), BATCH_ENTRIES_MAX)?;
    let mut payload = 0;
    for record in records {
        payload += check_record(&record.actor, &record.kind, &record.body)?;
    }
    at_most("the batch", "bytes", payload, BATCH_BYTES_MAX)?;
    Ok(payload)
}

fn check_record(actor: &str, kind: &str, body: &[u8]) -> Result<usize, AppendError> {
    let bytes = "bytes";
    at_most("the actor of a record", bytes, actor.len(), ACTOR_BYTES_MAX)?;
    at_most("the kind of a record", bytes, kind.len(), KIND_BYTES_MAX)?;
    at_most("the body of a record", bytes, body.len(), BODY_BYTES_MAX)?;
    Ok(actor.len() + kind.len() + body.len())
}

fn at_most(what: &str, unit: &str, found: usize, bound: usize) -> Result<(), AppendError> {
    if found <= bound {
        return Ok(());
    }
    Err(invalid(format!(
        "{what} has {found} {unit}, at most {bound} are allowed"
    )))
}

fn invalid(reason: String) -> AppendError {
    AppendError::Invalid { reason }
}

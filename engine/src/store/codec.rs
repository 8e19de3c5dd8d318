//! The stored form of events and views: one format byte, then bincode.
//!
//! Variants keep their numbers for ever; samples of every event are in `engine/tests/formats/` and
//! replayed by a test. A record whose kind is not the kind of the event in its body is damaged.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use holdpoint_storage::log::BODY_BYTES_MAX;
use holdpoint_storage::{NewRecord, Record, StreamId, Version};

use crate::action::{Action, ActionId, Event};
use crate::engine::Versioned;
use crate::time::Timestamp;

/// The format of event bodies.
const EVENT_FORMAT: u8 = 1;

/// The format of views. A change of it makes the next start build every view again.
pub(crate) const VIEW_FORMAT: u8 = 8;

/// What every kind of an action's record starts with.
pub(crate) const KIND_PREFIX: &str = "action.";

const STREAM_PREFIX: &str = "action/";

/// Decoding never allocates more than the longest body can hold.
const CONFIG: Configuration<LittleEndian, Varint, Limit<BODY_BYTES_MAX>> =
    bincode::config::standard().with_limit::<BODY_BYTES_MAX>();

/// The bytes are not what this version writes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CodecError(pub(crate) String);

/// The stream of an action: `action/` and 32 hexadecimal digits.
pub(crate) fn stream_of(id: ActionId) -> StreamId {
    let hex = id.to_string();
    let name = format!(
        "{STREAM_PREFIX}{}",
        hex.strip_prefix("act_").unwrap_or(&hex)
    );
    match StreamId::new(name) {
        Some(stream) => stream,
        None => super::fatal("the name of an action's stream is out of bounds"),
    }
}

/// The action that a stream belongs to; none for streams of anything else.
pub(crate) fn action_of(stream: &StreamId) -> Option<ActionId> {
    let hex = stream.as_str().strip_prefix(STREAM_PREFIX)?;
    format!("act_{hex}").parse().ok()
}

/// An event as a record.
pub(crate) fn encode_event(
    event: &Event,
    actor: &str,
    at: Timestamp,
) -> Result<NewRecord, CodecError> {
    Ok(NewRecord {
        time_ms: at.0,
        actor: actor.to_owned(),
        kind: event.kind().to_owned(),
        body: encode(EVENT_FORMAT, event)?,
    })
}

/// The event of a record of an action's stream.
pub(crate) fn decode_event(record: &Record) -> Result<Event, CodecError> {
    let event: Event = decode(EVENT_FORMAT, &record.body)?;
    if event.kind() != record.kind {
        return Err(CodecError(format!(
            "the record says {}, its body is {}",
            record.kind,
            event.kind()
        )));
    }
    Ok(event)
}

/// An action with its version, as the view index holds it.
pub(crate) fn encode_view(view: &Versioned) -> Result<Vec<u8>, CodecError> {
    encode(VIEW_FORMAT, (view.version, &view.action))
}

/// The other way round.
pub(crate) fn decode_view(bytes: &[u8]) -> Result<Versioned, CodecError> {
    let (version, action): (Version, Action) = decode(VIEW_FORMAT, bytes)?;
    Ok(Versioned { action, version })
}

pub(crate) fn encode(format: u8, value: impl bincode::Encode) -> Result<Vec<u8>, CodecError> {
    let mut bytes = vec![format];
    bincode::encode_into_std_write(value, &mut bytes, CONFIG)
        .map_err(|error| CodecError(format!("cannot be encoded: {error}")))?;
    Ok(bytes)
}

pub(crate) fn decode<T: bincode::Decode<()>>(format: u8, bytes: &[u8]) -> Result<T, CodecError> {
    let Some((found, body)) = bytes.split_first() else {
        return Err(CodecError("the body is empty".to_owned()));
    };
    if *found != format {
        return Err(CodecError(format!(
            "the format is {found}, this version reads {format}; start a version that knows it"
        )));
    }
    let (value, read) = bincode::decode_from_slice(body, CONFIG)
        .map_err(|error| CodecError(format!("cannot be decoded: {error}")))?;
    if read != body.len() {
        let left = body.len() - read;
        return Err(CodecError(format!("{left} bytes are left over")));
    }
    Ok(value)
}

//! Where endpoints are in the log and its indexes, and how they are read at the start.

use std::collections::BTreeMap;

use holdpoint_storage::{Direction, EventLog, ScanRange, StreamId, Version};

use super::delivery::Delivery;
use super::endpoint::{Endpoint, Place, evolve};
use super::event::{Event, FORMAT};
use super::id::EndpointId;
use super::kept::{self, KEPT_MAX, Kept};
use crate::identity::StoreError;
use crate::limits::REPLAY_PAGE;
use crate::store::{codec, pages};
use crate::time::Timestamp;

/// Index: id of every endpoint → nothing. Tells which streams to read.
pub(crate) const ENDPOINTS: u8 = 40;
/// Index: id of an endpoint → its [`Place`].
pub(super) const PLACES: u8 = 41;
/// Index: id of an endpoint, and which message → the [`Delivery`].
pub(super) const DELIVERIES: u8 = 42;

const STREAM_PREFIX: &str = "webhook/";

/// The stream of an endpoint.
pub(super) fn stream_of(id: EndpointId) -> Result<StreamId, StoreError> {
    let name = format!("{STREAM_PREFIX}{}", id.hex());
    StreamId::new(name).ok_or_else(|| damaged("the id of an endpoint", "it names no stream"))
}

/// The endpoint that a stream belongs to; none for streams of anything else.
pub(crate) fn of_stream(stream: &StreamId) -> Option<EndpointId> {
    EndpointId::of_hex(stream.as_str().strip_prefix(STREAM_PREFIX)?)
}

pub(super) fn damaged(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        place: place.to_owned(),
        reason: reason.into(),
    }
}

pub(super) fn encode(value: &impl bincode::Encode) -> Result<Vec<u8>, StoreError> {
    codec::encode(FORMAT, value).map_err(|error| damaged("an entry of webhooks", error.0))
}

pub(super) fn decode<T: bincode::Decode<()>>(bytes: &[u8]) -> Result<T, StoreError> {
    codec::decode(FORMAT, bytes).map_err(|error| damaged("an entry of webhooks", error.0))
}

/// The messages of an endpoint that are kept.
pub(super) fn scan(
    log: &dyn EventLog,
    id: EndpointId,
) -> Result<holdpoint_storage::Entries, StoreError> {
    let range = ScanRange {
        prefix: id.as_bytes(),
        ..ScanRange::default()
    };
    Ok(log.scan(DELIVERIES, range, 2 * KEPT_MAX, Direction::Forward)?)
}

/// An endpoint as the log has it, with the messages that are kept of it.
pub(super) type Loaded = (Endpoint, Version, Kept);

/// Every endpoint that is not deleted.
pub(super) fn load(log: &dyn EventLog) -> Result<BTreeMap<EndpointId, Loaded>, StoreError> {
    let mut found = BTreeMap::new();
    for id in listed(log)? {
        // An index that was built again also holds those that were deleted.
        let Some((mut endpoint, version)) = replay(log, id)? else {
            continue;
        };
        // The place of the log may be behind, never ahead. One of another epoch is not ours.
        if let Some(bytes) = log.get(PLACES, id.as_bytes())? {
            let place: Place = decode(&bytes)?;
            if place.epoch == endpoint.place.epoch && endpoint.place.through <= place.through {
                endpoint.place = place;
            }
        }
        let mut kept = Kept::new();
        for (_, value) in scan(log, id)? {
            kept::note(&mut kept, &decode::<Delivery>(&value)?);
        }
        found.insert(id, (endpoint, version, kept));
    }
    Ok(found)
}

/// The endpoints that the index holds.
fn listed(log: &dyn EventLog) -> Result<Vec<EndpointId>, StoreError> {
    let mut found = Vec::new();
    for entries in pages(log, ENDPOINTS, &[]) {
        for (key, _) in entries? {
            let id = key.try_into().map(EndpointId::from_bytes);
            let id = id.map_err(|_| damaged("the index of webhooks", "a key is no id"))?;
            found.push(id);
        }
    }
    Ok(found)
}

fn replay(log: &dyn EventLog, id: EndpointId) -> Result<Option<(Endpoint, Version)>, StoreError> {
    let stream = stream_of(id)?;
    let mut state = None;
    let mut version = 0;
    loop {
        let records = log.read_stream(&stream, version, REPLAY_PAGE)?;
        let Some(last) = records.last() else {
            return Ok(state.map(|endpoint| (endpoint, version)));
        };
        version = last.version;
        for record in &records {
            let wrong = |reason| damaged(&format!("record {} of {stream}", record.version), reason);
            let event = Event::of(record).map_err(|error| wrong(error.0))?;
            let at = Timestamp(record.time_ms);
            state = evolve(state, id, record.version, at, &event).map_err(wrong)?;
        }
    }
}

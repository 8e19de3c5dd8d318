//! Which incarnation of the log this is (invariant I29).
//!
//! A log goes on as the same incarnation for as long as it stays where it is. A copy of it (a restored
//! backup, a second folder, an import) knows nothing of what the other one has sent since, so it sends
//! nothing before an operator has confirmed that no other copy runs. Each confirmation is a record: the
//! incarnations are counted from 1, and the number is one more than those records.

use crate::seeded::Bug;
use bincode::{Decode, Encode};
use holdpoint_storage::{
    AppendError, Batch, EventLog, NewRecord, Origin, Position, ReadError, Record, StreamAppend,
    StreamId,
};
use serde_json::{Value, json};

use crate::action::Status;
use crate::engine::OpenError;
use crate::identity::StoreError;
use crate::store::codec::{self, CodecError};
use crate::store::{open_of, rebuild};
use crate::time::{Entropy, Timestamp};

/// The kind of the records.
pub(crate) const CONFIRMED: &str = "incarnation.confirmed";

/// Whom the history names: whoever started the engine.
pub(crate) const OPERATOR: &str = "operator";

const PAGE: usize = 1024;

const STREAM: &str = "incarnation";

/// The first byte of a stored body.
const FORMAT: u8 = 1;

/// A fact about the log as a whole. The order of variants and fields is for ever: new ones go to the
/// end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Event {
    /// An operator said that this copy is the log from now on.
    Confirmed {
        /// Drawn at random, so that two copies that were both confirmed can be told apart.
        id: [u8; 16],
        /// What was found at the start.
        found: Found,
        /// How many attempts were on their way in the copy; each is unknown now.
        in_flight: u64,
    },
}

/// What a start found. As [`Origin`], in the form that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Found {
    /// Nothing: the operator knew it.
    Nothing,
    /// The files are copies.
    Copied,
    /// It was imported.
    Imported,
}

impl From<ConfirmError> for OpenError {
    fn from(error: ConfirmError) -> Self {
        Self::Store(Box::new(error))
    }
}

impl Found {
    fn of(origin: Origin) -> Self {
        match origin {
            Origin::Own => Self::Nothing,
            Origin::Copied => Self::Copied,
            Origin::Imported => Self::Imported,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing; the operator knew it",
            Self::Copied => "the files of the log are copies",
            Self::Imported => "the log was imported",
        }
    }
}

/// Why a confirmation was not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfirmError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the confirmation could not be stored")]
    Append(#[from] AppendError),
    #[error(transparent)]
    Entropy(#[from] crate::time::EntropyError),
    #[error("the confirmation cannot be encoded: {0}")]
    Codec(#[from] CodecError),
}

/// The number of this incarnation of the log, from 1.
pub fn number(log: &dyn EventLog) -> Result<u64, ReadError> {
    let confirmed = match StreamId::new(STREAM) {
        Some(stream) => log.stream_version(&stream)?,
        None => 0,
    };
    Ok(confirmed + 1)
}

/// Where in a log copies have taken its place. Positions behind such a place may have been given before, to
/// what the copy knew nothing of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Restores(Vec<(Position, u32)>);

impl Restores {
    /// Reads them.
    pub(crate) fn read(log: &dyn EventLog) -> Result<Self, StoreError> {
        let Some(stream) = StreamId::new(STREAM) else {
            return Ok(Self::default());
        };
        let mut found = Vec::new();
        loop {
            let records = log.read_stream(&stream, found.len() as u64, PAGE)?;
            if records.is_empty() {
                return Ok(Self(found));
            }
            for record in records {
                let decoded = codec::decode(FORMAT, &record.body);
                let Event::Confirmed { id, .. } = decoded.map_err(|error| StoreError::Damaged {
                    place: format!("record {} of {STREAM}", record.version),
                    reason: error.0,
                })?;
                let [a, b, c, d, ..] = id;
                found.push((record.position, u32::from_be_bytes([a, b, c, d])));
            }
        }
    }

    /// What tells the incarnation that wrote a position from all others; none for the first one.
    pub(crate) fn at(&self, position: Position) -> Option<u32> {
        let before = self.0.partition_point(|(from, _)| *from <= position);
        let last = before.checked_sub(1)?;
        self.0.get(last).map(|(_, incarnation)| *incarnation)
    }
}

/// What would go on in a copy once it was confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Underway {
    /// Actions that wait to be sent.
    pub waiting: u64,
    /// Attempts that were on their way.
    pub in_flight: u64,
}

/// Counts what would go on; `None` where the indexes are not there yet, as in an imported log.
pub fn underway(log: &dyn EventLog) -> Result<Option<Underway>, ReadError> {
    if !rebuild::is_current(log)? {
        return Ok(None);
    }
    let waiting = open_of(log, Status::Approved)? + open_of(log, Status::Accepted)?;
    let in_flight = open_of(log, Status::Executing)?;
    Ok(Some(Underway { waiting, in_flight }))
}

/// Refuses a copy that nobody has confirmed; nothing is changed.
pub(crate) fn refuse_unconfirmed(log: &dyn EventLog) -> Result<(), OpenError> {
    let origin = log.origin();
    if origin == Origin::Own || Bug::RestoreWithoutIncarnation.is_on() {
        return Ok(());
    }
    let underway = underway(log).map_err(|error| OpenError::Store(Box::new(error)))?;
    Err(OpenError::Unconfirmed { origin, underway })
}

/// Records that this copy is the log from now on.
pub(crate) async fn confirm(
    log: &dyn EventLog,
    entropy: &dyn Entropy,
    at: Timestamp,
) -> Result<(), ConfirmError> {
    let in_flight = open_of(log, Status::Executing)?;
    let mut id = [0; 16];
    entropy.fill(&mut id)?;
    let event = Event::Confirmed {
        id,
        found: Found::of(log.origin()),
        in_flight,
    };
    let record = NewRecord {
        time_ms: at.0,
        actor: OPERATOR.to_owned(),
        kind: CONFIRMED.to_owned(),
        body: codec::encode(FORMAT, event)?,
    };
    let Some(stream) = StreamId::new(STREAM) else {
        crate::store::fatal("the name of the stream of incarnations is out of bounds");
    };
    let append = StreamAppend {
        expected: log.stream_version(&stream)?,
        stream,
        records: vec![record],
    };
    log.append(Batch {
        streams: vec![append],
        ..Batch::default()
    })
    .await?;
    Ok(())
}

/// The fact in a record as JSON; `None` where it is not about an incarnation, or cannot be understood.
pub(crate) fn describe(record: &Record) -> Option<Value> {
    if record.stream.as_str() != STREAM {
        return None;
    }
    let Event::Confirmed {
        id,
        found,
        in_flight,
    } = codec::decode(FORMAT, &record.body).ok()?;
    Some(json!({
        "incarnation": record.version + 1,
        "id": u128::from_be_bytes(id).to_string(),
        "found": found.words(),
        "in_flight": in_flight,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the first version wrote.
    const SAMPLE: [u8; 20] = [1, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 3];

    #[test]
    fn i26_the_first_format_of_a_confirmation_is_still_read() {
        let event = Event::Confirmed {
            id: [7; 16],
            found: Found::Copied,
            in_flight: 3,
        };
        assert_eq!(codec::encode(FORMAT, &event).expect("encodes"), SAMPLE);
        let read: Event = codec::decode(FORMAT, &SAMPLE).expect("decodes");
        assert_eq!(read, event);
    }
}

//! The pause switch: while it is on, nothing new is sent.
//!
//! A stream of its own holds who switched it, why and when; what the switch is, is its last record.
//! In the log, no commit record stands between a pause and the resumption that follows it: whoever
//! writes one holds [`Sending`], and switching waits for all who do. A call whose commit record is
//! older is on its way, and is finished.

use std::sync::{Arc, PoisonError};

use bincode::{Decode, Encode};
use holdpoint_storage::{Batch, EventLog, NewRecord, Record, StreamAppend, StreamId, Version};
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard};

use super::codec::{self, CodecError};
use super::{CommitError, Store, fatal};
use crate::engine::Paused;
use crate::limits::REPLAY_PAGE;
use crate::time::Timestamp;

const STREAM: &str = "engine/pause";

/// The format of the records.
const FORMAT: u8 = 1;

/// A fact about the switch. Variants are stored by number: new ones go at the end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum PauseEvent {
    /// Nothing new is sent from now on.
    Paused {
        /// The id of the person.
        by: String,
        /// The name of the person at that time.
        name: String,
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// What is due is sent again.
    Resumed {
        /// The id of the person.
        by: String,
        /// The name of the person at that time.
        name: String,
        /// Why, if said.
        reason: Option<String>,
        /// When.
        at: Timestamp,
    },
}

impl PauseEvent {
    /// Its name in the log.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "engine.paused",
            Self::Resumed { .. } => "engine.resumed",
        }
    }

    fn at(&self) -> Timestamp {
        match self {
            Self::Paused { at, .. } | Self::Resumed { at, .. } => *at,
        }
    }

    fn by(&self) -> &str {
        match self {
            Self::Paused { by, .. } | Self::Resumed { by, .. } => by,
        }
    }

    /// What the switch is afterwards.
    fn state(self) -> Option<Paused> {
        match self {
            Self::Paused {
                by,
                name,
                reason,
                at,
            } => Some(Paused {
                by,
                name,
                reason,
                since: at,
            }),
            Self::Resumed { .. } => None,
        }
    }
}

/// The switch, in memory.
pub(crate) struct PauseSwitch {
    /// The version of its stream. Shared by whoever writes a commit record, held alone to switch.
    gate: RwLock<Version>,
    now: std::sync::RwLock<Option<Paused>>,
}

/// The right to write a commit record: as long as it is held, nobody switches to paused.
pub(crate) struct Sending<'a> {
    _shared: RwLockReadGuard<'a, Version>,
}

impl PauseSwitch {
    /// The switch as the log says.
    pub(crate) fn load(log: &dyn EventLog) -> Result<Self, CommitError> {
        let unavailable = |error: CodecError| CommitError::Unavailable(Box::new(error));
        let stream = stream();
        let (mut version, mut now) = (0, None);
        loop {
            let records = log
                .read_stream(&stream, version, REPLAY_PAGE)
                .map_err(|error| CommitError::Unavailable(Box::new(error)))?;
            let Some(last) = records.last() else {
                break;
            };
            version = last.version;
            now = decode(last).map_err(unavailable)?.state();
        }
        publish(now.is_some());
        Ok(Self {
            gate: RwLock::new(version),
            now: std::sync::RwLock::new(now),
        })
    }

    /// Who paused, why and when; none while what is due is sent.
    pub(crate) fn paused(&self) -> Option<Paused> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }

    /// Whether nothing new may be sent.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused().is_some()
    }

    /// The right to write a commit record; none while paused.
    pub(crate) async fn sending(&self) -> Option<Sending<'_>> {
        let shared = self.gate.read().await;
        (!self.is_paused()).then_some(Sending { _shared: shared })
    }
}

impl Store {
    /// Switches, where the switch is not in that position already. Answers what it is then.
    pub(crate) async fn switch(
        self: &Arc<Self>,
        event: impl FnOnce(Timestamp) -> PauseEvent + Send + 'static,
        on: bool,
    ) -> Result<Option<Paused>, CommitError> {
        let store = Arc::clone(self);
        // A task of its own: what is durable must also be so in memory, whoever goes away.
        let task = tokio::spawn(async move {
            let mut version = store.pause.gate.write().await;
            store.may_answer()?;
            if store.pause.is_paused() == on {
                return Ok(store.pause.paused());
            }
            let event = event(store.time.now());
            store.append(batch(&event, *version)?).await?;
            *version += 1;
            let now = event.state();
            publish(on);
            let shared = &store.pause.now;
            shared
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&now);
            // What became due in the meantime is in the open index.
            store.inbox.look_again();
            store.board.wake_all();
            Ok(now)
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(CommitError::Unavailable(Box::new(error))),
        }
    }
}

/// Switches in a log that no engine runs on, where the switch is not in that position already.
/// Answers what it is then.
pub(crate) async fn switch_in(
    log: &dyn EventLog,
    now: Timestamp,
    event: impl FnOnce(Timestamp) -> PauseEvent,
    on: bool,
) -> Result<Option<Paused>, CommitError> {
    let switch = PauseSwitch::load(log)?;
    if switch.is_paused() == on {
        return Ok(switch.paused());
    }
    let event = event(now);
    let version = switch.gate.into_inner();
    log.append(batch(&event, version)?).await?;
    Ok(event.state())
}

/// One more record of the switch, whose last one has this version.
fn batch(event: &PauseEvent, version: Version) -> Result<Batch, CommitError> {
    let record = NewRecord {
        time_ms: event.at().0,
        actor: event.by().to_owned(),
        kind: event.kind().to_owned(),
        body: codec::encode(FORMAT, event).map_err(|error| CommitError::TooLarge(error.0))?,
    };
    Ok(Batch {
        streams: vec![StreamAppend {
            stream: stream(),
            expected: version,
            records: vec![record],
        }],
        ..Batch::default()
    })
}

/// A record of the switch as JSON, for the history; none where it is of another stream.
pub(crate) fn describe(record: &Record) -> Option<Value> {
    if record.stream.as_str() != STREAM {
        return None;
    }
    Some(match decode(record).ok()? {
        PauseEvent::Paused {
            by,
            name,
            reason,
            at,
        } => json!({ "by": by, "name": name, "reason": reason, "at": at.rfc3339() }),
        PauseEvent::Resumed {
            by,
            name,
            reason,
            at,
        } => json!({ "by": by, "name": name, "reason": reason, "at": at.rfc3339() }),
    })
}

fn decode(record: &Record) -> Result<PauseEvent, CodecError> {
    let event: PauseEvent = codec::decode(FORMAT, &record.body)?;
    if event.kind() != record.kind {
        return Err(CodecError(format!(
            "the record says {}, its body is {}",
            record.kind,
            event.kind()
        )));
    }
    Ok(event)
}

fn stream() -> StreamId {
    match StreamId::new(STREAM) {
        Some(stream) => stream,
        None => fatal("the name of the pause switch's stream is out of bounds"),
    }
}

fn publish(on: bool) {
    metrics::gauge!("holdpoint_paused").set(if on { 1.0 } else { 0.0 });
}

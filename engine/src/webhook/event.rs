//! The facts about endpoints. A stored body is a format byte and then bincode; variants and fields
//! keep their places for ever, new variants go to the end.

use std::collections::BTreeSet;

use bincode::{Decode, Encode};
use holdpoint_storage::{NewRecord, Position, Record};

use crate::canon::Digest;
use crate::store::codec::{self, CodecError};
use crate::time::Timestamp;

/// The format of stored bodies, places and deliveries.
pub(super) const FORMAT: u8 = 1;

/// One fact about the endpoint of its stream; who did it and when is in the record around it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// Somebody wants to hear of events. First in its stream.
    Created {
        /// Whose it is: it hears of what this person or key may see.
        owner: String,
        /// The name shown to people.
        name: String,
        /// Where messages go.
        url: String,
        /// The types of events that it hears of; empty for all.
        types: BTreeSet<String>,
        /// The tools whose actions it hears of; empty for all.
        tools: BTreeSet<String>,
        /// The SHA-256 of its first secret.
        fingerprint: Digest,
        /// It hears of what follows this position.
        from: Position,
    },
    /// What it hears of, or where that goes, is this from now on.
    Changed {
        /// The name from now on.
        name: String,
        /// The URL from now on.
        url: String,
        /// The types from now on.
        types: BTreeSet<String>,
        /// The tools from now on.
        tools: BTreeSet<String>,
        /// Why, if said.
        reason: Option<String>,
    },
    /// It has a new secret.
    SecretRotated {
        /// The SHA-256 of the new secret.
        fingerprint: Digest,
        /// Until when the secrets before sign as well.
        old_until: Timestamp,
        /// Why, if said.
        reason: Option<String>,
    },
    /// Nothing is sent to it any more; its place is kept.
    Disabled {
        /// Who or what ended it.
        cause: Cause,
        /// Why, in words.
        reason: String,
        /// The last position that it is done with.
        through: Position,
    },
    /// Messages are sent to it again.
    Enabled {
        /// Why.
        reason: String,
        /// It goes on after this position.
        from: Position,
    },
    /// It is no more. Last in its stream.
    Deleted {
        /// Why.
        reason: String,
    },
    /// An event was not taken, however often it was sent.
    DeliveryExhausted {
        /// Which event.
        position: Position,
        /// How often it was sent.
        attempts: u32,
        /// What the last attempt came to.
        error: String,
    },
    /// It is done with everything up to here; recorded now and then, so that a log without its
    /// indexes repeats little.
    Progressed {
        /// The last position that it is done with.
        through: Position,
    },
}

/// Why nothing is sent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Cause {
    /// Somebody switched it off.
    Person,
    /// It answered 410: it does not want to hear any more.
    Gone,
    /// It took an event at no attempt of the schedule.
    Exhausted,
    /// Its owner is disabled, revoked or expired, so that there is nothing it may hear of.
    OwnerLost,
    /// Its secret cannot be made: the key file is another one.
    SecretLost,
}

impl Cause {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Gone => "gone",
            Self::Exhausted => "exhausted",
            Self::OwnerLost => "owner_lost",
            Self::SecretLost => "secret_lost",
        }
    }
}

impl Event {
    /// Its name in the log. A contract.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "webhook.created",
            Self::Changed { .. } => "webhook.changed",
            Self::SecretRotated { .. } => "webhook.secret_rotated",
            Self::Disabled { .. } => "webhook.disabled",
            Self::Enabled { .. } => "webhook.enabled",
            Self::Deleted { .. } => "webhook.deleted",
            Self::DeliveryExhausted { .. } => "webhook.delivery_exhausted",
            Self::Progressed { .. } => "webhook.progressed",
        }
    }

    /// As a record.
    pub(super) fn record(&self, by: &str, at: Timestamp) -> Result<NewRecord, CodecError> {
        Ok(NewRecord {
            time_ms: at.0,
            actor: by.to_owned(),
            kind: self.kind().to_owned(),
            body: codec::encode(FORMAT, self)?,
        })
    }

    /// The other way round.
    pub(super) fn of(record: &Record) -> Result<Self, CodecError> {
        let event: Self = codec::decode(FORMAT, &record.body)?;
        if event.kind() == record.kind {
            return Ok(event);
        }
        let (said, is) = (&record.kind, event.kind());
        Err(CodecError(format!(
            "the record says {said}, its body is {is}"
        )))
    }
}

//! What was sent, kept within bounds so that people can look at it.

use bincode::{Decode, Encode};

use super::id::MessageId;
use super::message::Message;
use crate::action::ActionId;
use crate::time::Timestamp;

/// How many attempts of a message are kept, the latest ones.
const ATTEMPTS_KEPT: usize = 20;

/// The longest words about an attempt, in characters.
const ERROR_CHARS_MAX: usize = 300;

/// One message to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Delivery {
    /// The `webhook-id`.
    pub id: MessageId,
    /// The type of the message.
    pub kind: String,
    /// The action that it is about, where it is about one.
    pub action: Option<ActionId>,
    /// What became of it.
    pub state: DeliveryState,
    /// The latest attempts, the newest last.
    pub attempts: Vec<Attempt>,
    /// How many attempts there were in all.
    pub made: u32,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DeliveryState {
    /// It is sent again.
    Pending {
        /// When.
        next_at: Timestamp,
    },
    /// It was taken.
    Delivered,
    /// It was not taken, and is sent again only when a person does something.
    Failed,
    /// Its endpoint was disabled while it was tried: it is sent again when somebody enables that.
    Held,
    /// It is not sent any more: meanwhile the endpoint hears of other events, or begins behind it.
    Dropped,
}

impl DeliveryState {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Dropped => "dropped",
        }
    }

    /// Why nothing is sent, where its name alone does not say it.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Pending { .. } | Self::Delivered | Self::Failed => None,
            Self::Held => Some(
                "the endpoint was disabled while this was tried; it is sent again when somebody enables it",
            ),
            Self::Dropped => Some(
                "not sent any more: the endpoint does not ask for such events now, its owner may not see \
                 this one, or it was enabled from a later position",
            ),
        }
    }
}

/// One attempt to send a message.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attempt {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// Why it did not count, in words.
    pub error: Option<String>,
    /// Who asked for it; none for an attempt of the schedule.
    pub by: Option<String>,
}

impl Delivery {
    /// A message of which nothing is known yet.
    pub(super) fn new(message: &Message) -> Self {
        Self {
            id: message.id,
            kind: message.kind.clone(),
            action: message.action,
            state: DeliveryState::Failed,
            attempts: Vec::new(),
            made: 0,
        }
    }

    /// Adds an attempt; the oldest one makes room.
    pub(super) fn add(&mut self, mut attempt: Attempt) {
        if let Some(error) = &mut attempt.error
            && let Some((end, _)) = error.char_indices().nth(ERROR_CHARS_MAX)
        {
            error.truncate(end);
            error.push('…');
        }
        self.attempts.push(attempt);
        self.made = self.made.saturating_add(1);
        let more = self.attempts.len().saturating_sub(ATTEMPTS_KEPT);
        self.attempts.drain(..more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::EndpointId;

    #[test]
    fn i21_a_message_keeps_its_latest_attempts_and_short_words() {
        let endpoint = EndpointId::from_bytes([1; 16]);
        let mut delivery = Delivery {
            id: MessageId::Event {
                endpoint,
                position: 1,
            },
            kind: "action.staged".to_owned(),
            action: None,
            state: DeliveryState::Failed,
            attempts: Vec::new(),
            made: 0,
        };
        for number in 0..50 {
            delivery.add(Attempt {
                at: Timestamp(number),
                took_ms: 1,
                status: None,
                error: Some("ä".repeat(5000)),
                by: None,
            });
        }
        assert_eq!((delivery.attempts.len(), delivery.made), (20, 50));
        assert_eq!(delivery.attempts[0].at, Timestamp(30));
        let words = delivery.attempts[0].error.as_deref().unwrap_or_default();
        assert_eq!(words.chars().count(), 301);
    }
}

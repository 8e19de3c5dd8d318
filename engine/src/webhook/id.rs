//! The ids of endpoints and of messages.

use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};
use holdpoint_storage::Position;
use uuid::Uuid;

use crate::time::Timestamp;

/// A UUIDv7, written `whk_` and 32 lowercase hexadecimal digits. Sorts by the time of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct EndpointId([u8; 16]);

impl EndpointId {
    /// The id of an endpoint created at `at`, from 10 random bytes.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(at.0).unwrap_or(0);
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &random);
        Self(id.into_uuid().into_bytes())
    }

    /// The 16 bytes; their order is the order of ids.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id with these 16 bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 32 digits alone.
    pub(super) fn hex(self) -> String {
        Uuid::from_bytes(self.0).simple().to_string()
    }

    pub(super) fn of_hex(hex: &str) -> Option<Self> {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if hex.len() != 32 || !hex.bytes().all(is_hex) {
            return None;
        }
        Uuid::try_parse(hex).ok().map(|id| Self(id.into_bytes()))
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "whk_{}", self.hex())
    }
}

impl fmt::Debug for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not the id of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of an endpoint is written whk_ followed by 32 lowercase hexadecimal digits")]
pub struct EndpointIdFormatError;

impl FromStr for EndpointId {
    type Err = EndpointIdFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("whk_").ok_or(EndpointIdFormatError)?;
        Self::of_hex(hex).ok_or(EndpointIdFormatError)
    }
}

/// The id of a message, the `webhook-id` that its receiver knows it by: the same for every attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum MessageId {
    /// Of the event at a position: `msg_`, the digits of the endpoint, `_`, the position.
    Event {
        /// The endpoint.
        endpoint: EndpointId,
        /// The place of the event in the log.
        position: Position,
    },
    /// Of a test: the same with `test` and the time in milliseconds for the position.
    Test {
        /// The endpoint.
        endpoint: EndpointId,
        /// When it was asked for.
        at: Timestamp,
    },
    /// Of an event that was written after a copy took the place of the log: the same as of any other event,
    /// `_`, and eight digits of the incarnation, since its position may have been that of another event.
    Restored {
        /// The endpoint.
        endpoint: EndpointId,
        /// The place of the event in the log.
        position: Position,
        /// The first digits of the id of the incarnation.
        incarnation: u32,
    },
}

impl MessageId {
    /// The endpoint.
    pub fn endpoint(self) -> EndpointId {
        match self {
            Self::Event { endpoint, .. }
            | Self::Test { endpoint, .. }
            | Self::Restored { endpoint, .. } => endpoint,
        }
    }

    /// The position of the event; none for a test.
    pub fn position(self) -> Option<Position> {
        match self {
            Self::Event { position, .. } | Self::Restored { position, .. } => Some(position),
            Self::Test { .. } => None,
        }
    }

    /// The key in the index of deliveries: those of events in the order of the log, then tests.
    pub(super) fn key(self) -> Vec<u8> {
        let mut key = self.endpoint().as_bytes().to_vec();
        let (lane, number) = match self {
            Self::Event { position, .. } | Self::Restored { position, .. } => (0, position),
            Self::Test { at, .. } => (1, u64::try_from(at.0).unwrap_or(0)),
        };
        key.push(lane);
        key.extend_from_slice(&number.to_be_bytes());
        if let Self::Restored { incarnation, .. } = self {
            key.extend_from_slice(&incarnation.to_be_bytes());
        }
        key
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.endpoint().hex();
        match self {
            Self::Event { position, .. } => write!(f, "msg_{hex}_{position}"),
            Self::Test { at, .. } => write!(f, "msg_{hex}_test{}", at.0),
            Self::Restored {
                position,
                incarnation,
                ..
            } => write!(f, "msg_{hex}_{position}_{incarnation:08x}"),
        }
    }
}

/// The text is not the id of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the id of a delivery is written msg_, 32 hexadecimal digits, _ and a number; after a restore _ and 8 \
     hexadecimal digits follow"
)]
pub struct MessageIdFormatError;

impl FromStr for MessageId {
    type Err = MessageIdFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (hex, number) = text
            .strip_prefix("msg_")
            .and_then(|rest| rest.split_once('_'))
            .ok_or(MessageIdFormatError)?;
        let endpoint = EndpointId::of_hex(hex).ok_or(MessageIdFormatError)?;
        if let Some((position, incarnation)) = number.split_once('_') {
            let id = restored(endpoint, position, incarnation);
            return id
                .filter(|id| id.to_string() == text)
                .ok_or(MessageIdFormatError);
        }
        let digits = number.strip_prefix("test").unwrap_or(number);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MessageIdFormatError);
        }
        let malformed = |_| MessageIdFormatError;
        Ok(if digits.len() == number.len() {
            let position = digits.parse().map_err(malformed)?;
            Self::Event { endpoint, position }
        } else {
            let at = Timestamp(digits.parse().map_err(malformed)?);
            Self::Test { endpoint, at }
        })
    }
}

fn restored(endpoint: EndpointId, position: &str, incarnation: &str) -> Option<MessageId> {
    Some(MessageId::Restored {
        endpoint,
        position: position.parse().ok()?,
        incarnation: u32::from_str_radix(incarnation, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_as_they_were_written_and_hold_no_dot() {
        let endpoint = EndpointId::new(Timestamp(1_790_812_800_123), [7; 10]);
        assert_eq!(endpoint.to_string().parse(), Ok(endpoint));
        let at = Timestamp(1_790_812_800_123);
        let position = u64::MAX;
        for id in [
            MessageId::Event { endpoint, position },
            MessageId::Test { endpoint, at },
            MessageId::Restored {
                endpoint,
                position,
                incarnation: 7,
            },
        ] {
            assert_eq!(id.to_string().parse(), Ok(id));
            assert!(
                !id.to_string().contains('.'),
                "the signed text splits there"
            );
        }
        for text in [
            "msg_",
            "msg_00_1",
            "whk_",
            "msg_00000000000000000000000000000000_-1",
            "msg_00000000000000000000000000000000_1_7",
            "msg_00000000000000000000000000000000_1_0000000G",
            "msg_00000000000000000000000000000000_+1_00000007",
            "",
        ] {
            assert!(text.parse::<MessageId>().is_err(), "{text}");
        }
    }
}

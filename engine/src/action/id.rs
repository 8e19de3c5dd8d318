//! The id of an action.

use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};
use uuid::Uuid;

use crate::time::Timestamp;

/// A UUIDv7, written `act_` and 32 lowercase hexadecimal digits. Sorts by the time of submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct ActionId([u8; 16]);

impl ActionId {
    /// The id of an action submitted at `at`, from 10 random bytes (RFC 9562, section 5.7).
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(at.0).unwrap_or(0);
        Self(
            uuid::Builder::from_unix_timestamp_millis(millis, &random)
                .into_uuid()
                .into_bytes(),
        )
    }

    /// The 16 bytes; their order is the order of ids.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id with these 16 bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "act_{}", Uuid::from_bytes(self.0).simple())
    }
}

impl fmt::Debug for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not the id of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of an action is written act_ followed by 32 lowercase hexadecimal digits")]
pub struct ActionIdFormatError;

impl FromStr for ActionId {
    type Err = ActionIdFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("act_").ok_or(ActionIdFormatError)?;
        if hex.len() != 32 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(ActionIdFormatError);
        }
        Uuid::try_parse(hex)
            .map(|id| Self(id.into_bytes()))
            .map_err(|_| ActionIdFormatError)
    }
}

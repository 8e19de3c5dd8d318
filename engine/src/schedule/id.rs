//! The id of a schedule.

use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};

use crate::action::ActionId;
use crate::time::Timestamp;

/// A UUIDv7, written `sch_` and 32 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct ScheduleId([u8; 16]);

impl ScheduleId {
    /// The id of a schedule made at `at`, from 10 random bytes (RFC 9562, section 5.7).
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        // The layout is that of an action's id.
        Self(*ActionId::new(at, random).as_bytes())
    }

    /// The 16 bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id with these 16 bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(super) fn hex(self) -> String {
        let id = ActionId::from_bytes(self.0).to_string();
        id.strip_prefix("act_").unwrap_or(&id).to_owned()
    }
}

impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sch_{}", self.hex())
    }
}

impl fmt::Debug for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not the id of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a schedule is written sch_ followed by 32 lowercase hexadecimal digits")]
pub struct ScheduleIdFormatError;

impl FromStr for ScheduleId {
    type Err = ScheduleIdFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("sch_").ok_or(ScheduleIdFormatError)?;
        let id: ActionId = format!("act_{hex}")
            .parse()
            .map_err(|_| ScheduleIdFormatError)?;
        Ok(Self(*id.as_bytes()))
    }
}

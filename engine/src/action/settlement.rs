//! Who ended a doubt by their word.

use bincode::{Decode, Encode};

use super::Status;
use crate::time::Timestamp;

/// What a person said became of an attempt whose outcome nobody knew.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Settlement {
    /// The id of the person.
    pub by: String,
    /// Whether it happened.
    pub happened: bool,
    /// When it was said.
    pub at: Timestamp,
}

impl Settlement {
    /// What was settled, in words.
    pub fn outcome(&self) -> &'static str {
        if self.happened {
            "it happened"
        } else {
            "it did not happen"
        }
    }
}

/// Why there is nothing to settle.
pub(super) fn nothing_to_settle(settled: Option<&Settlement>, status: Status) -> String {
    match settled {
        Some(first) => format!(
            "it was already settled by {} at {}: {}",
            first.by,
            first.at,
            first.outcome()
        ),
        None => format!(
            "only an action whose outcome is unknown can be settled; this one is {}",
            status.name()
        ),
    }
}

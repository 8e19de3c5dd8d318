//! Reminders: people are told before the time to decide is over, not after (incident 69).

use bincode::{Decode, Encode};

use super::{Action, Phase};
use crate::time::Timestamp;

/// Which part of the time to decide is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Reminder {
    /// Half of it.
    Half,
    /// Nine tenths of it: the last call.
    NineTenths,
}

impl Reminder {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Half => "half",
            Self::NineTenths => "nine_tenths",
        }
    }

    /// In words, as the middle of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Half => "half of the time to decide is over",
            Self::NineTenths => "nine tenths of the time to decide are over",
        }
    }
}

impl Action {
    /// When this reminder is due; none where there is no deadline.
    pub fn reminder_at(&self, reminder: Reminder) -> Option<Timestamp> {
        let span = self.deadline()?.0.saturating_sub(self.created_at.0).max(0);
        let after = match reminder {
            Reminder::Half => span / 2,
            Reminder::NineTenths => span - span / 10,
        };
        Some(Timestamp(self.created_at.0.saturating_add(after)))
    }

    /// The next reminder and when it is due; none where there is none left, or nobody to remind.
    ///
    /// Each is made at most once, whatever is withdrawn or staged again: the deadline stays.
    pub fn next_reminder(&self) -> Option<(Reminder, Timestamp)> {
        let waits = match &self.phase {
            Phase::Staged => true,
            Phase::Approved { .. }
            | Phase::Accepted { .. }
            | Phase::Executing
            | Phase::Unknown { .. }
            | Phase::Succeeded { .. }
            | Phase::Failed(_)
            | Phase::Rejected { .. }
            | Phase::Expired
            | Phase::Cancelled { .. }
            | Phase::Refused(_)
            | Phase::ReplanRequired { .. } => false,
        };
        let next = match self.reminded {
            None => Reminder::Half,
            Some(Reminder::Half) => Reminder::NineTenths,
            Some(Reminder::NineTenths) => return None,
        };
        waits
            .then(|| self.reminder_at(next))
            .flatten()
            .map(|due| (next, due))
    }
}

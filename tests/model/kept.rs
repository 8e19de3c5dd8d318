//! The log, as the action that follows from it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use holdpoint_engine::action::{Action, Event, evolve};
use holdpoint_engine::approval::CastVote;
use holdpoint_engine::canon::Digest;

use crate::wishes::id;

/// An action as the core made it, with a digest to tell it from others by.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) action: Arc<Action>,
    print: Digest,
}

impl Kept {
    /// Without the moments, and the order of votes, that nothing is decided by: so fewer worlds differ.
    pub(crate) fn of(mut action: Action) -> Self {
        action.updated_at = action.created_at;
        if let Some(approval) = &mut action.approval {
            for cast in &mut approval.votes {
                cast.at = action.created_at;
            }
            let id = |cast: &CastVote| cast.voter.id.clone();
            approval.votes.sort_by_key(id);
        }
        for attempt in &mut action.attempts {
            attempt.ended_at = None;
        }
        let bytes = bincode::encode_to_vec(&action, bincode::config::standard());
        Self {
            print: Digest::of(&bytes.expect("it can be written down")),
            action: Arc::new(action),
        }
    }

    /// After these events; none where one of them cannot happen to it.
    pub(crate) fn after(&self, events: &[Event]) -> Option<Self> {
        let action = events
            .iter()
            .try_fold((*self.action).clone(), |action, event| {
                evolve(Some(action), id(), event)
            });
        action.ok().map(Self::of)
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.0.hash(state);
    }
}

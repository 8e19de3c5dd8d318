//! Who may still vote on an action, and whether they are enough.

use super::Engine;
use crate::action::{Action, Status};
use crate::approval::{Shortage, Voter};
use crate::time::Timestamp;

impl Engine {
    /// Who may still vote on an action; none where nobody may any more.
    pub fn voters(&self, action: &Action) -> Option<Vec<Voter>> {
        voters(action, &self.identity().approvers(), self.now())
    }

    /// What its approval asks for and cannot get, since fewer people may still vote.
    pub fn shortages(&self, action: &Action) -> Vec<Shortage> {
        if action.status() != Status::Staged {
            return Vec::new();
        }
        shortages(action, &self.identity().approvers(), self.now())
    }
}

fn voters(action: &Action, approvers: &[Voter], now: Timestamp) -> Option<Vec<Voter>> {
    let is_open =
        action.status() == Status::Staged && action.deadline().is_some_and(|end| now < end);
    is_open.then(|| {
        let people = approvers.iter();
        let left = people.filter(|voter| action.takes_vote_of(voter, now));
        left.cloned().collect()
    })
}

/// What an approval asks for and cannot get of these people.
pub(super) fn shortages(action: &Action, approvers: &[Voter], now: Timestamp) -> Vec<Shortage> {
    let (Some(left), Some(approval)) = (voters(action, approvers, now), &action.approval) else {
        return Vec::new();
    };
    let needs = approval.requirement.needs.iter();
    needs
        .filter_map(|need| Shortage::of(need, &approval.votes, &left))
        .collect()
}

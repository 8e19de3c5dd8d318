//! Who may vote, and what the votes come to.

use super::{CastVote, Need, Requester, Requirement, Vote, Voter};
use crate::seeded::Bug;
use crate::time::Timestamp;

/// Why a person may not vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// Services and agents never vote.
    #[error("only people vote; services and agents never do")]
    NotAPerson,
    /// The requester, or the owner of the requesting credential (invariant I8).
    #[error("whoever asked for the action, or owns the credential that asked, may not vote on it")]
    SelfApproval,
    /// Whoever made a run go on that it stands for a step of (invariant I8).
    #[error(
        "whoever started or resumed a run that this stands for a step of, or sent it an event, may not vote on it"
    )]
    Instigated,
    /// No role of approver, or in none of the groups that are asked for.
    #[error("this approval asks for people of other groups or roles")]
    NotAnApprover,
    /// Changed who may do what while this approval was waiting (invariant I8).
    #[error(
        "whoever has changed accounts, roles or groups since this was asked may not vote on it"
    )]
    ChangedAccess,
    /// One person, one vote.
    #[error("this person has already voted on this revision")]
    AlreadyVoted,
    /// The deadline has passed.
    #[error("the deadline of the approval has passed")]
    Expired,
}

/// What the votes come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tally {
    /// Somebody said no.
    Rejected,
    /// Every need is met.
    Approved,
    /// These needs are not met yet, with the number of people still missing.
    Open(Vec<(Need, u32)>),
}

/// Whether `voter` may vote now, given the votes of this revision so far.
pub fn eligibility(
    requirement: &Requirement,
    requester: &Requester,
    votes: &[CastVote],
    voter: &Voter,
    now: Timestamp,
) -> Result<(), Ineligible> {
    if !voter.is_person {
        return Err(Ineligible::NotAPerson);
    }
    // Before the groups: somebody who may never vote should learn that, whatever their groups are.
    if requester.asks(&voter.id) && !Bug::RequesterMayApprove.is_on() {
        return Err(Ineligible::SelfApproval);
    }
    if requester.instigators.contains(&voter.id) {
        return Err(Ineligible::Instigated);
    }
    if !voter.is_approver || !requirement.needs.iter().any(|need| qualifies(need, voter)) {
        return Err(Ineligible::NotAnApprover);
    }
    if voter
        .changed_access_at
        .is_some_and(|changed| requester.asked_at <= changed)
    {
        return Err(Ineligible::ChangedAccess);
    }
    if votes.iter().any(|cast| cast.voter.id == voter.id) {
        return Err(Ineligible::AlreadyVoted);
    }
    if requirement.deadline <= now && !Bug::ExpiryOnlyByTimer.is_on() {
        return Err(Ineligible::Expired);
    }
    Ok(())
}

/// Counts the votes of one revision.
pub fn tally(requirement: &Requirement, votes: &[CastVote]) -> Tally {
    if votes.iter().any(|cast| cast.vote == Vote::Reject) {
        return Tally::Rejected;
    }
    let open: Vec<_> = requirement
        .needs
        .iter()
        .filter_map(|need| {
            let have = votes
                .iter()
                .filter(|cast| qualifies(need, &cast.voter))
                .count();
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            (have < need.required).then(|| (need.clone(), need.required - have))
        })
        .collect();
    if open.is_empty() {
        Tally::Approved
    } else {
        Tally::Open(open)
    }
}

pub(super) fn qualifies(need: &Need, voter: &Voter) -> bool {
    need.groups.is_empty() || need.groups.iter().any(|group| voter.groups.contains(group))
}

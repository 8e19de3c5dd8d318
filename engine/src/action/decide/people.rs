//! What people wish: to vote, to take a vote or an action back, to make its run go on, to settle a doubt.

use super::expiry;
use crate::action::{Action, Approval, Event, Instigator, Phase, Refusal};
use crate::approval::{self, CastVote, Ineligible, Tally, Vote, Voter};
use crate::canon::Digest;
use crate::seeded::Bug;
use crate::time::{Elapsed, Timestamp};

/// A vote, with what its page showed.
pub(super) struct Ballot {
    pub(super) voter: Voter,
    pub(super) vote: Vote,
    pub(super) reason: Option<String>,
    pub(super) revision: u32,
    pub(super) digest: Digest,
    pub(super) snapshot_digest: Option<Digest>,
}

pub(super) fn vote(action: &Action, ballot: Ballot, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    let decided = Refusal::AlreadyDecided {
        status: action.status(),
    };
    let Some(approval) = &action.approval else {
        return Err(decided);
    };
    let Ballot {
        voter,
        vote,
        reason,
        revision,
        digest,
        snapshot_digest,
    } = ballot;
    let shown = revision == action.revision && digest == action.proposal.digest;
    if shown && is_repeat(approval, &voter, vote) {
        return Ok(Vec::new());
    }
    if action.phase != Phase::Staged {
        return Err(decided);
    }
    let Approval { requirement, votes } = approval;
    let requester = action.requester();
    match approval::eligibility(requirement, &requester, votes, &voter, at) {
        Ok(()) => {}
        Err(Ineligible::Expired) => return Ok(expiry(action, at).into_iter().collect()),
        Err(ineligible) => return Err(ineligible.into()),
    }
    if !shown {
        return Err(Refusal::StaleDigest {
            revision: action.revision,
        });
    }
    if snapshot_digest != action.snapshot.as_ref().map(|snapshot| snapshot.digest) {
        return Err(Refusal::StaleSnapshot);
    }
    let (deadline, hold_ms) = (requirement.deadline, requirement.hold_ms);
    if vote == Vote::Approve && deadline <= at.plus_ms(hold_ms) {
        return Err(Refusal::NoTimeLeft { deadline, hold_ms });
    }
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    if vote == Vote::Reject && !reason.as_deref().is_some_and(has_words) {
        return Err(Refusal::ReasonRequired);
    }
    let by = voter.id.clone();
    let cast = CastVote {
        voter,
        vote,
        reason: reason.clone(),
        at,
    };
    let mut all = votes.clone();
    all.push(cast.clone());
    let mut events = vec![Event::VoteRecorded {
        cast,
        revision,
        digest,
        snapshot_digest,
    }];
    match approval::tally(requirement, &all) {
        Tally::Open(_) => {}
        Tally::Approved => {
            events.push(Event::Approved {
                hold_until: at.plus_ms(requirement.hold_ms),
                at,
            });
        }
        Tally::Rejected => {
            events.push(Event::Rejected {
                by,
                reason: reason.unwrap_or_default(),
                at,
            });
        }
    }
    Ok(events)
}

/// The same person's same vote is a repeat, not an error: a second click, a retry of a lost answer.
fn is_repeat(approval: &Approval, voter: &Voter, vote: Vote) -> bool {
    approval
        .votes
        .iter()
        .any(|cast| cast.voter.id == voter.id && cast.vote == vote)
}

/// Whether a vote of this person counts on this revision.
fn has_vote_of(action: &Action, person: &str) -> bool {
    let votes = action.approval.iter().flat_map(|approval| &approval.votes);
    votes.into_iter().any(|cast| cast.voter.id == person)
}

pub(super) fn withdraw(
    action: &Action,
    by: String,
    reason: Option<String>,
    elapsed: &Elapsed,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let has_vote = has_vote_of(action, &by);
    // A second click, a retry of a lost answer: it is taken back, and nothing is left to take back.
    if !has_vote && action.withdrawn.contains(&by) {
        return Ok(Vec::new());
    }
    if let Some(expired) = expiry(action, at) {
        return Ok(vec![expired]);
    }
    let open = match &action.phase {
        Phase::Staged => true,
        Phase::Approved { .. } => action.withdrawable_until(elapsed).is_some(),
        Phase::Executing | Phase::Unknown { .. } => {
            return Err(Refusal::TooLate {
                status: action.status(),
            });
        }
        Phase::Accepted { .. }
        | Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => {
            return Err(Refusal::AlreadyDecided {
                status: action.status(),
            });
        }
    };
    if !open || !has_vote {
        return Err(Refusal::NotWithdrawable);
    }
    Ok(vec![Event::Withdrawn { by, reason, at }])
}

pub(super) fn cancel(
    action: &Action,
    by: String,
    reason: Option<String>,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    if let Some(expired) = expiry(action, at) {
        return Ok(vec![expired]);
    }
    let status = action.status();
    match &action.phase {
        Phase::Staged | Phase::Approved { .. } | Phase::Accepted { .. } => {
            Ok(vec![Event::Cancelled { by, reason, at }])
        }
        Phase::Cancelled { by: first, .. } if *first == by => Ok(Vec::new()),
        Phase::Executing | Phase::Unknown { .. } if Bug::CancelClaimsStopped.is_on() => {
            Ok(vec![Event::Cancelled { by, reason, at }])
        }
        Phase::Executing | Phase::Unknown { .. } => Err(Refusal::TooLate { status }),
        Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => Err(Refusal::AlreadyDecided { status }),
    }
}

/// Everybody who is on the asking side stays there. Of what is over, nobody decides anything more.
pub(super) fn instigate(
    action: &Action,
    by: Vec<Instigator>,
    may_have_approved: bool,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    if action.status().is_final() {
        return Ok(Vec::new());
    }
    let approval = action.approval.iter();
    let votes: Vec<_> = approval.flat_map(|approval| &approval.votes).collect();
    let has_approved = |by: &Instigator| {
        let is_theirs = |id: &String| *id == by.id || by.owner.as_ref() == Some(id);
        votes.iter().any(|cast| is_theirs(&cast.voter.id))
    };
    if !may_have_approved && by.iter().any(has_approved) {
        return Err(Refusal::OwnApproval);
    }
    let mut all = action.instigators.clone();
    for by in by {
        let is_caller = action.proposal.caller.id == by.id;
        if !is_caller
            && all
                .iter()
                .all(|known| known.id != by.id || known.owner != by.owner)
        {
            all.push(by);
        }
    }
    let is_news = all.len() != action.instigators.len();
    Ok(is_news
        .then_some(Event::Instigated { by: all, at })
        .into_iter()
        .collect())
}

pub(super) fn settle(
    action: &Action,
    by: String,
    happened: bool,
    reason: String,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let Phase::Unknown { .. } = &action.phase else {
        let settled = action.settled.clone();
        if settled
            .as_ref()
            .is_some_and(|first| first.by == by && first.happened == happened)
        {
            return Ok(Vec::new());
        }
        return Err(Refusal::NotUnknown {
            status: action.status(),
            settled,
        });
    };
    if !has_words(&reason) {
        return Err(Refusal::ReasonRequired);
    }
    let requester = action.requester();
    let asked = requester.asks(&by) || requester.instigators.contains(&by);
    if asked || has_vote_of(action, &by) {
        return Err(Refusal::OwnOutcome);
    }
    let attempt = last_attempt(action);
    Ok(vec![Event::Settled {
        attempt,
        by,
        happened,
        reason,
        at,
    }])
}

/// The number of the attempt under way; a phase after a commit record always has one.
fn last_attempt(action: &Action) -> u32 {
    let attempt = action.attempts.last();
    assert!(
        attempt.is_some(),
        "an unknown outcome belongs to an attempt"
    );
    attempt.map_or(0, |attempt| attempt.number)
}

/// Whether a reason says anything: blanks, signs and letters without ink do not.
fn has_words(reason: &str) -> bool {
    reason.chars().any(|c| {
        c.is_alphanumeric() && !matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
    })
}

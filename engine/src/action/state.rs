//! What an action is at one moment.

use bincode::{Decode, Encode};

use super::facts::{Attempt, Difference, Rendered, Snapshot, WORKER_METHOD};
use super::proposal::{Instigator, Proposal};
use super::{ActionId, Doubt, Reminder, Settlement};
use crate::approval::{CastVote, Requester, Requirement, Tally, Voter, eligibility, tally};
use crate::canon::CanonicalJson;
use crate::time::Timestamp;

/// An approval under way, or given, for the current revision.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Approval {
    /// What it waits for.
    pub requirement: Requirement,
    /// Who said what on this revision.
    pub votes: Vec<CastVote>,
}

/// Why an action was refused at submission.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Refused {
    /// A stable code: `missing_scope`, `identity_check_failed`, `precondition_failed`.
    pub code: String,
    /// In words, for the caller.
    pub message: String,
}

/// Why an action failed: in each case it is certain that nothing happened.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FailReason {
    /// The target said no.
    TargetRefused {
        /// Its answer, canonical JSON or a JSON string.
        answer: CanonicalJson,
    },
    /// It was tried as often as the tool allows, and certainly never took effect: it could not be
    /// delivered, or the source of truth shows that it did not happen. Or, where no approval sets an
    /// end, the state could not be read as often in a row. What is never sent again by the machine
    /// is here after the first such try.
    NeverDelivered {
        /// The last reason.
        message: String,
    },
    /// The worker that had it is certain that nothing happened.
    WorkerFailed {
        /// Its reason, a JSON string.
        answer: CanonicalJson,
    },
    /// A person settled that it did not happen.
    SettledAsNotDone {
        /// The reason the person gave.
        reason: String,
    },
}

/// Where an action is, with what belongs to being there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Phase {
    /// Waits for votes.
    Staged,
    /// Every need was met.
    Approved {
        /// Not to be called before this: the end of the hold window, or of a backoff.
        run_at: Timestamp,
        /// Until when an approver may take the approval back; none once a call was made.
        hold_until: Option<Timestamp>,
    },
    /// Needs no approval, waits for its turn.
    Accepted {
        /// Not to be called before this.
        run_at: Timestamp,
    },
    /// A commit record is durable; the call may be on its way.
    Executing,
    /// The last attempt may or may not have taken effect.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// Before this moment "not found" proves nothing.
        quiet_at: Timestamp,
        /// How often the source of truth was asked.
        checks: u32,
        /// When it is asked next; none where it is not asked any more.
        next_check: Option<Timestamp>,
        /// When the same call is sent again with the same key; none where it is not. With neither,
        /// a person must settle it.
        next_resend: Option<Timestamp>,
    },
    /// It happened.
    Succeeded {
        /// What the target answered, or what the check found.
        result: CanonicalJson,
    },
    /// It certainly did not happen, and will not.
    Failed(FailReason),
    /// A person said no.
    Rejected {
        /// The id of the person.
        by: String,
        /// Why.
        reason: String,
    },
    /// The deadline passed.
    Expired,
    /// The requester took it back before anything was sent.
    Cancelled {
        /// The id of the principal.
        by: String,
        /// Why, if said.
        reason: Option<String>,
    },
    /// Never taken on.
    Refused(Refused),
    /// The world is no longer the one that was approved.
    ReplanRequired {
        /// What moved, in words.
        message: String,
    },
}

/// The names on the wire; `docs/adr/0004-statuses.md` says why these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Status {
    /// Waits for votes.
    Staged,
    /// Approved, not yet sent.
    Approved,
    /// Needs no approval, not yet sent.
    Accepted,
    /// Sent, or about to be.
    Executing,
    /// Nobody knows yet whether it happened.
    Unknown,
    /// It happened. Final, as all that follow.
    Succeeded,
    /// It certainly did not happen.
    Failed,
    /// A person said no.
    Rejected,
    /// The deadline passed.
    Expired,
    /// Taken back by the requester.
    Cancelled,
    /// Never taken on.
    Refused,
    /// The world moved.
    ReplanRequired,
}

impl Status {
    /// Every status, in the order of an action's life.
    pub const ALL: [Self; 12] = [
        Self::Staged,
        Self::Approved,
        Self::Accepted,
        Self::Executing,
        Self::Unknown,
        Self::Succeeded,
        Self::Failed,
        Self::Rejected,
        Self::Expired,
        Self::Cancelled,
        Self::Refused,
        Self::ReplanRequired,
    ];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Approved => "approved",
            Self::Accepted => "accepted",
            Self::Executing => "executing",
            Self::Unknown => "unknown",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::ReplanRequired => "replan_required",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether nothing can follow (invariant I11).
    pub fn is_final(self) -> bool {
        match self {
            Self::Staged | Self::Approved | Self::Accepted | Self::Executing | Self::Unknown => {
                false
            }
            Self::Succeeded
            | Self::Failed
            | Self::Rejected
            | Self::Expired
            | Self::Cancelled
            | Self::Refused
            | Self::ReplanRequired => true,
        }
    }
}

/// One proposed call of one tool, and everything that has become of it: a function of its events.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// What was proposed.
    pub proposal: Proposal,
    /// Counts the stagings, from 1: a restaged action has new facts, and old votes do not count.
    pub revision: u32,
    /// What the state query said when this revision was staged (or the action accepted).
    pub snapshot: Option<Snapshot>,
    /// The request as the approver sees it; none for a refused action.
    pub request: Option<Rendered>,
    /// The approval; none where the class asks for none.
    pub approval: Option<Approval>,
    /// Where it is.
    pub phase: Phase,
    /// Every attempt, in order.
    pub attempts: Vec<Attempt>,
    /// How often in a row the state could not be read, since the last call.
    pub reads_failed: u32,
    /// How many calls of this revision certainly had no effect, so that another could follow.
    pub tries_failed: u32,
    /// What moved, for an action that must be planned again or was staged again.
    pub diff: Vec<Difference>,
    /// Not to be called before this, where its caller chose a moment.
    pub not_before: Option<Timestamp>,
    /// How long the target keeps the key, in milliseconds from the first send; none where it is not
    /// known to.
    pub key_kept_ms: Option<u64>,
    /// The last reminder that was made.
    pub reminded: Option<Reminder>,
    /// The doubt about the attempts since the last one that certainly had no effect.
    pub doubt: Option<Doubt>,
    /// Who, besides its caller, made the run go on that it is a step of.
    pub instigators: Vec<Instigator>,
    /// Who took an approval of this revision back.
    pub withdrawn: Vec<String>,
    /// Who settled its outcome, where a person did.
    pub settled: Option<Settlement>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
}

impl Action {
    /// Its status on the wire.
    pub fn status(&self) -> Status {
        match &self.phase {
            Phase::Staged => Status::Staged,
            Phase::Approved { .. } => Status::Approved,
            Phase::Accepted { .. } => Status::Accepted,
            Phase::Executing => Status::Executing,
            Phase::Unknown { .. } => Status::Unknown,
            Phase::Succeeded { .. } => Status::Succeeded,
            Phase::Failed(_) => Status::Failed,
            Phase::Rejected { .. } => Status::Rejected,
            Phase::Expired => Status::Expired,
            Phase::Cancelled { .. } => Status::Cancelled,
            Phase::Refused(_) => Status::Refused,
            Phase::ReplanRequired { .. } => Status::ReplanRequired,
        }
    }

    /// Whether a worker pulls its calls, so that the engine never makes them.
    pub fn is_pulled(&self) -> bool {
        self.request
            .as_ref()
            .is_some_and(|request| request.method == WORKER_METHOD)
    }

    /// Whether a worker has the attempt that is on its way.
    pub fn is_leased(&self) -> bool {
        let last = self.attempts.last();
        self.phase == Phase::Executing && last.is_some_and(|last| last.lease.is_some())
    }

    /// Whether this person's vote on it would count now.
    pub fn takes_vote_of(&self, voter: &Voter, now: Timestamp) -> bool {
        self.status() == Status::Staged
            && self.approval.as_ref().is_some_and(|approval| {
                let (needs, votes) = (&approval.requirement, &approval.votes);
                eligibility(needs, &self.requester(), votes, voter, now).is_ok()
            })
    }

    /// The side that may not vote.
    pub fn requester(&self) -> Requester {
        let caller = &self.proposal.caller;
        Requester {
            id: caller.id.clone(),
            owner: caller.owner.clone(),
            instigators: self
                .instigators
                .iter()
                .flat_map(|by| std::iter::once(&by.id).chain(&by.owner))
                .cloned()
                .collect(),
            asked_at: self.created_at,
        }
    }

    /// Whether every vote that its current revision needs is there.
    pub fn has_its_votes(&self) -> bool {
        self.approval.as_ref().is_some_and(|approval| {
            tally(&approval.requirement, &approval.votes) == Tally::Approved
        })
    }

    /// Why it expired, in words.
    pub fn expiry_words(&self) -> &'static str {
        if self.has_its_votes() {
            "it was approved, and could not be called before its deadline"
        } else {
            "nobody decided in time"
        }
    }

    /// The deadline of its approval, where it has one.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.approval
            .as_ref()
            .map(|approval| approval.requirement.deadline)
    }

    /// From when on its call may leave, where it waits for nothing else.
    pub fn run_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Approved { run_at, .. } | Phase::Accepted { run_at } => Some(*run_at),
            Phase::Staged
            | Phase::Executing
            | Phase::Unknown { .. }
            | Phase::Succeeded { .. }
            | Phase::Failed(_)
            | Phase::Rejected { .. }
            | Phase::Expired
            | Phase::Cancelled { .. }
            | Phase::Refused(_)
            | Phase::ReplanRequired { .. } => None,
        }
    }

    /// When the engine must look at it next; none where only a person or a worker can move it.
    ///
    /// An action in `Executing` is looked at when its attempt can no longer be sent: it is then
    /// either recorded, or was lost in a crash and is unknown.
    pub fn due_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Staged => self.deadline(),
            Phase::Approved { run_at, .. } => Some(
                self.deadline()
                    .map_or(*run_at, |deadline| deadline.min(*run_at)),
            ),
            Phase::Accepted { run_at } => Some(*run_at),
            Phase::Executing => self.attempts.last().map(|attempt| attempt.send_deadline),
            Phase::Unknown {
                next_check,
                next_resend,
                ..
            } => next_check.or(*next_resend),
            Phase::Succeeded { .. }
            | Phase::Failed(_)
            | Phase::Rejected { .. }
            | Phase::Expired
            | Phase::Cancelled { .. }
            | Phase::Refused(_)
            | Phase::ReplanRequired { .. } => None,
        }
    }
}

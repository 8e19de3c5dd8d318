//! The wishes that an action may be confronted with, and why they are refused.

use super::{
    AnswerBody, ClaimKey, Instigator, Proposal, Refused, Rendered, SecretVersion, Snapshot, Status,
    Window, WorkReport, Worker,
};
use crate::approval::{Ineligible, Requirement, Vote, Voter};
use crate::canon::{CanonicalJson, Digest};
use crate::time::{Elapsed, Timestamp};

/// A wish. Everything it needs to be decided is inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Take the action on: staged where there is a requirement, else accepted.
    Submit {
        /// What is proposed.
        proposal: Proposal,
        /// What the state query says.
        snapshot: Option<Snapshot>,
        /// The rendered request.
        request: Rendered,
        /// What must be met; there exactly for approval-bound actions.
        requirement: Option<Requirement>,
        /// What else holds for it.
        arranged: Arrangement,
        /// Now.
        at: Timestamp,
    },
    /// Keep a record of an action that is not taken on.
    Refuse {
        /// What is proposed.
        proposal: Proposal,
        /// Why not.
        refused: Refused,
        /// Now.
        at: Timestamp,
    },
    /// Vote on what the page showed.
    Vote {
        /// Who.
        voter: Voter,
        /// Yes or no.
        vote: Vote,
        /// Why; required for a rejection.
        reason: Option<String>,
        /// The revision that the page showed.
        revision: u32,
        /// The digest that the page showed.
        digest: Digest,
        /// The digest of the snapshot that the page showed.
        snapshot_digest: Option<Digest>,
        /// Now.
        at: Timestamp,
    },
    /// Take the own approval back in the hold window.
    Withdraw {
        /// The id of the person.
        by: String,
        /// Why, if said.
        reason: Option<String>,
        /// How much time has really passed.
        elapsed: Elapsed,
        /// Now.
        at: Timestamp,
    },
    /// Take the action back before anything is sent.
    Cancel {
        /// The id of the principal.
        by: String,
        /// Why, if said.
        reason: Option<String>,
        /// Now.
        at: Timestamp,
    },
    /// Remember who makes the run go on that it is a step of, besides those that are known.
    Instigate {
        /// Who.
        by: Vec<Instigator>,
        /// Whether one of them may have approved it before.
        may_have_approved: bool,
        /// Now.
        at: Timestamp,
    },
    /// The deadline may have passed.
    ReachDeadline {
        /// Now.
        at: Timestamp,
    },
    /// Part of the time to decide may be over.
    Remind {
        /// Now.
        at: Timestamp,
    },
    /// The state could not be read; try again later.
    Defer {
        /// Why, in words.
        message: String,
        /// Now.
        at: Timestamp,
    },
    /// Send it now, if the world is still the one that was approved.
    Commit {
        /// What was found right before.
        revalidation: Revalidation,
        /// How much time has really passed.
        elapsed: Elapsed,
        /// Now.
        at: Timestamp,
    },
    /// Give it to a worker, if the world is still the one that was approved.
    Claim {
        /// What was found right before.
        revalidation: Revalidation,
        /// Who asks for it.
        worker: Worker,
        /// How long the worker may take before it says anything, in milliseconds.
        lease_ms: u64,
        /// The key under which it asks, where there is one.
        key: Option<ClaimKey>,
        /// How much time has really passed.
        elapsed: Elapsed,
        /// Now.
        at: Timestamp,
    },
    /// A worker is still at it.
    Heartbeat {
        /// The lease it speaks of.
        holder: Holder,
        /// How much longer it may take, in milliseconds from now.
        lease_ms: u64,
        /// Now.
        at: Timestamp,
    },
    /// A worker says how its attempt ended.
    Report {
        /// The lease it speaks of.
        holder: Holder,
        /// What it says.
        report: WorkReport,
        /// Now.
        at: Timestamp,
    },
    /// The lease of a worker may have run out.
    ReachLeaseEnd {
        /// Now.
        at: Timestamp,
    },
    /// The log is a copy: whatever was on its way when it was made has an unknown outcome, leased to a
    /// worker or not (invariant I29).
    LoseAttempt {
        /// Now.
        at: Timestamp,
    },
    /// Send the same call again now, if the world is still the one that was approved.
    Resend {
        /// What was found right before.
        revalidation: Revalidation,
        /// Now.
        at: Timestamp,
    },
    /// Do not send the same call again: it cannot be known whether the target still keeps the key.
    DropResend {
        /// Why, in words.
        message: String,
        /// Now.
        at: Timestamp,
    },
    /// An attempt has ended.
    Record {
        /// Which attempt.
        attempt: u32,
        /// How.
        outcome: AttemptOutcome,
        /// The answer as it came, where that is kept beside the outcome.
        answer: Option<AnswerBody>,
        /// Now.
        at: Timestamp,
    },
    /// The source of truth was asked.
    Check {
        /// Which attempt.
        attempt: u32,
        /// What it said.
        finding: Finding,
        /// When the question was sent: the answer speaks for no later moment. Earlier by as much as
        /// the clock was set forward since the attempt.
        asked_at: Timestamp,
        /// Now.
        at: Timestamp,
    },
    /// A person settles an unknown outcome.
    Settle {
        /// The id of the person.
        by: String,
        /// Whether it happened.
        happened: bool,
        /// How the person knows; not empty.
        reason: String,
        /// Now.
        at: Timestamp,
    },
}

/// Which lease a worker speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which attempt.
    pub attempt: u32,
    /// The id of whoever speaks.
    pub worker: String,
    /// The epoch that came with the claim.
    pub epoch: u64,
}

/// What holds for an action besides its proposal, pinned at submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Not to be called before this; before the deadline of its approval.
    pub not_before: Option<Timestamp>,
    /// How long the target keeps the key, in milliseconds from the first send; none where it is not
    /// known to, or where the engine does not make the call.
    pub key_kept_ms: Option<u64>,
    /// Who, besides its caller, made the run go on that it is a step of.
    pub instigators: Vec<Instigator>,
}

/// What was found right before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revalidation {
    /// The state as just read; none where the tool has no state query.
    pub snapshot: Option<Snapshot>,
    /// Whether watched fields may move as long as the preconditions hold (`mode: "conditions"`).
    pub by_conditions: bool,
    /// The message of the first precondition that does not hold.
    pub failed_precondition: Option<String>,
    /// The digest of the definition as it is now; none where the tool is gone.
    pub tool_digest: Option<Digest>,
    /// The request as it would be sent; none where it can no longer be made.
    pub request: Option<Rendered>,
    /// What the approval would ask for now: the votes must suffice for that too, and it is what
    /// holds when the action is staged again.
    pub requirement: Option<Requirement>,
    /// How sure the state will be.
    pub window: Window,
    /// The version that its secret is at; none where the call needs no secret, or where it could not
    /// be looked at. Another one than at any time before is no reason against sending.
    pub secret: Option<SecretVersion>,
}

/// How an attempt ended, as `target::classify` reads the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// A success status with the body that was promised.
    Done {
        /// The status.
        http_status: Option<u16>,
        /// The answer.
        result: CanonicalJson,
    },
    /// A certain refusal.
    Refused {
        /// The status.
        http_status: Option<u16>,
        /// The answer.
        answer: CanonicalJson,
    },
    /// 412: the version moved since it was read.
    VersionMoved {
        /// The answer.
        answer: CanonicalJson,
    },
    /// Not one byte of the request left.
    NotDelivered {
        /// Why, in words.
        message: String,
    },
    /// Anything else.
    Unknown {
        /// The status, where there was one.
        http_status: Option<u16>,
        /// Why, in words.
        message: String,
    },
}

/// What the source of truth said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It happened.
    Happened {
        /// Its answer.
        evidence: CanonicalJson,
    },
    /// It has no trace of it.
    NotFound {
        /// Its answer.
        evidence: CanonicalJson,
    },
    /// No answer that can be relied on.
    Inconclusive {
        /// Why, in words.
        message: String,
    },
}

/// Why a command is refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is an action under this id already.
    #[error("an action with this id exists already")]
    Exists,
    /// There is no action under this id.
    #[error("there is no action with this id")]
    Missing,
    /// The page showed another revision or other arguments.
    #[error("the action has changed since the page was made: it is at revision {revision} now")]
    StaleDigest {
        /// The revision it is at.
        revision: u32,
    },
    /// The page showed another state.
    #[error("the state that the page showed is not the one that is to be approved")]
    StaleSnapshot,
    /// Somebody or something was first.
    #[error("the action is already {}", status.name())]
    AlreadyDecided {
        /// What it is.
        status: Status,
    },
    /// This person may not vote.
    #[error(transparent)]
    Ineligible(#[from] Ineligible),
    /// A rejection, a settlement needs a reason.
    #[error("a reason is required")]
    ReasonRequired,
    /// The hold window would end after the deadline, so that an approval could never be used.
    #[error(
        "an approval is held back for {} s before it is used, and the time to decide ends at \
         {deadline}: it could not be called any more", hold_ms.div_ceil(1000)
    )]
    NoTimeLeft {
        /// When the time to decide ends.
        deadline: Timestamp,
        /// How long the tool holds an approval back, in milliseconds.
        hold_ms: u64,
    },
    /// The hold window is over, or this person has no vote to take back.
    #[error("only somebody who approved can take it back, and only until the hold window ends")]
    NotWithdrawable,
    /// A commit record exists; what it caused cannot be called back (invariant I11).
    #[error("the call may already be on its way and cannot be stopped: it is {}", status.name())]
    TooLate {
        /// What it is.
        status: Status,
    },
    /// Only an unknown outcome can be settled.
    #[error("{}", super::settlement::nothing_to_settle(settled.as_ref(), *status))]
    NotUnknown {
        /// What it is.
        status: Status,
        /// Who settled it, where somebody did.
        settled: Option<super::Settlement>,
    },
    /// Whoever proposed or approved an action does not settle it alone.
    #[error(
        "whoever asked for the action, made its run go on, or approved it may not settle its outcome"
    )]
    OwnOutcome,
    /// Whoever approved an action does not make the run go on that it is a step of.
    #[error("whoever has approved the action may not make the run go on that it is a step of")]
    OwnApproval,
    /// It is not due yet.
    #[error("it is not due before {run_at}")]
    NotDue {
        /// When it is.
        run_at: Timestamp,
    },
    /// Somebody else holds the lease.
    #[error("another worker holds this attempt")]
    NotHolder,
    /// The lease ended, or was never this one. What the worker says does not count any more.
    #[error("this lease has ended; the action is {}", status.name())]
    LeaseLost {
        /// What it is.
        status: Status,
    },
    /// The number that the worker names is not that of its lease.
    #[error("this is not the epoch of the lease")]
    WrongEpoch,
    /// The worker has said something else before.
    #[error("this attempt was reported before, with another outcome")]
    AlreadyReported,
    /// The command belongs to another attempt or another status: an answer that came too late.
    #[error("it does not fit an action that is {}", status.name())]
    OutOfPlace {
        /// What it is.
        status: Status,
    },
}

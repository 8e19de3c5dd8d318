//! The facts of an action.

use bincode::{Decode, Encode};

use super::{
    AnswerBody, ClaimKey, Difference, Instigator, Proposal, Refused, Reminder, Rendered,
    ReplanReason, Resend, SecretVersion, Snapshot, Window, Worker,
};
use crate::approval::{CastVote, Requirement};
use crate::canon::{CanonicalJson, Digest};
use crate::time::Timestamp;

/// A fact about one action. Its name in the log is [`Event::kind`].
///
/// In every state in which an event is not expected, [`super::evolve`] refuses it: such a log is
/// damaged or from another program. Variants are stored by number: new ones go at the end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// It waits for votes. First event of an approval-bound action.
    Staged {
        /// What was proposed.
        proposal: Proposal,
        /// What the state query said, where the tool has one.
        snapshot: Option<Snapshot>,
        /// The request as the approver sees it.
        request: Rendered,
        /// What must be met.
        requirement: Requirement,
        /// When.
        at: Timestamp,
    },
    /// It needs no approval. First event of a write-once-checkable or irreversible action.
    Accepted {
        /// What was proposed.
        proposal: Proposal,
        /// What the state query said, where the tool has one.
        snapshot: Option<Snapshot>,
        /// The request.
        request: Rendered,
        /// When.
        at: Timestamp,
    },
    /// It was not taken on. First and last event.
    Refused {
        /// What was proposed.
        proposal: Proposal,
        /// Why not.
        refused: Refused,
        /// When.
        at: Timestamp,
    },
    /// A person voted.
    VoteRecorded {
        /// The vote.
        cast: CastVote,
        /// The revision voted on.
        revision: u32,
        /// The digest that the person's page showed.
        digest: Digest,
        /// The digest of the snapshot that the page showed.
        snapshot_digest: Option<Digest>,
    },
    /// Every need is met.
    Approved {
        /// Until when an approver may take it back; `at` where there is no hold window.
        hold_until: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// A person said no.
    Rejected {
        /// The id of the person.
        by: String,
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// The deadline passed before the call.
    Expired {
        /// When it was noticed; at or after the deadline.
        at: Timestamp,
    },
    /// An approver took the own vote back in the hold window; the action waits for votes again.
    Withdrawn {
        /// The id of the person.
        by: String,
        /// Why, if said.
        reason: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// The requester took the action back before anything was sent.
    Cancelled {
        /// The id of the principal.
        by: String,
        /// Why, if said.
        reason: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// The state could not be read before the call, so nothing was sent.
    Deferred {
        /// Why, in words.
        message: String,
        /// When it is tried again; none where it was tried as often as the tool allows.
        retry_at: Option<Timestamp>,
        /// When.
        at: Timestamp,
    },
    /// The world is no longer the one that was approved. Final. After a commit record it means that
    /// the target refused the version that was sent (412), so that nothing happened.
    ReplanRequired {
        /// What moved.
        reason: ReplanReason,
        /// Field by field.
        diff: Vec<Difference>,
        /// When.
        at: Timestamp,
    },
    /// The world moved, and the tool asks for a new vote on the new facts.
    Restaged {
        /// The new revision.
        revision: u32,
        /// The new state.
        snapshot: Snapshot,
        /// The request as it would be now.
        request: Rendered,
        /// What must be met now.
        requirement: Requirement,
        /// What moved.
        diff: Vec<Difference>,
        /// When.
        at: Timestamp,
    },
    /// The call may leave from now on (invariant I1).
    CommitRecorded {
        /// Counts from 1.
        attempt: u32,
        /// The digest that was approved.
        digest: Digest,
        /// The ids of the people whose approvals it rests on; empty where none were needed.
        approved_by: Vec<String>,
        /// The definition it was compared with.
        tool_digest: Digest,
        /// The request that will be sent.
        request_digest: Digest,
        /// The state as read right before, where the tool has a state query.
        revalidated: Option<Snapshot>,
        /// Sent to the target.
        idempotency_key: String,
        /// After this moment it is not sent any more.
        send_deadline: Timestamp,
        /// How sure the state is.
        window: Window,
        /// When.
        at: Timestamp,
    },
    /// The attempt took effect.
    AttemptSucceeded {
        /// Which attempt.
        attempt: u32,
        /// The status of the answer.
        http_status: Option<u16>,
        /// The answer.
        result: CanonicalJson,
        /// When.
        at: Timestamp,
    },
    /// The target said no for certain; the action fails.
    AttemptRefused {
        /// Which attempt.
        attempt: u32,
        /// The status of the answer.
        http_status: Option<u16>,
        /// The answer.
        answer: CanonicalJson,
        /// When.
        at: Timestamp,
    },
    /// Not one byte of the request left.
    AttemptNotDelivered {
        /// Which attempt.
        attempt: u32,
        /// Why, in words.
        message: String,
        /// When it is tried again; none where it was tried as often as the tool allows.
        retry_at: Option<Timestamp>,
        /// When.
        at: Timestamp,
    },
    /// It may or may not have taken effect.
    AttemptUnknown {
        /// Which attempt.
        attempt: u32,
        /// The status of the answer, where there was one.
        http_status: Option<u16>,
        /// Why, in words.
        message: String,
        /// Before this moment "not found" proves nothing.
        quiet_at: Timestamp,
        /// When the source of truth is asked; none where a person must settle it.
        next_check: Option<Timestamp>,
        /// When.
        at: Timestamp,
    },
    /// The source of truth says that it happened.
    FoundDone {
        /// Which attempt.
        attempt: u32,
        /// What it answered.
        evidence: CanonicalJson,
        /// When.
        at: Timestamp,
    },
    /// The source of truth, read after quiet time, says that it did not happen.
    FoundNotDone {
        /// Which attempt.
        attempt: u32,
        /// What it answered.
        evidence: CanonicalJson,
        /// When it is attempted again; none where it is not.
        retry_at: Option<Timestamp>,
        /// When.
        at: Timestamp,
    },
    /// The source of truth gave no answer that can be relied on.
    CheckInconclusive {
        /// Which attempt.
        attempt: u32,
        /// Why, in words.
        message: String,
        /// When it is asked again; none where a person must settle it.
        next_check: Option<Timestamp>,
        /// When.
        at: Timestamp,
    },
    /// A person settled an unknown outcome.
    Settled {
        /// Which attempt.
        attempt: u32,
        /// The id of the person.
        by: String,
        /// Whether it happened.
        happened: bool,
        /// How the person knows.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// An answer that came after the outcome was recorded, or did not settle it. Changes nothing, is
    /// kept.
    LateAnswer {
        /// Which attempt.
        attempt: u32,
        /// The status of the answer, where there was one.
        http_status: Option<u16>,
        /// What it said.
        evidence: CanonicalJson,
        /// When.
        at: Timestamp,
    },
    /// A worker has the attempt from now on. Stands right behind its commit record, in one append.
    LeaseGranted {
        /// Which attempt.
        attempt: u32,
        /// Who.
        worker: Worker,
        /// Larger than that of every lease of this action before.
        epoch: u64,
        /// From then on nothing that the worker says counts.
        until: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// The worker is still at it.
    LeaseExtended {
        /// Which attempt.
        attempt: u32,
        /// Of the lease.
        epoch: u64,
        /// The new end.
        until: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// The worker said how it ended; what that means is the event behind it, in the same append.
    WorkReported {
        /// Which attempt.
        attempt: u32,
        /// Of the lease.
        epoch: u64,
        /// Over all that it said.
        report: Digest,
        /// When.
        at: Timestamp,
    },
    /// It is not to be called before a moment that its caller chose. Second event of such an action.
    Scheduled {
        /// Not to be called before this.
        not_before: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// The target keeps the key this long, counted from the first send: pinned at submission.
    KeyKept {
        /// How long, in milliseconds.
        kept_ms: u64,
        /// When.
        at: Timestamp,
    },
    /// Part of the time to decide is over, and the action still waits for votes.
    Reminded {
        /// Which part.
        reminder: Reminder,
        /// When the time is over.
        deadline: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// The outcome is unknown, and the same call will be sent again with the same key.
    ResendPlanned {
        /// The attempt in doubt.
        attempt: u32,
        /// When it is sent again.
        resend_at: Timestamp,
        /// Until when the target keeps the key.
        kept_until: Timestamp,
        /// Why not sooner, where it was put off.
        because: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// The same call may leave once more from now on: a commit record of its own (invariant I1).
    ResendRecorded {
        /// What is sent.
        resend: Resend,
        /// When.
        at: Timestamp,
    },
    /// The call that was sent again certainly had no effect of its own: it was refused, or not
    /// delivered. That says nothing about the first one, whose outcome stays unknown.
    ResendFailed {
        /// Which attempt.
        attempt: u32,
        /// The status of the answer, where there was one.
        http_status: Option<u16>,
        /// What was answered, where anything was.
        answer: Option<CanonicalJson>,
        /// Why, in words.
        message: String,
        /// When.
        at: Timestamp,
    },
    /// It is not sent again after all; what is left is a person.
    ResendDropped {
        /// The attempt in doubt.
        attempt: u32,
        /// Why not, in words.
        message: String,
        /// When.
        at: Timestamp,
    },
    /// Which version of its secret the call is sent with, and with no other (invariant I16). Stands
    /// right behind the commit record, in the same append.
    SecretNamed {
        /// Which attempt.
        attempt: u32,
        /// Which secret, and which version of it.
        secret: SecretVersion,
        /// When.
        at: Timestamp,
    },
    /// The same claim again is answered with this lease while it runs. In the append of the lease.
    LeaseKeyed {
        /// Which attempt.
        attempt: u32,
        /// The key, and what was asked for.
        key: ClaimKey,
        /// When.
        at: Timestamp,
    },
    /// The answer of a step of a run as it came, where the evidence is not the same text: its assertions are
    /// held against this one, also after a crash. Stands right before how the attempt ended, in one append.
    AnswerKept {
        /// Which attempt.
        attempt: u32,
        /// The body.
        body: AnswerBody,
        /// When.
        at: Timestamp,
    },
    /// Who, besides its caller, made its run go on. Stands behind the proposal, in the same append.
    Instigated {
        /// Who; never empty.
        by: Vec<Instigator>,
        /// When.
        at: Timestamp,
    },
}

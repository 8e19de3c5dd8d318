//! What an action is at one moment.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use super::ActionId;
use crate::approval::{CastVote, Requester, Requirement};
use crate::canon::{CanonicalJson, Digest};
use crate::time::Timestamp;

/// How the engine treats a tool at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum SafetyClass {
    /// Executed at once and answered; a repeat does no harm.
    Idempotent,
    /// Committed before the call and reconciled with the source of truth when in doubt.
    WriteOnceCheckable,
    /// As before, and the state is read again before the call; never sent twice by the machine.
    Irreversible,
    /// As before, and people must approve it first.
    ApprovalBound,
}

impl SafetyClass {
    /// Every class, from the weakest to the strongest.
    pub const ALL: [Self; 4] = [
        Self::Idempotent,
        Self::WriteOnceCheckable,
        Self::Irreversible,
        Self::ApprovalBound,
    ];

    /// Its name in the tools file and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::WriteOnceCheckable => "write-once-checkable",
            Self::Irreversible => "irreversible",
            Self::ApprovalBound => "approval-bound",
        }
    }

    /// Whether the state is read again and compared right before the call.
    pub fn revalidates(self) -> bool {
        match self {
            Self::Idempotent | Self::WriteOnceCheckable => false,
            Self::Irreversible | Self::ApprovalBound => true,
        }
    }
}

/// Who proposed the action, as the credential said at that time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Caller {
    /// `per_…` of a person, or `key_…` of the key of a service or an agent.
    pub id: String,
    /// The name at that time.
    pub name: String,
    /// A person, a service or an agent.
    pub kind: PrincipalKind,
    /// The person who owns the key, `per_…`; none for a person.
    pub owner: Option<String>,
    /// Further facts about the credential, such as its tenant; `caller.…` in rules and templates.
    pub attributes: BTreeMap<String, String>,
}

impl Caller {
    /// The side that may not vote.
    pub fn requester(&self) -> Requester {
        Requester {
            id: self.id.clone(),
            owner: self.owner.clone(),
        }
    }
}

/// What kind of principal acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PrincipalKind {
    /// A human being with a sign-in.
    Person,
    /// A program that belongs to the house.
    Service,
    /// A program that decides by itself what to ask for; treated as hostile.
    Agent,
}

impl PrincipalKind {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Service => "service",
            Self::Agent => "agent",
        }
    }
}

/// What was proposed. Fixed at submission, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Proposal {
    /// The name of the tool.
    pub tool: String,
    /// Its safety class at that time.
    pub class: SafetyClass,
    /// The digest of its whole definition at that time.
    pub tool_digest: Digest,
    /// The exact arguments.
    pub args: CanonicalJson,
    /// What an approval binds to: tool, definition, arguments, caller.
    pub digest: Digest,
    /// Who proposed it.
    pub caller: Caller,
    /// The caller's own words. Untrusted.
    pub reason: Option<String>,
    /// One sentence made from the definition's template and the arguments.
    pub summary: String,
    /// What lists can be filtered by.
    pub labels: BTreeMap<String, String>,
    /// Rendered once; the same for every attempt.
    pub idempotency_key: String,
    /// What the core needs to know of the definition.
    pub terms: Terms,
}

/// The parts of a tool's definition that the core decides by, pinned at submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Terms {
    /// Whether the tool has a `check` that reconciliation can ask.
    pub can_check: bool,
    /// Whether a moved state puts the action back in the queue instead of ending it.
    pub restage: bool,
    /// How often it may be attempted before it fails, while no attempt was delivered; at least 1.
    pub attempts_max: u32,
    /// The wait before the second attempt, in milliseconds; doubles up to the next field.
    pub backoff_min_ms: u64,
    /// The longest wait between attempts, in milliseconds.
    pub backoff_max_ms: u64,
    /// The longest that one call may take, in milliseconds.
    pub timeout_ms: u64,
    /// The longest that a sent request may wait somewhere before it takes effect, in milliseconds.
    pub request_lifetime_ms: u64,
    /// How far the source of truth may lag behind, in milliseconds.
    pub settle_ms: u64,
}

/// What the state query returned at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Snapshot {
    /// The whole answer.
    pub state: CanonicalJson,
    /// The watched fields by JSON Pointer; the whole answer under `""` where none are named.
    pub watched: BTreeMap<String, CanonicalJson>,
    /// The digest of the watched fields only.
    pub digest: Digest,
    /// The `ETag` of the answer.
    pub etag: Option<String>,
    /// When it was read.
    pub taken_at: Timestamp,
}

/// A request made from a definition and the arguments, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rendered {
    /// The HTTP method; `WORK` where a worker pulls the call.
    pub method: String,
    /// The whole URL; empty for a worker.
    pub url: String,
    /// Header names and values, in the order of the definition. `{state_etag}` stays as it is,
    /// since the version that is sent is the one read right before the call.
    pub headers: Vec<(String, String)>,
    /// The media type of the body, where there is one.
    pub content_type: Option<String>,
    /// The exact body.
    pub body: Option<String>,
    /// The names of the secrets that will be added, never their values.
    pub secrets: Vec<String>,
    /// Over all of the above.
    pub digest: Digest,
}

/// An approval under way, or given, for the current revision.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Approval {
    /// What it waits for.
    pub requirement: Requirement,
    /// Who said what on this revision.
    pub votes: Vec<CastVote>,
}

/// How sure it was that nothing could change between the last read and the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Window {
    /// The revalidated version travelled with the call.
    Closed,
    /// The state was read right before the call, and the target could not be told.
    Narrowed,
    /// The tool has no state query.
    Open,
}

impl Window {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Narrowed => "narrowed",
            Self::Open => "open",
        }
    }
}

/// What became of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AttemptResult {
    /// It took effect.
    Done,
    /// It is certain that it did not take effect.
    NotDone,
    /// Nobody knows yet.
    Unknown,
}

impl AttemptResult {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NotDone => "not_done",
            Self::Unknown => "unknown",
        }
    }
}

/// One call of the tool on behalf of the action.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// When its commit record was made.
    pub started_at: Timestamp,
    /// The moment after which it is not sent any more.
    pub send_deadline: Timestamp,
    /// When its first result was recorded.
    pub ended_at: Option<Timestamp>,
    /// What became of it; none while it is on its way.
    pub result: Option<AttemptResult>,
    /// The status of the answer, where there was one.
    pub http_status: Option<u16>,
    /// Why, in words, where it did not simply succeed.
    pub note: Option<String>,
    /// How sure the state was.
    pub window: Window,
    /// The digest of the request that the commit record named.
    pub request_digest: Digest,
}

/// One watched field that moved between approval and execution.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Difference {
    /// A JSON Pointer into the state.
    pub path: String,
    /// What the approval saw; none where the field was not there.
    pub approved: Option<CanonicalJson>,
    /// What is there now; none where the field is gone.
    pub now: Option<CanonicalJson>,
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
    /// It could not be delivered, or the state could not be read, as often as the tool allows.
    NeverDelivered {
        /// The last reason.
        message: String,
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
        /// Until when an approver may take the approval back.
        hold_until: Timestamp,
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
        /// When it is asked next; none where a person must settle it.
        next_check: Option<Timestamp>,
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

/// The names of section 4 of the design, as on the wire.
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
    /// How often in a row the state could not be read, or the call not be delivered.
    pub deferrals: u32,
    /// What moved, for an action that must be planned again or was staged again.
    pub diff: Vec<Difference>,
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

    /// The deadline of its approval, where it has one.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.approval
            .as_ref()
            .map(|approval| approval.requirement.deadline)
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
            Phase::Unknown { next_check, .. } => *next_check,
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

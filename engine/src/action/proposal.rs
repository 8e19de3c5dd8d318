//! What was proposed, by whom, and under which terms. Fixed at submission, for ever.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use crate::canon::{CanonicalJson, Digest};

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

/// Somebody besides its caller who made the run go on that an action is a step of: who resumed it, or
/// started it by hand on behalf of somebody else.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Instigator {
    /// `per_…` of a person, or `key_…` of the key of a service or an agent.
    pub id: String,
    /// The name at that time.
    pub name: String,
    /// The person who owns the key, `per_…`; none for a person.
    pub owner: Option<String>,
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

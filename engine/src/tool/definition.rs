//! What one tool is: its definition, checked and compiled.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::effect::{Classified, EffectClass};
use super::http::HttpCall;
use super::rule::Rule;
use super::schema::{ArgError, Schema};
use super::template::Template;
use crate::action::{SafetyClass, Terms};
use crate::canon::Digest;

/// A named operation that can be called. Immutable; another definition has another digest.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, in the operator's words.
    pub description: Option<String>,
    /// How the engine treats it.
    pub class: SafetyClass,
    /// What a repeat of it does to the world: as the file says, else as its name does.
    pub effect: EffectClass,
    /// Over everything that the file says of it, and the values in force where it says nothing.
    pub digest: Digest,
    /// How many calls of it may be under way at once.
    pub concurrency: u32,
    /// How it is executed.
    pub execute: Execute,
    /// The longest that one call may take.
    pub timeout: Duration,
    /// How often, and how fast, a call that was certainly not delivered is tried again.
    pub retry: Retry,
    /// The statuses that mean that it took effect.
    pub success: StatusSet,
    /// The statuses that mean that it certainly did not, and will not.
    pub refused: StatusSet,
    /// What a successful answer must look like.
    pub result: Option<Schema>,
    /// The longest that a sent request may wait somewhere before it takes effect.
    pub request_lifetime: Duration,
    /// How long the target remembers idempotency keys; none where it is not known to.
    pub key_retention: Option<Duration>,
    /// The scopes that a caller needs, all of them.
    pub required_scopes: BTreeSet<String>,
    /// What people must agree to; only asked for `approval-bound` tools.
    pub approval: ApprovalPolicy,
    /// What the arguments must look like.
    pub input: Option<Schema>,
    /// What its name and annotations say of its effect.
    pub(super) told: Classified,
    pub(super) summary: Option<Template>,
    pub(super) labels: Vec<Vec<String>>,
    pub(super) key: Option<Template>,
    pub(super) identity: Option<Rule>,
    pub(super) preconditions: Vec<Precondition>,
    pub(super) state: Option<StateQuery>,
    pub(super) check: Option<Check>,
}

/// How a tool is executed.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each tool, never in lists"
)]
pub enum Execute {
    /// By an HTTP call of the engine.
    Http(HttpCall),
    /// By a service that pulls the work. The default.
    Worker,
    /// By a closure that the embedding program registered under this name.
    Local(String),
    /// By an HTTP call with this method that the arguments make: a built-in tool, for runs only.
    Request(&'static str),
}

/// How a call that was certainly not delivered is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is tried in all; at least 1.
    pub attempts: u32,
    /// The wait before the second attempt; doubles up to `backoff_max`.
    pub backoff_min: Duration,
    /// The longest wait.
    pub backoff_max: Duration,
}

/// Some statuses of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusSet {
    /// All of 200 to 299.
    AnySuccess,
    /// Exactly these.
    These(BTreeSet<u16>),
}

impl StatusSet {
    /// Whether it holds this status.
    pub fn contains(&self, status: u16) -> bool {
        match self {
            Self::AnySuccess => (200..=299).contains(&status),
            Self::These(set) => set.contains(&status),
        }
    }
}

/// How the state is compared before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The watched fields must be equal.
    Strict,
    /// The watched fields may move as long as the preconditions hold.
    Conditions,
}

/// What follows where the state moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMismatch {
    /// It ends in `replan_required`.
    Replan,
    /// It goes back into the queue as a new revision.
    Restage,
}

/// How the state that an approval depends on is read.
#[derive(Debug)]
pub struct StateQuery {
    /// The call; always a GET.
    pub http: HttpCall,
    /// JSON Pointers to the fields that are compared; all of the answer where it is empty.
    pub watch: Vec<String>,
    /// How they are compared.
    pub mode: Mode,
    /// What follows where they differ.
    pub on_mismatch: OnMismatch,
}

/// How the source of truth is asked whether an attempt took effect.
#[derive(Debug)]
pub struct Check {
    /// The call; always a GET.
    pub http: HttpCall,
    /// How far the source of truth may lag behind.
    pub settle: Duration,
    pub(super) happened: Rule,
}

/// Something that must hold at submission and right before the call.
#[derive(Debug)]
pub struct Precondition {
    /// What must hold.
    pub rule: Rule,
    /// What to tell where it does not.
    pub message: String,
}

/// What people must agree to.
#[derive(Debug)]
pub struct ApprovalPolicy {
    /// How many people.
    pub required: u32,
    /// Out of these groups; any approver where it is empty.
    pub groups: BTreeSet<String>,
    /// How long they have.
    pub expires_in: Duration,
    /// How long the call is held back after the last approval.
    pub hold: Duration,
    /// What asks for more.
    pub rules: Vec<ApprovalRule>,
}

/// A further need that some calls have.
#[derive(Debug)]
pub struct ApprovalRule {
    /// Which calls.
    pub when: Rule,
    /// How many people.
    pub required: u32,
    /// Out of these groups.
    pub groups: BTreeSet<String>,
    /// Why, for the approvers.
    pub reason: String,
}

impl Tool {
    /// Whether the arguments are an object that fits the schema; every mistake at once.
    pub fn check_args(&self, args: &Value) -> Result<(), Vec<ArgError>> {
        if !args.is_object() {
            let message = "the arguments must be a JSON object".to_owned();
            return Err(vec![ArgError {
                pointer: String::new(),
                message,
            }]);
        }
        self.input
            .as_ref()
            .map_or(Ok(()), |schema| schema.check(args))
    }

    /// Whether an answer has the form that the definition promises.
    pub fn result_fits(&self, body: &Value) -> bool {
        self.result.as_ref().is_none_or(|schema| schema.fits(body))
    }

    /// The scopes that are missing, in order.
    pub fn missing_scopes(&self, have: &BTreeSet<String>) -> Vec<String> {
        self.required_scopes.difference(have).cloned().collect()
    }

    /// How the state is read; none where the tool has no state query.
    pub fn state_query(&self) -> Option<&StateQuery> {
        self.state.as_ref()
    }

    /// How the source of truth is asked; none where only a person can settle.
    pub fn check(&self) -> Option<&Check> {
        self.check.as_ref()
    }

    /// What must hold.
    pub fn preconditions(&self) -> &[Precondition] {
        &self.preconditions
    }

    /// Whether the key is rendered from a template over the arguments, so that the same intent
    /// submitted twice has the same key; else it is made from the action id.
    pub fn has_key_template(&self) -> bool {
        self.key.is_some()
    }

    /// Whether it is one of the tools that every run has, and that nobody else can call.
    pub fn is_built_in(&self) -> bool {
        match self.execute {
            Execute::Request(_) => true,
            Execute::Http(_) | Execute::Worker | Execute::Local(_) => false,
        }
    }

    /// Every secret that the tool uses, by name.
    pub fn secrets(&self) -> Vec<&super::SecretRef> {
        let execute = match &self.execute {
            Execute::Http(call) => Some(call),
            Execute::Worker | Execute::Local(_) | Execute::Request(_) => None,
        };
        let state = self.state.as_ref().map(|state| &state.http);
        let check = self.check.as_ref().map(|check| &check.http);
        let calls = [execute, state, check].into_iter().flatten();
        calls
            .filter_map(|call| call.auth.as_ref())
            .map(super::Auth::secret)
            .collect()
    }

    /// What the core needs to know.
    pub fn terms(&self) -> Terms {
        let restage = self
            .state
            .as_ref()
            .is_some_and(|state| match state.on_mismatch {
                OnMismatch::Restage => true,
                OnMismatch::Replan => false,
            });
        Terms {
            can_check: self.check.is_some(),
            restage,
            attempts_max: self.retry.attempts,
            backoff_min_ms: millis(self.retry.backoff_min),
            backoff_max_ms: millis(self.retry.backoff_max),
            timeout_ms: millis(self.timeout),
            request_lifetime_ms: millis(self.request_lifetime),
            settle_ms: self.check.as_ref().map_or(0, |check| millis(check.settle)),
        }
    }
}

/// Milliseconds; durations of a definition are bounded far below the end of `u64`.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

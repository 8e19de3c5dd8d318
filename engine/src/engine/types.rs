//! What the façade takes and answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::{Origin, Position, Version};
use serde_json::Value;

use super::webhooks::WebhookOptions;
use crate::action::{Action, ActionId, Event, Refusal, SafetyClass, Status};
use crate::approval::Vote;
use crate::canon::Digest;
use crate::incarnation::Underway;
use crate::run::code::Workflows;
use crate::run::heal::Helper;
use crate::target::{Locals, NetworkOptions, SecretSource, Target};
use crate::time::{Clock, Entropy, SystemClock, SystemEntropy, Timestamp};

/// What an engine is made of, apart from its log and its tools.
///
/// `Options::default()` is the machine's clock, its random source and the real network.
pub struct Options {
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub entropy: Arc<dyn Entropy>,
    /// Which addresses may be called beyond public ones.
    pub network: NetworkOptions,
    /// The closures of tools whose execution is `local`.
    pub locals: Locals,
    /// What takes the place of the network; none for the real one.
    pub target: Option<Arc<dyn Target>>,
    /// What takes the place of the files in which secrets stand; none for these.
    pub secrets: Option<Arc<dyn SecretSource>>,
    /// How many calls may be on their way at once, over all tools; at least 2.
    pub calls_max: usize,
    /// Whether an operator has confirmed that no other copy of this log is in use. Without that a copy
    /// is not started (invariant I29); with it, attempts that were on their way are unknown.
    pub confirm_restore: bool,
    /// Whether a start that finds other tools than the log says records what is added, changed and
    /// removed: where the tools come from a file that people change.
    pub record_tools: bool,
    /// How endpoints are told of events.
    pub webhooks: WebhookOptions,
    /// What runs can do.
    pub runs: RunOptions,
}

/// What runs can do. The default is an embedding program's: no HTTP tools of their own, and nothing is
/// resumed by itself.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// Whether runs have the built-in HTTP tools.
    pub http: HttpTools,
    /// Who helps with steps of files that fail; none: no model is ever asked.
    pub helper: Option<Arc<dyn Helper>>,
    /// The functions that runs can carry out.
    pub workflows: Workflows,
    /// Whether runs that nobody sits before are gone on with at the start.
    pub resume: bool,
}

/// Whether runs have the built-in HTTP tools, and what these may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpTools {
    /// They have none.
    #[default]
    Off,
    /// They may call public addresses, and ranges that the network options allow.
    Guarded,
    /// They may also call local addresses that they name: on the machine of whoever runs them.
    Open,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            network: NetworkOptions::default(),
            locals: Locals::default(),
            target: None,
            secrets: None,
            calls_max: 64,
            confirm_restore: false,
            record_tools: false,
            webhooks: WebhookOptions::default(),
            runs: RunOptions::default(),
        }
    }
}

/// A call that a principal wants to make.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The name of the tool.
    pub tool: String,
    /// The arguments, read strictly.
    pub args: Value,
    /// The caller's own words; at most 2,000 characters.
    pub reason: Option<String>,
    /// Further labels; they may not overwrite the tool's own.
    pub labels: BTreeMap<String, String>,
    /// A shorter time to decide than the tool's own.
    pub expires_in: Option<Duration>,
    /// Not to be called before this; must be before the deadline.
    pub not_before: Option<Timestamp>,
    /// The `Idempotency-Key` of the request, with the digest of the whole request.
    pub request_key: Option<RequestKey>,
}

/// The key under which a client may send the same request again.
#[derive(Clone, Debug)]
pub struct RequestKey {
    /// 1 to 255 printable ASCII characters; scoped to the principal.
    pub key: String,
    /// Over everything the request asks for.
    pub fingerprint: Digest,
}

/// The answer to a submission.
#[derive(Clone, Debug)]
pub enum Submitted {
    /// It is durable.
    Action {
        /// The action.
        action: Box<Versioned>,
        /// Whether it was there before: the same key with the same arguments.
        replayed: bool,
    },
    /// An idempotent tool was called at once; nothing is recorded.
    Answered(Answered),
}

/// The answer of an idempotent tool.
#[derive(Clone, Debug)]
pub struct Answered {
    /// `succeeded` or `failed`.
    pub status: Status,
    /// The class, always idempotent.
    pub class: SafetyClass,
    /// The one-sentence summary.
    pub summary: String,
    /// The status of the answer, where there was one.
    pub http_status: Option<u16>,
    /// The answer, or why there was none.
    pub result: Value,
}

/// An action with the version of its stream, which changes with every event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// The action.
    pub action: Action,
    /// How many events it has.
    pub version: Version,
}

/// Why nothing new is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// The id of the person who paused.
    pub by: String,
    /// The name of the person at that time.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
}

/// A vote as the page or the client sends it.
#[derive(Clone, Debug)]
pub struct Ballot {
    /// Yes or no.
    pub vote: Vote,
    /// Why; required for a rejection, at most 2,000 characters.
    pub reason: Option<String>,
    /// The revision that was shown.
    pub revision: u32,
    /// The digest that was shown.
    pub digest: Digest,
    /// The digest of the snapshot that was shown.
    pub snapshot_digest: Option<Digest>,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// There is no such action, or the principal may not see it.
    #[error("there is no such action")]
    NotFound,
    /// The principal may see it, but not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The core says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store cannot take it now. Nothing was acknowledged.
    #[error("the store cannot take it now")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a submission was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// No such tool in the registry.
    #[error("there is no tool named {tool}")]
    UnknownTool {
        /// The name that was asked for.
        tool: String,
        /// The nearest name that exists.
        suggestion: Option<String>,
    },
    /// The arguments break the tool's schema, or a placeholder has no value. (pointer, message)
    #[error("the arguments do not fit the tool")]
    InvalidArgs(Vec<(String, String)>),
    /// Recorded as a refused action: `missing_scope`, `identity_check_failed`, `precondition_failed`.
    #[error("refused: {}", action.action.status().name())]
    Refused {
        /// The record.
        action: Box<Versioned>,
    },
    /// The intent's key, or the request key, was used for something else before.
    #[error("the key was used before with other arguments")]
    KeyReused {
        /// The first action, where the principal may see it.
        first: Option<ActionId>,
        /// Which key: the tool's own, or the `Idempotency-Key` of the request.
        request_key: bool,
        /// JSON Pointers to the members of the request that differ from the first one, never their
        /// values; empty where the principal may not see the first action.
        differs: Vec<&'static str>,
    },
    /// Another caller, whose actions the principal may not see, asked for the very same call before.
    #[error(
        "somebody else asked for the same call already; it is made once, and its action may not be \
         seen with this credential"
    )]
    AskedByAnother,
    /// The same request is being worked on at this moment.
    #[error("the same request is still being worked on")]
    InProgress,
    /// The state of the world could not be read, so that nobody could decide on it.
    #[error("the state could not be read: {0}")]
    StateUnavailable(String),
    /// The engine is paused, and the tool would have to be called at once.
    #[error("paused: nothing is called until somebody resumes")]
    Paused,
    /// Something in the submission is out of bounds.
    #[error("{0}")]
    Invalid(String),
    /// Too much waits already.
    #[error("too many actions wait; try again later")]
    Overloaded,
    /// The engine is stopping, or the store cannot take it now. Nothing was acknowledged.
    #[error("the store cannot take it now")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Only these statuses; empty for all.
    pub statuses: Vec<Status>,
    /// Only this tool.
    pub tool: Option<String>,
    /// Only this caller.
    pub caller: Option<String>,
    /// Only with all of these labels.
    pub labels: BTreeMap<String, String>,
    /// Only created at or after this.
    pub from: Option<Timestamp>,
    /// Only created before this.
    pub to: Option<Timestamp>,
    /// Only where this text is in the summary, the tool, the caller's name, a label or the id.
    pub text: Option<String>,
    /// The order.
    pub order: ListOrder,
    /// At most this many, 1 to 200.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// The newest first.
    #[default]
    NewestFirst,
    /// What is due first; only what is not final.
    DueFirst,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The actions.
    pub actions: Vec<Versioned>,
    /// Where the next page starts; none on the last.
    pub next_cursor: Option<String>,
}

/// How many actions are in each open status, and how old the oldest is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By status; statuses with none are left out. Final statuses are counted since the start of the log.
    pub by_status: BTreeMap<Status, u64>,
    /// When the oldest staged action was submitted.
    pub oldest_staged: Option<Timestamp>,
}

/// One event of the history, of an action or of anything else in the log.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// Its place in the log.
    pub position: Position,
    /// Its stream.
    pub stream: String,
    /// Its place in the stream.
    pub version: Version,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What kind, for example `action.staged`.
    pub kind: String,
    /// The event, where it belongs to an action.
    pub event: Option<Event>,
    /// The event as JSON, without secrets.
    pub data: Value,
    /// The hash of the record, hexadecimal.
    pub hash: String,
    /// The hash of the record before it, hexadecimal.
    pub prev: String,
}

/// Why an engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log holds something that this version does not understand, or that cannot be.
    #[error("the log cannot be read at position {position}: {reason}")]
    Unreadable {
        /// The record.
        position: Position,
        /// What is wrong.
        reason: String,
    },
    /// It is a copy of a log, and nobody has confirmed that it is the one to be used (invariant I29).
    /// Nothing was changed.
    #[error("{}", unconfirmed(*origin, *underway))]
    Unconfirmed {
        /// Where it comes from.
        origin: Origin,
        /// What would go on; none where that is not known before the indexes were made.
        underway: Option<Underway>,
    },
    /// The store failed.
    #[error("the store failed while starting")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn unconfirmed(origin: Origin, underway: Option<Underway>) -> String {
    let found = match origin {
        Origin::Own => "it was not confirmed",
        Origin::Copied => {
            "its files are copies, of a backup or of a folder that may still be in use elsewhere"
        }
        Origin::Imported => "it was imported, and the log it comes from may still be in use",
    };
    let underway = underway.map_or_else(String::new, |underway| {
        let Underway { waiting, in_flight } = underway;
        format!("; {waiting} actions wait to be sent, and {in_flight} attempts were on their way")
    });
    format!("this log sends nothing before that was confirmed: {found}{underway}")
}

/// Why a list could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The cursor is not one of ours, or belongs to other filters.
    #[error("the cursor does not belong to this list; start again without one")]
    BadCursor,
    /// The store failed.
    #[error("the store cannot be read now")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

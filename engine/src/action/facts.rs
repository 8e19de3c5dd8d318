//! What was seen of the world, and what was sent into it.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use super::AttemptOutcome;
use crate::canon::{CanonicalJson, Digest};
use crate::time::Timestamp;

/// The method of a rendered request that a worker pulls.
pub const WORKER_METHOD: &str = "WORK";

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
    /// The HTTP method; [`WORKER_METHOD`] where a worker pulls the call.
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

/// The body of an answer, as a step of a run looks at it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AnswerBody {
    /// The text, as it came.
    Text(String),
    /// There is none that can be looked at; why, in words.
    Broken(String),
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

/// A service or an agent that pulls work, as its credential said.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Worker {
    /// `key_…`
    pub id: String,
    /// The name at that time.
    pub name: String,
}

/// The key under which a worker asked for work, as digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ClaimKey {
    /// Over the worker and its key.
    pub key: Digest,
    /// Over all that was asked for.
    pub fingerprint: Digest,
}

/// What names one version of a secret, and says nothing of its value.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SecretVersion {
    /// The secret, as the tools file writes it.
    pub name: String,
    /// The number of its file and the moment of the file's last change in nanoseconds since 1970,
    /// as the operating system keeps them: `131337.1764512345123456789`. For a pipe, whose secrets
    /// nobody can tell apart, `pipe`.
    pub version: String,
    /// That moment.
    pub changed_at: Option<Timestamp>,
}

/// The right of one worker to carry out one attempt, for a while.
///
/// It ends by a report, or by itself; it is never given to anybody else (invariant I12).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// Who holds it.
    pub worker: Worker,
    /// Larger than that of every lease of this action before: what a worker sends along, so that
    /// whoever comes after can refuse it. Made from the moment of the claim, so that a restored
    /// backup does not give out the same one twice.
    pub epoch: u64,
    /// From this moment on nothing that the worker says counts.
    pub until: Timestamp,
    /// When it was given or last extended.
    pub extended_at: Timestamp,
    /// How often it was extended.
    pub extensions: u32,
    /// Over the report that counted, so that a repeat of it is known.
    pub reported: Option<Digest>,
    /// Over each answer that was kept as evidence only.
    pub late: Vec<Digest>,
    /// The key under which it was asked for, where there was one.
    pub key: Option<ClaimKey>,
}

/// One call of the tool on behalf of the action.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// When its commit record was made.
    pub started_at: Timestamp,
    /// The moment after which it is not sent any more; the end of the lease where a worker has it.
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
    /// Who carries it out; none where the engine calls.
    pub lease: Option<Lease>,
    /// The version of the state that travelled along, where one did.
    pub etag: Option<String>,
    /// Whether it is the attempt before it, sent again with the same key.
    pub is_resend: bool,
    /// The version of the secret that it is sent with; none where it needs none, or where the secret
    /// could not be looked at, so that it cannot be sent.
    pub secret: Option<SecretVersion>,
}

/// The same call, sent once more: same key, same bytes, within the time that the target keeps keys.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Resend {
    /// Counts on from the attempts before.
    pub attempt: u32,
    /// The first attempt: from its commit record on, the target keeps the key.
    pub first: u32,
    /// The digest that was approved.
    pub digest: Digest,
    /// The ids of the people whose approvals it rests on; empty where none were needed.
    pub approved_by: Vec<String>,
    /// The definition it was compared with.
    pub tool_digest: Digest,
    /// The request that will be sent: that of the attempt in doubt.
    pub request_digest: Digest,
    /// The state as read right before, where the tool has a state query.
    pub revalidated: Option<Snapshot>,
    /// The version that travels along: that of the attempt in doubt, since the bytes are the same.
    pub etag: Option<String>,
    /// Sent to the target.
    pub idempotency_key: String,
    /// After this moment it is not sent any more.
    pub send_deadline: Timestamp,
    /// Until when the target keeps the key: nothing that is sent may take effect later.
    pub kept_until: Timestamp,
    /// How sure the state is.
    pub window: Window,
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

/// What moved between approval and execution.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ReplanReason {
    /// Watched fields differ from the snapshot.
    StateMoved,
    /// A precondition no longer holds; its message.
    PreconditionFailed(String),
    /// The tool's definition is another one, or gone.
    ToolChanged,
    /// The request would no longer be the one that was shown.
    RequestChanged,
    /// The target answered 412: the version moved between the last read and the call.
    VersionMoved,
    /// With the state as it is now, the rules ask for more people than have agreed.
    ApprovalOutgrown,
}

impl ReplanReason {
    /// In words, for the caller.
    pub fn message(&self) -> String {
        match self {
            Self::StateMoved => "the state is no longer the one that was approved".to_owned(),
            Self::PreconditionFailed(message) => {
                format!("a precondition no longer holds: {message}")
            }
            Self::ToolChanged => {
                "the tool's definition is no longer the one that was approved".to_owned()
            }
            Self::RequestChanged => {
                "the request would no longer be the one that was shown".to_owned()
            }
            Self::VersionMoved => {
                "the target's version moved between the last read and the call".to_owned()
            }
            Self::ApprovalOutgrown => {
                "the state now asks for more approvals than were given".to_owned()
            }
        }
    }
}

/// What a worker says at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkReport {
    /// What it means for the attempt.
    pub outcome: AttemptOutcome,
    /// Over all that was said, so that a repeat is known.
    pub digest: Digest,
    /// What was said, kept as evidence where it does not count; none where nobody said anything.
    pub evidence: Option<CanonicalJson>,
    /// Whether it is kept too where it counts, since the outcome does not tell all of it.
    pub tells_more: bool,
}

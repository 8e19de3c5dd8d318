//! What was seen of the world, and what was sent into it.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use crate::canon::{CanonicalJson, Digest};
use crate::time::Timestamp;

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

//! How the world is called.
//!
//! Nothing else in the engine touches the network. A [`Target`] makes one call, once: no redirect is
//! followed, nothing is sent again, and the answer says whether the request may have left.
//!
//! * [`http`]: the real one. [`local`]: closures that an embedder registers.
//! * [`notify`]: telling webhook endpoints, by the same way out.
//! * [`address`]: which addresses may be called. [`classify`]: what an answer means for an attempt.
//! * `aside`: what is held in memory beside the steps of runs; `given`: the secrets of one, and `filled`:
//!   the request with them.
//! * `world`: what the engine asks and sends, and the one function that sends what is not idempotent;
//!   it takes a `permit` that only a durable commit record can make.

pub mod address;
pub(crate) mod aside;
pub mod classify;
mod filled;
pub(crate) mod given;
pub mod http;
pub mod local;
pub mod notify;
mod permit;
mod prepare;
mod secrets;
pub(crate) mod world;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::action::AnswerBody;
use crate::canon::{CanonicalJson, parse_answer};
use crate::tool::Origin;

pub use address::{AddressRange, NetworkOptions, RangeFormatError};
pub(crate) use classify::kept_beside;
pub use classify::{Rules, classify};
pub use http::HttpTarget;
pub use local::{LocalCall, LocalError, Locals};
pub use notify::{Notice, Noticed, Notifier};
pub(crate) use permit::CommitPermit;
pub(crate) use secrets::SecretFiles;
pub use secrets::SecretSource;
pub(crate) use world::World;

/// The method of a rendered request that a registered closure answers.
pub const LOCAL_METHOD: &str = "LOCAL";

/// The longest answer that is read; a longer one is an answer that was not understood.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The longest text of an answer that is kept as evidence. What is cut says so.
pub const EVIDENCE_BYTES_MAX: usize = 64 * 1024;

/// A value that must not be seen: a header with a credential.
#[derive(Clone)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The method.
    pub method: String,
    /// The whole URL, as the pinned definition and the arguments made it.
    pub url: String,
    /// Where the definition says that it goes; nothing else is called (invariant I17).
    pub origin: Origin,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// Headers with credentials.
    pub secret_headers: Vec<(String, Hidden)>,
    /// The exact body.
    pub body: Option<String>,
    /// The longest that connecting may take.
    pub connect_timeout: Duration,
    /// The longest that the whole call may take.
    pub timeout: Duration,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The `ETag` header.
    pub etag: Option<String>,
    /// The body.
    pub body: Body,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// It ended early or was too large; why, in words.
    Broken(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// Not one byte of the request left.
    NotDelivered(String),
    /// The request may have arrived.
    Unknown(String),
}

impl CallError {
    /// Why, in words.
    pub fn message(&self) -> &str {
        match self {
            Self::NotDelivered(message) | Self::Unknown(message) => message,
        }
    }
}

/// Whatever makes calls: the network, or what a test puts in its place.
#[async_trait]
pub trait Target: Send + Sync + 'static {
    /// Makes one call, once.
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError>;
}

impl Body {
    /// The JSON value that the body holds, read as strictly as arguments are; none where it is not
    /// whole or not such JSON. An empty body is `null`.
    pub fn json(&self) -> Option<Value> {
        self.strict_json().ok()
    }

    /// The same, or what is wrong with it, as the end of a sentence about it.
    pub(crate) fn strict_json(&self) -> Result<Value, String> {
        match self {
            Self::Whole(bytes) if bytes.is_empty() => Ok(Value::Null),
            Self::Whole(bytes) => {
                parse_answer(bytes).map_err(|error| format!("cannot be read: {error}"))
            }
            Self::Broken(reason) => Err(format!("is broken: {reason}")),
        }
    }

    /// The body as it came, to be looked at.
    pub(crate) fn as_it_came(&self) -> AnswerBody {
        match self {
            Self::Whole(bytes) => match String::from_utf8(bytes.clone()) {
                Ok(text) => AnswerBody::Text(text),
                Err(_) => AnswerBody::Broken("the body is not UTF-8".to_owned()),
            },
            Self::Broken(reason) => AnswerBody::Broken(reason.clone()),
        }
    }

    /// The body as it is kept: canonical JSON where it is JSON, else a JSON string. What is longer
    /// than [`EVIDENCE_BYTES_MAX`] becomes an object that says how much was cut.
    pub fn evidence(&self) -> CanonicalJson {
        let bytes = match self {
            Self::Whole(bytes) => bytes,
            Self::Broken(reason) => return CanonicalJson::of(&Value::String(reason.clone())),
        };
        let value = self
            .json()
            .unwrap_or_else(|| Value::String(String::from_utf8_lossy(bytes).into_owned()));
        kept(&value)
    }
}

/// A value as evidence: what is longer than [`EVIDENCE_BYTES_MAX`] becomes an object that says how
/// much was cut.
pub(crate) fn kept(value: &Value) -> CanonicalJson {
    let whole = CanonicalJson::of(value);
    let length = whole.as_str().len();
    if length <= EVIDENCE_BYTES_MAX {
        return whole;
    }
    let mut end = EVIDENCE_BYTES_MAX / 2;
    while !whole.as_str().is_char_boundary(end) {
        end -= 1;
    }
    CanonicalJson::of(&serde_json::json!({
        "cut": true,
        "bytes": length,
        "start": &whole.as_str()[..end],
    }))
}

/// Words that are kept: what is longer is cut and says by how much.
pub(crate) fn shortened(words: &str, chars_max: usize) -> String {
    let mut chars = words.chars();
    let start: String = chars.by_ref().take(chars_max).collect();
    match chars.count() {
        0 => start,
        more => format!("{start}… ({more} more characters)"),
    }
}

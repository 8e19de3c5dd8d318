//! The answer of a call, as a step's lines look at it.

use serde_json::Value;

use super::shorten;
use crate::canon::CanonicalJson;
use crate::limits::SKILL_SEEN_CHARS_MAX;

/// The answer of a call.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Its HTTP status, or what stands for it; none where the tool has no such thing.
    pub status: Option<u16>,
    /// Its body as text.
    pub text: &'a str,
    /// Its body as JSON; none where it is not JSON.
    pub json: Option<&'a Value>,
}

/// What an assertion came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The assertion, as written.
    pub text: String,
    /// Whether it holds.
    pub passed: bool,
    /// What was there instead; short, and of the answer, so that secrets may have to be taken out of it
    /// ([`Secrets::hide`](super::Secrets::hide)).
    pub seen: String,
}

/// A value in a few words.
pub(super) fn seen(value: Option<&Value>) -> String {
    match value {
        None => "nothing there".to_owned(),
        Some(value) => shorten(CanonicalJson::of(value).as_str(), SKILL_SEEN_CHARS_MAX),
    }
}

/// The words for an answer that should be JSON and is not.
pub(super) const NO_JSON: &str = "the answer is not JSON";

//! The one shape of every error: `application/problem+json` (RFC 9457).
//!
//! Handlers answer with a [`Problem`]. Its path and the id of the request are put in by
//! [`crate::edge`], which also gives this shape to whatever error a library made.

mod code;

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use code::Code;

/// The media type of problems.
pub const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A problem on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// The address of the page that explains the code.
    #[serde(rename = "type")]
    #[schema(example = "/docs/problems#not_found")]
    pub kind: String,
    /// A heading, the same for every occurrence of the code.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What went wrong this time, and what to do.
    pub detail: String,
    /// The path that was asked for.
    pub instance: String,
    /// The stable code.
    #[schema(example = "not_found")]
    pub code: String,
    /// The id under which the log knows this request.
    pub request_id: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Each place that is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The action that it is about, where the principal may see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// What the action is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<String>,
    /// What a vote must name now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Current>,
}

/// One place in a request that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// A JSON Pointer into the body, or the name of a parameter or header.
    #[schema(example = "/args/amount_minor")]
    pub pointer: String,
    /// What kind of mistake it is.
    pub code: String,
    /// The mistake, in words.
    pub detail: String,
    /// The line of the skill file, from 1, where it is one of a skill file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column of the skill file, in characters from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What is valid there, or what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl FieldError {
    /// A mistake at a place.
    pub fn new(pointer: impl Into<String>, code: &str, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            code: code.into(),
            detail: detail.into(),
            line: None,
            column: None,
            help: None,
        }
    }
}

/// What a vote on the action must name now, and what moved since it was first staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Current {
    /// The revision.
    pub revision: u32,
    /// The digest.
    pub digest: String,
    /// The digest of the snapshot, where there is one.
    pub snapshot_digest: Option<String>,
    /// The paths of the watched fields that moved before this revision.
    pub changed: Vec<String>,
}

/// Why a request was not done.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What went wrong.
    pub code: Code,
    /// What went wrong this time, and what to do; a sentence.
    pub detail: String,
    /// Each place that is wrong.
    pub errors: Vec<FieldError>,
    /// How long to wait before sending it again.
    pub retry_after: Option<Duration>,
    /// The action that it is about. Only for those who may see it.
    pub about: Option<Box<About>>,
}

/// The action that a problem is about.
#[derive(Clone, Debug)]
pub struct About {
    /// Its id.
    pub action_id: String,
    /// What it is now, where that is known.
    pub action_status: Option<String>,
    /// What a vote must name now, where that is the problem.
    pub current: Option<Current>,
}

impl Problem {
    /// A problem with nothing but its code and a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: None,
            about: None,
        }
    }

    /// With the places that are wrong.
    pub fn at(mut self, errors: Vec<FieldError>) -> Self {
        self.errors = errors;
        self
    }

    /// With the time to wait.
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// About an action.
    pub fn about(mut self, id: &impl ToString, status: Option<&str>) -> Self {
        self.about = Some(Box::new(About {
            action_id: id.to_string(),
            action_status: status.map(Into::into),
            current: None,
        }));
        self
    }

    pub(crate) fn body(&self, instance: &str, request_id: &str) -> ProblemBody {
        let about = self.about.as_deref();
        ProblemBody {
            kind: format!("/docs/problems#{}", self.code.name()),
            title: self.code.title().into(),
            status: self.code.status().as_u16(),
            detail: self.detail.clone(),
            instance: instance.into(),
            code: self.code.name().into(),
            request_id: request_id.into(),
            retryable: self.code.is_retryable(),
            errors: self.errors.clone(),
            action_id: about.map(|about| about.action_id.clone()),
            action_status: about.and_then(|about| about.action_status.clone()),
            current: about.and_then(|about| about.current.clone()),
        }
    }

    /// As an answer that knows its path and its request.
    pub(crate) fn render(&self, instance: &str, request_id: &str) -> Response {
        // Plain strings and numbers always serialise.
        let text = serde_json::to_string(&self.body(instance, request_id)).unwrap_or_default();
        let mut response = (self.code.status(), text).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        if let Some(wait) = self.retry_after {
            // Whole seconds, rounded up: a client that waits as told must not be early.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() != 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.code.status() == http::StatusCode::UNAUTHORIZED {
            headers.insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"holdpoint\""),
            );
        }
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.render("", "");
        response.extensions_mut().insert(self);
        response
    }
}

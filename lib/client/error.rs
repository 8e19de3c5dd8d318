//! Why a call did not do what was asked.

use std::time::Duration;

use serde_json::Value;

/// Why a call failed, a variant for each thing that a program can do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not one of a server.
    #[error("{0:?} is not a URL")]
    NotAUrl(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The address has a scheme that is not HTTP.
    #[error("the scheme {0} is not supported")]
    Scheme(String),
    /// The token would be readable on the way.
    #[error("{0} would carry the token unencrypted to another machine")]
    Unencrypted(String),
    /// The token has characters that no token has.
    #[error("the text is not a token")]
    NotAToken,
    /// The key cannot be sent.
    #[error("an idempotency key has 1 to 255 printable ASCII characters")]
    BadKey,
    /// There is nothing to make a key of.
    #[error("cannot make a key: the system gives no randomness")]
    NoRandomness(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The HTTP client cannot be made.
    #[error("cannot start the HTTP client")]
    Start(#[source] reqwest::Error),
    /// There is no connection: nothing was sent.
    #[error("cannot reach a server at {server}")]
    Unreachable {
        /// Where.
        server: String,
        /// Why not.
        #[source]
        source: reqwest::Error,
    },
    /// There was no answer in time: whether the request arrived is unknown.
    #[error("{server} did not answer in time")]
    TimedOut {
        /// Which.
        server: String,
        /// What was seen.
        #[source]
        source: reqwest::Error,
    },
    /// The connection broke: whether the request arrived is unknown.
    #[error("the connection to {server} broke")]
    Broken {
        /// Which.
        server: String,
        /// What was seen.
        #[source]
        source: reqwest::Error,
    },
    /// The answer is longer than anything a server of ours says.
    #[error("the answer of {server} is longer than {bytes_max} bytes")]
    TooLong {
        /// Which.
        server: String,
        /// The bound.
        bytes_max: usize,
    },
    /// The answer is not the JSON that was expected: probably another server.
    #[error("{server} did not answer with JSON")]
    NotJson {
        /// Which.
        server: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The server says no.
    #[error("{0}")]
    Problem(Box<Problem>),
}

impl Error {
    /// The problem document, where the server answered with one.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether the server says that a problem has this code, such as `lease_lost`.
    pub fn is(&self, code: &str) -> bool {
        self.problem().is_some_and(|problem| problem.code == code)
    }

    /// Whether the same request may succeed later. It may be sent again only if a repeat of it does
    /// no harm.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Broken { .. } => true,
            // A proxy in between, or a server on its way down.
            Self::Problem(problem) => {
                problem.retryable || (problem.code.is_empty() && 502 <= problem.status)
            }
            Self::NotAUrl(..)
            | Self::Scheme(_)
            | Self::Unencrypted(_)
            | Self::NotAToken
            | Self::BadKey
            | Self::NoRandomness(_)
            | Self::Start(_)
            | Self::TooLong { .. }
            | Self::NotJson { .. } => false,
        }
    }
}

/// A problem document of the server (RFC 9457).
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable code; act on this. Empty where whoever answered is no server of ours.
    pub code: String,
    /// What was wrong in this case, for people.
    pub detail: String,
    /// Each mistake, with its place.
    pub errors: Vec<FieldError>,
    /// What the server's log knows the request by.
    pub request_id: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// When to come back.
    pub retry_after: Option<Duration>,
    /// The action that the problem is about.
    pub action_id: Option<String>,
    /// Its status.
    pub action_status: Option<String>,
    /// Whether the request carried a credential.
    pub with_token: bool,
    /// The whole document; null where there was none.
    pub document: Value,
}

/// One mistake in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// A JSON Pointer into the body, or the name of a parameter; empty for the whole body.
    pub pointer: String,
    /// What kind of mistake.
    pub code: String,
    /// What is wrong, for people.
    pub detail: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.detail.is_empty() {
            return write!(f, "the server answered {} without saying why", self.status);
        }
        f.write_str(self.detail.trim_end_matches('.'))
    }
}

impl Problem {
    /// Reads the answer to a request that was refused.
    pub fn read(status: u16, body: &[u8], retry_after: Option<Duration>, with_token: bool) -> Self {
        let document: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let said = |value: &Value, name: &str| {
            let text = value.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let text = |name: &str| said(&document, name);
        let detail = match (text("detail").or_else(|| text("title")), &document) {
            (Some(detail), _) => detail,
            (None, Value::Null) => String::new(),
            (None, _) => "the server refused".to_owned(),
        };
        let errors = document.get("errors").and_then(Value::as_array);
        let errors = errors.into_iter().flatten().map(|error| FieldError {
            pointer: said(error, "pointer").unwrap_or_default(),
            code: said(error, "code").unwrap_or_default(),
            detail: said(error, "detail").unwrap_or_default(),
        });
        Self {
            status,
            code: text("code").unwrap_or_default(),
            detail,
            errors: errors.collect(),
            request_id: text("request_id"),
            retryable: document.get("retryable").and_then(Value::as_bool) == Some(true),
            retry_after,
            action_id: text("action_id"),
            action_status: text("action_status"),
            with_token,
            document,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_read_with_its_code_and_each_mistake() {
        let body = br#"{ "title": "Invalid", "detail": "the arguments do not fit the tool.", "code": "invalid_args",
            "retryable": false, "request_id": "req_1", "action_id": "act_1",
            "errors": [ { "pointer": "/amount", "code": "invalid", "detail": "is missing" } ] }"#;
        let problem = Problem::read(422, body, None, true);
        assert_eq!(problem.code, "invalid_args");
        assert_eq!(problem.errors[0].pointer, "/amount");
        assert_eq!(problem.action_id.as_deref(), Some("act_1"));
        assert_eq!(problem.to_string(), "the arguments do not fit the tool");
        let error = Error::Problem(Box::new(problem));
        assert!(error.is("invalid_args") && !error.is_retryable());
    }

    #[test]
    fn an_answer_of_something_in_between_may_be_asked_again_only_where_it_may_pass() {
        let of = |status| Error::Problem(Box::new(Problem::read(status, b"<html>", None, false)));
        assert!(of(502).is_retryable() && of(503).is_retryable());
        assert!(!of(404).is_retryable() && !of(200).is("anything"));
        assert!(of(502).to_string().contains("502"));
    }
}

//! What an answer means for an attempt: the table in section 2 of the invariants.

use serde_json::Value;

use super::{Answer, Body, CallError};
use crate::action::AttemptOutcome;
use crate::tool::StatusSet;

/// What the definition and the request say about reading the answer.
pub struct Rules<'a> {
    /// Statuses of success.
    pub success: &'a StatusSet,
    /// Statuses of a certain refusal.
    pub refused: &'a StatusSet,
    /// Whether the request carried an idempotency key.
    pub keyed: bool,
    /// Whether the request carried `If-Match`.
    pub if_match: bool,
    /// Whether a body fits the result schema; true where there is none.
    pub fits: &'a (dyn Fn(&Value) -> bool + Sync),
}

/// What became of an attempt, from what was seen. Everything doubtful is unknown.
pub fn classify(seen: Result<Answer, CallError>, rules: &Rules<'_>) -> AttemptOutcome {
    let answer = match seen {
        Ok(answer) => answer,
        Err(CallError::NotDelivered(message)) => return AttemptOutcome::NotDelivered { message },
        Err(CallError::Unknown(message)) => {
            return AttemptOutcome::Unknown {
                http_status: None,
                message,
            };
        }
    };
    let status = answer.status;
    if rules.success.contains(status) {
        return success(&answer, rules);
    }
    let evidence = answer.body.evidence();
    if status == 412 && rules.if_match {
        return AttemptOutcome::VersionMoved { answer: evidence };
    }
    if is_refusal(status, rules) {
        return AttemptOutcome::Refused {
            http_status: Some(status),
            answer: evidence,
        };
    }
    let message = if status == 409 {
        "the target answered 409 to a call with a key: the first request may still be running"
            .to_owned()
    } else {
        format!("the target answered {status}, which does not say whether it happened")
    };
    AttemptOutcome::Unknown {
        http_status: Some(status),
        message,
    }
}

fn is_refusal(status: u16, rules: &Rules<'_>) -> bool {
    match status {
        // Without a key there is no first request that could still be running; with one there is,
        // whatever the definition says.
        409 => !rules.keyed,
        412 => true,
        _ => rules.refused.contains(status),
    }
}

fn success(answer: &Answer, rules: &Rules<'_>) -> AttemptOutcome {
    let http_status = Some(answer.status);
    let unknown = |message: String| AttemptOutcome::Unknown {
        http_status,
        message: format!(
            "the target answered {}, but {message}: it probably happened",
            answer.status
        ),
    };
    let bytes = match &answer.body {
        Body::Whole(bytes) => bytes,
        Body::Broken(reason) => return unknown(reason.clone()),
    };
    if std::str::from_utf8(bytes).is_err() {
        return unknown("the body is not UTF-8".to_owned());
    }
    let value = answer
        .body
        .json()
        .unwrap_or_else(|| Value::String(String::from_utf8_lossy(bytes).into_owned()));
    if !(rules.fits)(&value) {
        return unknown("the body does not fit the result schema".to_owned());
    }
    AttemptOutcome::Done {
        http_status,
        result: answer.body.evidence(),
    }
}

//! What an answer means for an attempt: done, certainly not done, not delivered, or unknown.

use serde_json::Value;

use super::{Answer, Body, CallError};
use crate::action::{AnswerBody, AttemptOutcome};
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

/// The body of an answer, where the evidence of an outcome does not say the same.
pub(crate) fn kept_beside(outcome: &AttemptOutcome, body: AnswerBody) -> Option<AnswerBody> {
    let evidence = match outcome {
        AttemptOutcome::Done { result, .. } => result,
        AttemptOutcome::Refused { answer, .. } => answer,
        AttemptOutcome::VersionMoved { .. }
        | AttemptOutcome::NotDelivered { .. }
        | AttemptOutcome::Unknown { .. } => return None,
    };
    let AnswerBody::Text(text) = &body else {
        return Some(body);
    };
    let is_same = match evidence.value() {
        Value::String(said) => said == *text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            evidence.as_str() == text
        }
    };
    (!is_same).then_some(body)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn refused() -> StatusSet {
        StatusSet::These(BTreeSet::from([
            400, 401, 403, 404, 405, 410, 413, 415, 422,
        ]))
    }

    fn of(seen: Result<Answer, CallError>, keyed: bool, if_match: bool) -> AttemptOutcome {
        let rules = Rules {
            success: &StatusSet::AnySuccess,
            refused: &refused(),
            keyed,
            if_match,
            fits: &|body| body != &Value::String("off".to_owned()),
        };
        classify(seen, &rules)
    }

    fn answer(status: u16, body: &[u8]) -> Answer {
        Answer {
            status,
            etag: None,
            body: Body::Whole(body.to_vec()),
        }
    }

    fn name(outcome: &AttemptOutcome) -> &'static str {
        match outcome {
            AttemptOutcome::Done { .. } => "done",
            AttemptOutcome::Refused { .. } => "refused",
            AttemptOutcome::VersionMoved { .. } => "moved",
            AttemptOutcome::NotDelivered { .. } => "not delivered",
            AttemptOutcome::Unknown { .. } => "unknown",
        }
    }

    #[test]
    fn the_table_of_the_invariants_holds_for_every_status() {
        for status in 100..1000 {
            let expected = match status {
                200..=299 => "done",
                412 => "moved",
                status if refused().contains(status) => "refused",
                _ => "unknown",
            };
            assert_eq!(
                name(&of(Ok(answer(status, b"{}")), true, true)),
                expected,
                "{status}"
            );
        }
        assert_eq!(name(&of(Ok(answer(409, b"{}")), false, false)), "refused");
        assert_eq!(name(&of(Ok(answer(412, b"{}")), true, false)), "refused");
    }

    #[test]
    fn a_success_that_was_not_understood_is_unknown() {
        assert_eq!(
            name(&of(Ok(answer(200, b"\"off\"")), true, false)),
            "unknown"
        );
        assert_eq!(
            name(&of(Ok(answer(200, &[0xff, 0xfe])), true, false)),
            "unknown"
        );
        let broken = Answer {
            status: 200,
            etag: None,
            body: Body::Broken("it was cut off".to_owned()),
        };
        assert_eq!(name(&of(Ok(broken), true, false)), "unknown");
    }

    #[test]
    fn an_answer_is_kept_beside_its_evidence_where_that_is_another_text() {
        let long = format!("\"{}\"", "x".repeat(super::super::EVIDENCE_BYTES_MAX));
        for (body, is_kept) in [
            ("{\"a\":1}", false),
            ("{ \"a\": 1 }", true),
            ("plain words", false),
            ("\"words in JSON\"", true),
            ("", true),
            (&long, true),
        ] {
            let answer = answer(200, body.as_bytes());
            let came = answer.body.as_it_came();
            let outcome = of(Ok(answer), true, false);
            assert_eq!(kept_beside(&outcome, came).is_some(), is_kept, "{body:.20}");
        }
        let broken = Body::Broken("it was cut off".to_owned());
        let came = broken.as_it_came();
        let refused = Answer {
            status: 404,
            etag: None,
            body: broken,
        };
        let outcome = of(Ok(refused), true, false);
        assert_eq!(kept_beside(&outcome, came.clone()), Some(came));
    }

    #[test]
    fn evidence_that_is_cut_says_so() {
        let long = vec![b'x'; super::super::EVIDENCE_BYTES_MAX + 1];
        let kept = Body::Whole(long).evidence().value();
        assert_eq!(kept["cut"], true);
        assert_eq!(kept["bytes"], super::super::EVIDENCE_BYTES_MAX + 3);
    }

    proptest! {
        #[test]
        fn i10_only_a_whole_understood_success_is_done(
            status in 0..1200_u16,
            body in proptest::collection::vec(any::<u8>(), 0..40),
            keyed in any::<bool>(),
            if_match in any::<bool>(),
        ) {
            let outcome = of(Ok(answer(status, &body)), keyed, if_match);
            let is_understood = (200..300).contains(&status) && std::str::from_utf8(&body).is_ok();
            prop_assert_eq!(name(&outcome) == "done", is_understood && body != b"\"off\"");
        }
    }
}

//! What holds of a call that is sent once more.

use holdpoint_engine::action::{Action, AttemptResult, Event, Status};
use holdpoint_engine::limits::RESENDS_MAX;

/// What must hold of a call that is sent once more.
pub(super) fn check(before: &Action, event: &Event, after: &Action) {
    if let Event::ResendRecorded { resend, at } = event {
        let first = &before.attempts[0];
        let kept = before.key_kept_ms.expect("i02: the target keeps keys");
        let terms = &before.proposal.terms;
        let arrived = resend.send_deadline.plus_ms(terms.request_lifetime_ms);
        assert!(
            arrived <= first.started_at.plus_ms(kept),
            "i02: it may arrive after retention, counted from the first send"
        );
        assert!(
            before.deadline().is_none_or(|deadline| *at < deadline),
            "i09"
        );
        assert_eq!(
            resend.request_digest, first.request_digest,
            "the same bytes"
        );
        assert_eq!(resend.idempotency_key, before.proposal.idempotency_key);
        assert!(
            before
                .doubt
                .is_some_and(|doubt| doubt.resends < RESENDS_MAX)
        );
    }
    let refused = matches!(event, Event::ResendFailed { .. });
    assert!(!refused || after.status() == Status::Unknown, "i10");
    let in_doubt = |action: &Action| {
        let mut attempts = action.attempts.iter();
        attempts.any(|attempt| attempt.result == Some(AttemptResult::Unknown))
    };
    assert!(
        !(refused && in_doubt(before)) || in_doubt(after),
        "i10: a refused resend ends no doubt"
    );
}

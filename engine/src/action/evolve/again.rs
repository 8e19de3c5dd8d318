//! What follows a read of the state that failed, and a call that certainly had no effect.

use crate::action::{Action, FailReason, Phase};
use crate::time::Timestamp;

/// The state could not be read, so that nothing was sent: no try of the call is used up.
pub(super) fn not_read(action: &mut Action, message: &str, retry_at: Option<Timestamp>) {
    action.reads_failed = action.reads_failed.saturating_add(1);
    wait(action, message, retry_at);
}

/// One try of the call is used up.
pub(super) fn not_done(action: &mut Action, message: &str, retry_at: Option<Timestamp>) {
    action.tries_failed = action.tries_failed.saturating_add(1);
    wait(action, message, retry_at);
}

/// Back to waiting for a call, or failed where there is no further try.
fn wait(action: &mut Action, message: &str, retry_at: Option<Timestamp>) {
    action.phase = match (retry_at, &action.approval, &action.phase) {
        (None, _, _) => Phase::Failed(FailReason::NeverDelivered {
            message: message.to_owned(),
        }),
        (Some(run_at), Some(_), Phase::Approved { hold_until, .. }) => Phase::Approved {
            run_at,
            hold_until: *hold_until,
        },
        // The hold window was over before the attempt.
        (Some(run_at), Some(_), _) => Phase::Approved {
            run_at,
            hold_until: None,
        },
        (Some(run_at), None, _) => Phase::Accepted { run_at },
    };
}

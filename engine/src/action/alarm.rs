//! A refusal that says more than no: 422 to a call that carried a key.

use super::explain::tried;
use super::{Action, Explanation, FailReason, Phase, SafetyClass, Trouble};
use crate::limits::ALARM_SHOWN_DAYS;
use crate::time::Timestamp;

impl Action {
    /// When its target refused the call and answered 422 to a key: it may know the key with another
    /// request, so that the key does not stand for what its definition says. None where that is not how
    /// it ended.
    pub fn alarmed_at(&self) -> Option<Timestamp> {
        let refused = matches!(&self.phase, Phase::Failed(FailReason::TargetRefused { .. }));
        let keyed = self.proposal.class != SafetyClass::Idempotent;
        let last = self.attempts.last();
        let last = last.filter(|last| refused && keyed && last.http_status == Some(422))?;
        last.ended_at
    }
}

/// Explains an alarm: what it means, and what to do.
pub fn explain_alarm(action: &Action, since: Timestamp) -> Explanation {
    let key = &action.proposal.idempotency_key;
    Explanation {
        trouble: Trouble::Alarm,
        since,
        tried: tried(action, &[]),
        next: format!(
            "the target answered 422 to the key {key}, and it ended as failed: this request had no \
             effect, but the target may have carried out another one under the same key. This is told \
             for {ALARM_SHOWN_DAYS} days"
        ),
        help: format!(
            "look at the target for what it did under the key {key}. Was it another request: let the \
             idempotencyKey of {} name everything that tells two requests apart, and ask again. Did it \
             only refuse the arguments: ask again with better ones (holdpoint actions show {} has its \
             answer)",
            action.proposal.tool, action.id
        ),
    }
}

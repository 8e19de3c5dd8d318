//! What holds a call back, though the clock says that it may leave (invariant I9).
//!
//! The hold window of an approval, and the moment that a caller chose, are promises to people: so much
//! time to think again, and not before then. A clock that is set forward ends neither.

use core::time::Duration;

use super::{Action, Phase};
use crate::limits::HOLD_ANEW_MS_MAX;
use crate::time::{Elapsed, Timestamp};

impl Action {
    /// How much longer its call is held back, as far as the process can tell what time has passed; zero
    /// where it is not held back.
    pub fn held_for(&self, elapsed: &Elapsed) -> Duration {
        let scheduled = match (self.not_before, self.run_at()) {
            (Some(moment), Some(_)) => moment.since(elapsed.seen_since(self.created_at)),
            (Some(_) | None, None) | (None, Some(_)) => Duration::ZERO,
        };
        scheduled.max(self.hold_left(elapsed))
    }

    /// Until when at least an approver may take the approval back; none where that is over, or it is not
    /// approved.
    pub fn withdrawable_until(&self, elapsed: &Elapsed) -> Option<Timestamp> {
        let Phase::Approved {
            hold_until: Some(hold_until),
            ..
        } = &self.phase
        else {
            return None;
        };
        let now = elapsed.now();
        let until = now.plus(self.held_for(elapsed)).max(*hold_until);
        (now < until).then_some(until)
    }

    /// What is left of the hold window. What lies before the process is believed, but for its last
    /// minutes: where the window may have passed while nobody ran, or by a clock that was wrong then,
    /// people have it again, or the first minutes of it.
    fn hold_left(&self, elapsed: &Elapsed) -> Duration {
        let (Some(approved_at), Some(approval)) = (self.approved_at(), &self.approval) else {
            return Duration::ZERO;
        };
        let hold_ms = approval.requirement.hold_ms;
        let end = approved_at.plus_ms(hold_ms);
        let anew = approved_at.plus_ms(hold_ms.min(HOLD_ANEW_MS_MAX));
        let seen = end.since(elapsed.seen_since(approved_at));
        seen.max(anew.since(elapsed.proven_since(approved_at)))
    }

    /// When the last vote that it needed was given; none where it is not approved, or a call was made
    /// since, so that the window was over.
    fn approved_at(&self) -> Option<Timestamp> {
        let Phase::Approved {
            hold_until: Some(_),
            ..
        } = &self.phase
        else {
            return None;
        };
        let votes = self.approval.iter().flat_map(|approval| &approval.votes);
        votes.map(|cast| cast.at).max()
    }
}

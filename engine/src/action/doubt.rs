//! What a doubt is made of, and how attempts enter into one and leave it.

use bincode::{Decode, Encode};

use super::{Action, Attempt, AttemptResult, Phase, Resend};
use crate::time::Timestamp;

/// The doubt about whether a call took effect, over all sends of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Doubt {
    /// Since when.
    pub since: Timestamp,
    /// Before this moment "not found" proves nothing.
    pub quiet_at: Timestamp,
    /// How often the source of truth was asked.
    pub checks: u32,
    /// How often the same call was sent again.
    pub resends: u32,
    /// How often that was planned.
    pub plans: u32,
}

/// An attempt ended without anybody knowing whether it took effect.
pub(super) fn enter(
    action: &mut Action,
    quiet_at: Timestamp,
    next_check: Option<Timestamp>,
    at: Timestamp,
) {
    let doubt = action.doubt.get_or_insert(Doubt {
        since: at,
        quiet_at,
        checks: 0,
        resends: 0,
        plans: 0,
    });
    doubt.quiet_at = quiet_at;
    action.phase = Phase::Unknown {
        since: doubt.since,
        quiet_at,
        checks: doubt.checks,
        next_check,
        next_resend: None,
    };
}

/// A resend ended without an effect of its own: the doubt is what it was.
pub(super) fn back(action: &mut Action, at: Timestamp) {
    let quiet_at = action.doubt.map_or(at, |doubt| doubt.quiet_at);
    enter(action, quiet_at, None, at);
}

/// The source of truth could not tell.
pub(super) fn asked(action: &mut Action, next: Option<Timestamp>) {
    if let Phase::Unknown {
        checks, next_check, ..
    } = &mut action.phase
    {
        *checks = checks.saturating_add(1);
        *next_check = next;
        if let Some(doubt) = &mut action.doubt {
            doubt.checks = *checks;
        }
    }
}

/// The same call will be sent again, or not after all.
pub(super) fn plan(action: &mut Action, resend_at: Option<Timestamp>) {
    if let Phase::Unknown { next_resend, .. } = &mut action.phase {
        *next_resend = resend_at;
    }
    if let (Some(doubt), Some(_)) = (&mut action.doubt, resend_at) {
        doubt.plans = doubt.plans.saturating_add(1);
    }
}

/// The same call may leave once more.
pub(super) fn resend(action: &mut Action, resend: &Resend, at: Timestamp) {
    action.attempts.push(Attempt {
        number: resend.attempt,
        started_at: at,
        send_deadline: resend.send_deadline,
        ended_at: None,
        result: None,
        http_status: None,
        note: None,
        window: resend.window,
        request_digest: resend.request_digest,
        etag: resend.etag.clone(),
        is_resend: true,
        lease: None,
        secret: None,
    });
    if let Some(doubt) = &mut action.doubt {
        doubt.resends = doubt.resends.saturating_add(1);
    }
    action.phase = Phase::Executing;
}

/// Turns the doubt into knowledge; when and how each attempt ended stays as recorded.
///
/// Where one of several sends took effect nobody knows which, and the key makes them one: the last
/// one in doubt stands for it. Where none did, that holds for all of them.
pub(super) fn resolve(action: &mut Action, happened: bool) {
    let in_doubt = |attempt: &&mut Attempt| attempt.result == Some(AttemptResult::Unknown);
    if happened {
        if let Some(attempt) = action.attempts.iter_mut().rev().find(in_doubt) {
            attempt.result = Some(AttemptResult::Done);
        }
    } else {
        for attempt in action.attempts.iter_mut().filter(in_doubt) {
            attempt.result = Some(AttemptResult::NotDone);
        }
    }
    action.doubt = None;
}

//! Waiting for an action (`?wait=30s`, or `Prefer: wait=30`).

use std::time::Duration;

use holdpoint_engine::action::ActionId;
use holdpoint_engine::engine::{ActError, Versioned};
use holdpoint_engine::identity::Principal;
use http::HeaderMap;
use tokio::time::Instant;

use super::params::{Params, bad};
use crate::limits;
use crate::problem::{Code, FieldError, Problem};
use crate::state::AppState;

/// How long the client wants to wait; zero where it says nothing. `Prefer` is a wish, and what
/// cannot be read of it is ignored.
pub(crate) fn asked(params: &Params, headers: &HeaderMap) -> Result<Duration, Problem> {
    if let Some(text) = params.one("wait")? {
        return seconds(text).ok_or_else(|| bad("wait", "malformed", advice()));
    }
    let preferred = headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split([',', ';']))
        .find_map(|preference| preference.trim().strip_prefix("wait="));
    Ok(preferred.and_then(seconds).unwrap_or_default())
}

/// The same, from the member `wait` of a body.
pub(super) fn in_body(text: &str) -> Result<Duration, Problem> {
    seconds(text).ok_or_else(|| {
        let mistake = FieldError::new("/wait", "malformed", advice());
        Problem::new(Code::InvalidRequest, advice()).at(vec![mistake])
    })
}

fn advice() -> String {
    let max = limits::WAIT_MAX.as_secs();
    format!("wait must be whole seconds from 0 to {max}, for example 30s")
}

fn seconds(text: &str) -> Option<Duration> {
    let digits = text.strip_suffix('s').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let duration = Duration::from_secs(digits.parse().ok()?);
    (duration <= limits::WAIT_MAX).then_some(duration)
}

/// Waits until the action has another version than `known`, the time is up, or the server stops.
pub(crate) async fn for_change(
    state: &AppState,
    by: &Principal,
    id: ActionId,
    known: u64,
    at_most: Duration,
) -> Result<Versioned, ActError> {
    tokio::select! {
        biased;
        changed = state.engine.wait(by, id, known, at_most) => changed,
        () = state.stopping.cancelled() => state.engine.get(by, id),
    }
}

/// Waits until the action is final, the time is up, or the server stops.
pub(crate) async fn for_end(
    state: &AppState,
    by: &Principal,
    mut found: Versioned,
    at_most: Duration,
) -> Result<Versioned, ActError> {
    let end = Instant::now() + at_most;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if found.action.status().is_final() || left.is_zero() || state.stopping.is_cancelled() {
            return Ok(found);
        }
        found = for_change(state, by, found.action.id, found.version, left).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_whole_seconds_up_to_a_minute() {
        assert_eq!(seconds("30s"), Some(Duration::from_secs(30)));
        assert_eq!(seconds("60"), Some(Duration::from_mins(1)));
        for text in ["", "s", "61", "-1", "1.5", "30m", "+3"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}

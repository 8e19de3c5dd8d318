//! The log, live: server-sent events.
//!
//! What a stream shows is filtered by the engine for its principal (incident 59), whose credential
//! is looked at again before anything is shown: a revoked key, an ended session or a changed role
//! ends the stream. So does [`limits::STREAM_MAX`]; the client comes back by itself with
//! `Last-Event-ID` and is authenticated anew.

use std::convert::Infallible;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use holdpoint_engine::engine::{History, HistoryEntry};
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use super::errors::unavailable;
use super::params::{Params, bad};
use crate::auth::Viewer;
use crate::limits;
use crate::problem::{Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Follow the log
///
/// Server-sent events: `id` is the position, `event` the kind, `data` the event as JSON. To go on
/// after a break send `Last-Event-ID` (browsers do it by themselves) or `after`. Without either, the
/// stream begins with what happens next. Pages may use the session cookie.
#[utoipa::path(
    get, path = "/v1/events/stream", tag = "history", operation_id = "stream_events",
    security(("bearer" = [])),
    params(
        ("after" = Option<u64>, Query, description = "The position of the last event that is known already"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The same; it is preferred"),
    ),
    responses(
        (status = 200, description = "Events as they happen", body = String, content_type = "text/event-stream"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn stream(
    State(state): State<AppState>,
    viewer: Viewer,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = params.parsed("after", "a position in the log")?;
    let after = match headers.get("last-event-id") {
        Some(value) => {
            let position = value.to_str().ok().and_then(|text| text.parse().ok());
            Some(position.ok_or_else(|| {
                bad(
                    "Last-Event-ID",
                    "malformed",
                    "Last-Event-ID must be a position in the log",
                )
            })?)
        }
        None => asked,
    };
    let after = match after {
        Some(after) => after,
        None => last_position(&state)?,
    };
    let follower = Follower {
        history: state.engine.subscribe(&viewer.principal, after),
        viewer,
        state,
        until: Instant::now() + limits::STREAM_MAX,
    };
    let keep_alive = KeepAlive::new().interval(limits::HEARTBEAT);
    let mut response = Sse::new(events(follower))
        .keep_alive(keep_alive)
        .into_response();
    response
        .headers_mut()
        .insert(BUFFERING, HeaderValue::from_static("no"));
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn last_position(state: &AppState) -> Result<u64, Problem> {
    let stats = state.engine.log().stats();
    stats
        .map(|stats| stats.last_position)
        .map_err(|error| unavailable(&error))
}

struct Follower {
    history: History,
    viewer: Viewer,
    state: AppState,
    until: Instant,
}

impl Follower {
    async fn next(&mut self) -> Option<Vec<HistoryEntry>> {
        let entries = tokio::select! {
            biased;
            () = self.state.stopping.cancelled() => return None,
            () = tokio::time::sleep_until(self.until) => return None,
            entries = self.history.next() => match entries? {
                Ok(entries) => entries,
                Err(error) => {
                    tracing::warn!(%error, "an event stream ends; its client will come back");
                    return None;
                }
            },
        };
        self.viewer.is_current(&self.state).await.then_some(entries)
    }
}

fn events(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    // The first message tells the client how long to wait before it comes back.
    let hello = Event::default().retry(limits::RETRY).comment("following");
    let first = (follower, vec![hello].into_iter());
    stream::unfold(first, |(mut follower, mut ready)| async move {
        loop {
            if let Some(event) = ready.next() {
                return Some((Ok(event), (follower, ready)));
            }
            let entries = follower.next().await?;
            let events: Vec<Event> = entries.iter().map(event).collect();
            ready = events.into_iter();
        }
    })
}

fn event(entry: &HistoryEntry) -> Event {
    let data = serde_json::to_string(&wire::Event::from(entry)).unwrap_or_default();
    Event::default()
        .id(entry.position.to_string())
        .event(&entry.kind)
        .data(data)
}

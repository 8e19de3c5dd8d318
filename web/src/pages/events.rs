//! The event log: every event in order, with its position and hash.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use holdpoint_engine::action::ActionId;
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::run::RunId;
use holdpoint_engine::time::Timestamp;
use serde::Deserialize;

use super::error::PageError;
use super::shell::{Shell, Visit, page};
use super::view::When;
use crate::display::Shown;

const PAGE: u64 = 100;

/// What the address asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventsQuery {
    after: String,
}

struct LogRow {
    position: u64,
    before: u64,
    at: When,
    actor: Shown,
    kind: Shown,
    stream: Shown,
    /// The page of what the stream belongs to.
    page: Option<String>,
    short_hash: String,
    hash: String,
    prev: String,
    data: Shown,
}

impl LogRow {
    fn new(entry: &HistoryEntry, now: Timestamp) -> Self {
        Self {
            position: entry.position,
            before: entry.position.saturating_sub(1),
            at: When::new(entry.at, now),
            actor: Shown::line(&entry.actor),
            kind: Shown::line(&entry.kind),
            stream: Shown::line(&entry.stream),
            page: page_of(&entry.stream),
            short_hash: entry.hash.chars().take(12).collect(),
            hash: entry.hash.clone(),
            prev: entry.prev.clone(),
            data: Shown::block(&serde_json::to_string_pretty(&entry.data).unwrap_or_default()),
        }
    }
}

/// Where the action or the run is that a stream belongs to, after the first slash: the name of the
/// stream is `action/` or `run/`, and the digits of the id.
fn page_of(stream: &str) -> Option<String> {
    if let Some(digits) = stream.strip_prefix("run/") {
        let id: RunId = format!("run_{digits}").parse().ok()?;
        return Some(format!("runs/{id}"));
    }
    let digits = stream.strip_prefix("action/")?;
    let id: ActionId = format!("act_{digits}").parse().ok()?;
    Some(format!("actions/{id}"))
}

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    shell: Shell,
    after: u64,
    events: Vec<LogRow>,
    first: u64,
    last: u64,
    head: u64,
    earlier: Option<u64>,
    later: Option<u64>,
}

/// `GET /history/events`: the end of the log, or what follows a position.
pub(super) async fn get(
    visit: Visit,
    Query(asked): Query<EventsQuery>,
) -> Result<Response, PageError> {
    let person = visit.with_sight()?;
    let engine = &visit.state.engine;
    let stats = engine.log().stats();
    let head = stats
        .map_err(|error| PageError::unavailable(&error))?
        .last_position;
    let after = if asked.after.is_empty() {
        head.saturating_sub(PAGE)
    } else {
        asked
            .after
            .parse()
            .map_err(|_| PageError::BadRequest("A position is a whole number, from 0 on.".into()))?
    };
    let limit = usize::try_from(PAGE).unwrap_or(usize::MAX);
    let now = visit.now();
    let events: Vec<_> = engine
        .events(person, after, limit)?
        .iter()
        .map(|entry| LogRow::new(entry, now))
        .collect();
    let first = events.first().map_or(0, |event| event.position);
    let last = events.last().map_or(0, |event| event.position);
    let template = EventsPage {
        shell: visit
            .shell(format!("Event log from {first} to {last}"))
            .section("history"),
        after,
        first,
        last,
        head,
        earlier: (0 < after).then(|| after.saturating_sub(PAGE)),
        later: (0 < last && last < head).then_some(last),
        events,
    };
    page(&visit, &template)
}

//! The list of runs, with its filters in the address.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use holdpoint_engine::engine::{Engine, RunQuery};
use holdpoint_engine::identity::Principal;
use holdpoint_engine::run::{RunId, RunStatus, RunSummary};
use holdpoint_engine::time::Timestamp;
use serde::Deserialize;

use super::schedules::ScheduleLink;
use super::standing::in_form_words;
use super::step::{Bar, bar_of};
use crate::api::in_log;
use crate::display::Shown;
use crate::pages::error::PageError;
use crate::pages::query;
use crate::pages::shell::{Shell, Visit, page};
use crate::pages::view::{StatusView, When, interrupted, run_status};
use crate::wire::INTERRUPTED;

/// A page of the list ends after the read in which it has this many.
const ROWS_ENOUGH: usize = 25;
/// The most reads for one page, so that a rare filter does not read everything.
const READS_MAX: usize = 20;

/// What the address asks for. A mistyped name is refused: left out, it would find more than was asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::pages) struct RunsQuery {
    status: String,
    name: String,
    schedule: String,
    cursor: String,
}

/// A run in the list.
struct RunRow {
    id: String,
    name: Shown,
    kind: &'static str,
    status: StatusView,
    caller: Shown,
    schedule: Option<ScheduleLink>,
    created: When,
    message: Option<Shown>,
    bar: Bar,
    far: String,
}

impl RunRow {
    fn new(
        run: &RunSummary,
        is_carried_on: bool,
        schedule: Option<ScheduleLink>,
        now: Timestamp,
    ) -> Self {
        let whole = run.planned.unwrap_or(run.made).max(run.made);
        Self {
            id: run.id.to_string(),
            name: Shown::line(&run.name),
            kind: if run.is_skill {
                "skill file"
            } else {
                "workflow"
            },
            status: run_status(run.status, is_carried_on),
            caller: Shown::line(&run.caller_name),
            schedule,
            created: When::new(run.created_at, now),
            message: run
                .message
                .as_deref()
                .map(|text| Shown::line(&in_form_words(text))),
            bar: bar_of(run.passed, whole),
            far: match (run.passed, run.planned) {
                (passed, Some(1)) => format!("{passed} of 1 step passed"),
                (passed, Some(planned)) => format!("{passed} of {planned} steps passed"),
                (1, None) => "1 step passed".to_owned(),
                (passed, None) => format!("{passed} steps passed"),
            },
        }
    }
}

struct StatusOption {
    code: &'static str,
    word: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    shell: Shell,
    statuses: Vec<StatusOption>,
    name: String,
    schedule: String,
    only: Option<ScheduleLink>,
    is_filtered: bool,
    rows: Vec<RunRow>,
    is_later: bool,
    first_query: String,
    next_query: Option<String>,
}

/// `GET /runs`.
pub(in crate::pages) async fn get(
    visit: Visit,
    Query(asked): Query<RunsQuery>,
) -> Result<Response, PageError> {
    let person = visit.person()?;
    let now = visit.now();
    let options = statuses(&asked.status);
    let is_known = asked.status.is_empty() || options.iter().any(|option| option.is_chosen);
    if !is_known {
        let words = "There is no such status; choose one from the list of the page Runs.";
        return Err(PageError::BadRequest(words.into()));
    }
    let some = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let shown: Vec<String> = some(&asked.status).into_iter().collect();
    let before = some(&asked.cursor).map(|cursor| cursor.parse()).transpose();
    let before = before.map_err(|_| {
        PageError::BadRequest(
            "The place in the list cannot be read; start at its first page.".into(),
        )
    })?;
    let wanted = RunQuery {
        statuses: in_log(&shown),
        name: some(&asked.name),
        schedule: some(&asked.schedule),
        limit: ROWS_ENOUGH,
        before,
    };
    let (found, next) = collect(&visit.state.engine, person, wanted, &shown)?;
    let link = |cursor: &str| {
        query::join(&[
            ("status", asked.status.trim()),
            ("name", asked.name.trim()),
            ("schedule", asked.schedule.trim()),
            ("cursor", cursor),
        ])
    };
    let link_of = |id: &str| ScheduleLink::new(id, &visit.state.engine, person);
    let template = RunsPage {
        only: some(&asked.schedule).map(|id| link_of(&id)),
        shell: visit.shell("Runs").section("runs"),
        statuses: options,
        is_filtered: !link("").is_empty(),
        rows: found
            .iter()
            .map(|(run, is_carried_on)| {
                let schedule = run.schedule.as_deref().map(link_of);
                RunRow::new(run, *is_carried_on, schedule, now)
            })
            .collect(),
        is_later: before.is_some(),
        first_query: link(""),
        next_query: next.map(|id| link(&id.to_string())),
        name: asked.name,
        schedule: asked.schedule,
    };
    page(&visit, &template)
}

/// Runs, each with whether somebody carries it on, and where to go on.
type Found = (Vec<(RunSummary, bool)>, Option<RunId>);

/// The next runs that fit, each with whether somebody carries it on, and where to go on.
fn collect(
    engine: &Engine,
    by: &Principal,
    mut query: RunQuery,
    shown: &[String],
) -> Result<Found, PageError> {
    let mut found = Vec::new();
    for _ in 0..READS_MAX {
        let page = engine.runs(by, &query)?;
        for run in page.runs {
            let is_carried_on = engine.is_run_carried_on(run.id);
            let code = run_status(run.status, is_carried_on).code;
            if shown.is_empty() || shown.iter().any(|name| name == code) {
                found.push((run, is_carried_on));
            }
        }
        query.before = page.next;
        if query.before.is_none() || ROWS_ENOUGH <= found.len() {
            break;
        }
    }
    Ok((found, query.before))
}

fn statuses(chosen: &str) -> Vec<StatusOption> {
    let all = RunStatus::ALL
        .into_iter()
        .map(|status| run_status(status, true));
    let left_behind = interrupted();
    debug_assert_eq!(left_behind.code, INTERRUPTED);
    all.chain([left_behind])
        .map(|status| StatusOption {
            code: status.code,
            word: status.word,
            is_chosen: status.code == chosen,
        })
        .collect()
}

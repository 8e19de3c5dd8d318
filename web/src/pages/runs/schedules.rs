//! Schedules: runs that begin by themselves.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::engine::Upcoming;
use holdpoint_engine::identity::Role;
use holdpoint_engine::run::RunError;
use holdpoint_engine::schedule::ScheduleId;
use holdpoint_engine::time::Timestamp;
use http::StatusCode;
use serde::Deserialize;

use crate::display::Shown;
use crate::pages::error::PageError;
use crate::pages::form::Sent;
use crate::pages::shell::{Shell, Visit, page};
use crate::pages::view::When;

/// A form about one schedule.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ScheduleForm {
    token: String,
    reason: String,
}

struct ScheduleRow {
    id: String,
    name: Shown,
    words: Shown,
    caller: Shown,
    allowed: &'static str,
    next: Vec<When>,
    paused: Option<Shown>,
    last_run: Option<String>,
    last_skipped: Option<Shown>,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "schedules.html")]
struct SchedulesPage {
    shell: Shell,
    rows: Vec<ScheduleRow>,
    error: Option<String>,
}

impl ScheduleRow {
    fn new(upcoming: &Upcoming, visit: &Visit, now: Timestamp) -> Result<Self, PageError> {
        let person = visit.person()?;
        let schedule = &upcoming.schedule;
        let plan = &schedule.plan;
        let is_own =
            plan.caller.id == person.id || plan.caller.owner.as_deref() == Some(person.id.as_str());
        Ok(Self {
            id: schedule.id.to_string(),
            name: Shown::line(&plan.name),
            words: Shown::line(&format!("{} ({})", upcoming.words, plan.cron)),
            caller: Shown::line(&plan.caller.name),
            allowed: match (plan.flags.yes, plan.flags.allow_writes, plan.flags.stage) {
                (true, _, _) => "destructive steps are made",
                (false, true, true) => "idempotent writes are made, the rest is put before people",
                (false, true, false) => "idempotent writes are made, the rest is withheld",
                (false, false, true) => "writes are put before people",
                (false, false, false) => "only reads are made",
            },
            next: upcoming.next.iter().map(|at| When::new(*at, now)).collect(),
            paused: schedule.paused.as_deref().map(Shown::line),
            last_run: schedule.last_run.map(|run| run.to_string()),
            last_skipped: schedule.last_skipped.as_deref().map(Shown::line),
            may_change: is_own || person.has(Role::Operator) || person.has(Role::Admin),
        })
    }
}

/// `GET /schedules`.
pub(in crate::pages) async fn get(visit: Visit) -> Result<Response, PageError> {
    show(&visit, None)
}

fn show(visit: &Visit, error: Option<String>) -> Result<Response, PageError> {
    let all = visit.state.engine.schedules(visit.person()?);
    let rows = all
        .iter()
        .map(|upcoming| ScheduleRow::new(upcoming, visit, visit.now()))
        .collect::<Result<_, _>>()?;
    let mut shell = visit.shell("Schedules".to_owned()).section("runs");
    shell.has_errors = error.is_some();
    let status = if error.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    let mut response = page(visit, &SchedulesPage { shell, rows, error })?;
    *response.status_mut() = status;
    Ok(response)
}

/// `POST /schedules/{id}/run`.
pub(in crate::pages) async fn run(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ScheduleForm>,
) -> Result<Response, PageError> {
    let id = checked(&visit, &id, &form)?;
    let person = visit.person()?;
    match visit.state.engine.run_schedule(person, id).await {
        Ok(run) => Ok(Redirect::to(&format!("/runs/{}", run.id)).into_response()),
        Err(error) => refused(&visit, error),
    }
}

/// `POST /schedules/{id}/pause`.
pub(in crate::pages) async fn pause(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ScheduleForm>,
) -> Result<Response, PageError> {
    let id = checked(&visit, &id, &form)?;
    let person = visit.person()?;
    let paused = visit.state.engine.pause_schedule(person, id, &form.reason);
    conclude(&visit, paused.await.map(|_| ()))
}

/// `POST /schedules/{id}/resume`.
pub(in crate::pages) async fn resume(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ScheduleForm>,
) -> Result<Response, PageError> {
    let id = checked(&visit, &id, &form)?;
    let person = visit.person()?;
    let resumed = visit.state.engine.resume_schedule(person, id).await;
    conclude(&visit, resumed.map(|_| ()))
}

fn checked(visit: &Visit, id: &str, form: &ScheduleForm) -> Result<ScheduleId, PageError> {
    visit.check_token(&form.token)?;
    id.parse().map_err(|_| PageError::NotFound)
}

fn conclude(visit: &Visit, answer: Result<(), RunError>) -> Result<Response, PageError> {
    match answer {
        Ok(()) => Ok(Redirect::to("/schedules").into_response()),
        Err(error) => refused(visit, error),
    }
}

/// The page with what is wrong, where it is something that a person can put right.
fn refused(visit: &Visit, error: RunError) -> Result<Response, PageError> {
    match &error {
        RunError::Invalid(_)
        | RunError::BadSkill(_)
        | RunError::BadInputs(_)
        | RunError::BadTools(_)
        | RunError::Overloaded => show(visit, Some(error.to_string())),
        RunError::NotFound
        | RunError::Forbidden(_)
        | RunError::Refused(_)
        | RunError::KeyReused { .. }
        | RunError::NoRoom(_)
        | RunError::Unavailable(_) => Err(error.into()),
    }
}

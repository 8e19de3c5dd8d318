//! Schedules: runs that begin by themselves.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::engine::{Engine, Upcoming};
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::run::RunError;
use holdpoint_engine::schedule::ScheduleId;
use holdpoint_engine::time::Timestamp;
use http::StatusCode;
use serde::Deserialize;

use crate::display::Shown;
use crate::pages::error::PageError;
use crate::pages::form::Sent;
use crate::pages::shell::{Shell, Visit, page};
use crate::pages::view::{StatusView, When, run_status};

/// A form about one schedule.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ScheduleForm {
    token: String,
    reason: String,
}

/// A schedule by its name, and where it is shown.
pub(super) struct ScheduleLink {
    pub(super) id: String,
    pub(super) name: Shown,
    /// Whether it is still there, for whoever looks.
    pub(super) is_there: bool,
}

impl ScheduleLink {
    pub(super) fn new(id: &str, engine: &Engine, person: &Principal) -> Self {
        let found = id.parse().ok().map(|id| engine.schedule(person, id));
        let name = match found {
            Some(Ok(found)) => Some(Shown::line(&found.schedule.plan.name)),
            Some(Err(_)) | None => None,
        };
        Self {
            id: id.to_owned(),
            is_there: name.is_some(),
            name: name.unwrap_or_else(|| Shown::line("(deleted)")),
        }
    }
}

/// A moment at which a schedule is due.
struct Due {
    /// As clocks in its zone show it; none where that is UTC.
    there: Option<String>,
    at: When,
}

/// The run that a schedule started last.
struct LastRun {
    id: String,
    status: StatusView,
    began: When,
}

struct ScheduleRow {
    id: String,
    name: Shown,
    /// The same as bare text, for attributes.
    plain_name: String,
    words: Shown,
    caller: Shown,
    allowed: &'static str,
    next: Vec<Due>,
    paused: Option<Shown>,
    last_run: Option<LastRun>,
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
            plain_name: Shown::line(&plan.name).plain(),
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
            next: upcoming
                .next
                .iter()
                .zip(&upcoming.next_there)
                .map(|(at, there)| Due {
                    there: (plan.zone != "UTC").then(|| there.clone()),
                    at: When::new(*at, now),
                })
                .collect(),
            paused: schedule.paused.as_deref().map(Shown::line),
            last_run: schedule.last_run.and_then(|id| {
                let engine = &visit.state.engine;
                let run = engine.run_summary(person, id).ok()?;
                Some(LastRun {
                    id: id.to_string(),
                    status: run_status(run.status, engine.is_run_carried_on(id)),
                    began: When::new(run.created_at, now),
                })
            }),
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

/// `POST /schedules/{id}/delete`.
pub(in crate::pages) async fn delete(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ScheduleForm>,
) -> Result<Response, PageError> {
    let id = checked(&visit, &id, &form)?;
    let person = visit.person()?;
    let deleted = visit.state.engine.delete_schedule(person, id, &form.reason);
    conclude(&visit, deleted.await)
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
        | RunError::BadSteps(_)
        | RunError::Overloaded
        | RunError::TooManyOwn => show(visit, Some(error.to_string())),
        RunError::NotFound
        | RunError::Forbidden(_)
        | RunError::Refused(_)
        | RunError::KeyReused { .. }
        | RunError::NoRoom(_)
        | RunError::Unavailable(_) => Err(error.into()),
    }
}

//! Runs: the list, and the page of one with its steps.

mod forms;
mod list;
mod schedules;
#[cfg(test)]
mod schedules_tests;
mod standing;
mod step;
#[cfg(test)]
mod tests;
mod view;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use holdpoint_engine::run::{Run, RunError, RunId};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::error::PageError;
use super::shell::{Visit, page};
use super::view::Names;
use crate::wire;

pub(super) use forms::{cancel, resume};
pub(super) use list::get as list;
use schedules::ScheduleLink;
pub(super) use schedules::{
    delete as delete_schedule, get as schedules, pause as pause_schedule,
    resume as resume_schedule, run as run_schedule,
};
use standing::Standing;
use view::{FormState, RunPage, Source};

/// The most events that the page shows; the rest is one link away, and the page says so.
const EVENTS_MAX: usize = 500;

/// For reads; what a refused form leads to is decided where forms are taken.
impl From<RunError> for PageError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::NotFound => Self::NotFound,
            RunError::Forbidden(why) => Self::Forbidden(why),
            RunError::NoRoom(cause) | RunError::Unavailable(cause) => {
                Self::unavailable(cause.as_ref())
            }
            RunError::Refused(_)
            | RunError::BadSkill(_)
            | RunError::BadInputs(_)
            | RunError::BadTools(_)
            | RunError::BadSteps(_)
            | RunError::Invalid(_)
            | RunError::KeyReused { .. }
            | RunError::Overloaded
            | RunError::TooManyOwn => Self::BadRequest(error.to_string()),
        }
    }
}

fn read_id(text: &str) -> Result<RunId, PageError> {
    text.parse().map_err(|_| PageError::NotFound)
}

/// `GET /runs/{id}`.
pub(super) async fn get(visit: Visit, Path(id): Path<String>) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let run = visit.state.engine.run(visit.person()?, id)?;
    show(&visit, &run, FormState::default())
}

/// The page as it is now, with what a form brought back.
fn show(visit: &Visit, run: &Run, form: FormState) -> Result<Response, PageError> {
    let person = visit.person()?;
    let engine = &visit.state.engine;
    let is_carried_on = engine.is_run_carried_on(run.id);
    let history = engine.run_history(person, run.id, 0, EVENTS_MAX)?;
    let mut names = Names::default();
    let actors = history.iter().map(|entry| entry.actor.as_str());
    let owner = run.start.caller.owner.iter().map(String::as_str);
    for id in actors.chain(owner) {
        if let Some(person) = engine.identity().person(id) {
            names.add(id, &person.name);
        }
    }
    names.add(&run.start.caller.id, &run.start.caller.name);
    let name = crate::display::Shown::line(run.start.origin.name()).plain();
    let mut shell = visit.shell(format!("{name} – Runs")).section("runs");
    shell.has_errors = !form.errors.is_empty();
    let status = if shell.has_errors {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    let source = Source {
        run,
        is_carried_on,
        history: &history,
        names: &names,
        standing: Standing::new(run, person, is_carried_on, engine.secrets_needed(run)),
        schedule: run
            .start
            .schedule
            .as_deref()
            .map(|id| ScheduleLink::new(id, engine, person)),
        receipt: engine.receipt(run),
        now: visit.now(),
    };
    let mut response = page(visit, &RunPage::new(shell, form, source))?;
    *response.status_mut() = status;
    Ok(response)
}

/// `GET /runs/{id}/receipt.json`: the receipt as a file.
pub(super) async fn receipt(visit: Visit, Path(id): Path<String>) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let engine = &visit.state.engine;
    let run = engine.run(visit.person()?, id)?;
    let receipt = engine.receipt(&run);
    let whole = wire::Run::new(&run, &receipt, engine.is_run_carried_on(id)).receipt;
    // Strings, numbers and JSON that was read before always serialise.
    let text = serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n";
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"receipt-{id}.json\""),
        ),
    ];
    Ok((headers, text).into_response())
}

//! The forms about a run. Each that is taken ends in a redirect.

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::engine::Resumption;
use holdpoint_engine::run::{Flags, Run, RunError, RunId};
use serde::Deserialize;

use super::view::FormState;
use super::{read_id, show};
use crate::pages::error::PageError;
use crate::pages::form::Sent;
use crate::pages::shell::Visit;

/// Calling a run off.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct CancelForm {
    token: String,
    reason: String,
}

/// The names and values of a form with as many fields as a run has secrets.
#[derive(Deserialize)]
#[serde(transparent)]
pub(in crate::pages) struct Pairs(Vec<(String, String)>);

impl Pairs {
    fn one(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    fn is_on(&self, name: &str) -> bool {
        self.one(name) == "yes"
    }

    /// The secrets that were typed; an empty field is one that was left out.
    fn secrets(&self) -> Vec<(String, String)> {
        let named = self.0.iter().filter_map(|(key, value)| {
            let name = key.strip_prefix("secret.")?;
            (!value.is_empty()).then(|| (name.to_owned(), value.clone()))
        });
        named.collect()
    }
}

/// `POST /runs/{id}/cancel`.
pub(in crate::pages) async fn cancel(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<CancelForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let person = visit.person()?;
    visit.check_token(&form.token)?;
    let reason = form.reason.trim();
    let reason = (!reason.is_empty()).then(|| reason.to_owned());
    let answer = visit.state.engine.cancel_run(person, id, reason).await;
    let field = "cancel-reason";
    conclude(&visit, id, answer, field, &form.reason)
}

/// `POST /runs/{id}/resume`.
pub(in crate::pages) async fn resume(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<Pairs>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let person = visit.person()?;
    visit.check_token(form.one("token"))?;
    let flags = Flags {
        allow_writes: form.is_on("allow_writes"),
        yes: form.is_on("yes"),
        stage: form.is_on("stage"),
    };
    let how = Resumption {
        // A box without its mark is sent as nothing.
        flags: flags.into(),
        secrets: form.secrets(),
    };
    let answer = visit.state.engine.resume_run(person, id, how).await;
    conclude(&visit, id, answer, "resume", "")
}

/// Back to the page of the run; or the page with what is wrong.
fn conclude(
    visit: &Visit,
    id: RunId,
    answer: Result<std::sync::Arc<Run>, RunError>,
    field: &'static str,
    reason: &str,
) -> Result<Response, PageError> {
    let Err(error) = answer else {
        return Ok(Redirect::to(&format!("/runs/{id}")).into_response());
    };
    let (field, message) = match &error {
        // What the page shows now says more than any field could.
        RunError::Refused(_) => (
            "status-title",
            format!("Nothing was recorded: {error}. The page shows how it stands now."),
        ),
        RunError::BadInputs(_)
        | RunError::Invalid(_)
        | RunError::Overloaded
        | RunError::TooManyOwn => (field, error.to_string()),
        RunError::NotFound
        | RunError::Forbidden(_)
        | RunError::BadSkill(_)
        | RunError::BadTools(_)
        | RunError::BadSteps(_)
        | RunError::KeyReused { .. }
        | RunError::NoRoom(_)
        | RunError::Unavailable(_) => return Err(error.into()),
    };
    let run = visit.state.engine.run(visit.person()?, id)?;
    let form = FormState {
        reason: reason.to_owned(),
        errors: vec![(field, message)],
    };
    show(visit, &run, form)
}

//! The forms of those who take back, cancel or settle.

use axum::extract::Path;
use axum::response::Response;
use holdpoint_engine::action::ActionId;
use holdpoint_engine::engine::{ActError, Versioned};
use serde::Deserialize;

use super::answer::{again, clean, done, not_recorded, sign_in_first, too_long};
use super::read_id;
use crate::pages::error::PageError;
use crate::pages::flash::Happened;
use crate::pages::form::Sent;
use crate::pages::shell::Visit;

/// Withdraw, cancel and settle.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ActForm {
    token: String,
    reason: String,
    happened: String,
}

/// `POST /actions/{id}/withdraw`.
pub(in crate::pages) async fn withdraw(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ActForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(&visit, id, &form.token, &form.reason));
    };
    visit.check_token(&form.token)?;
    let reason = clean(&form.reason);
    if let Some(response) = refuse_long(&visit, id, "withdraw-reason", &form)? {
        return Ok(response);
    }
    let answer = visit.state.engine.withdraw(person, id, reason).await;
    conclude(&visit, id, &form, answer, Happened::Withdrawn)
}

/// `POST /actions/{id}/cancel`.
pub(in crate::pages) async fn cancel(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ActForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(&visit, id, &form.token, &form.reason));
    };
    visit.check_token(&form.token)?;
    if let Some(response) = refuse_long(&visit, id, "cancel-reason", &form)? {
        return Ok(response);
    }
    let reason = clean(&form.reason);
    let answer = visit.state.engine.cancel(person, id, reason).await;
    conclude(&visit, id, &form, answer, Happened::Cancelled)
}

/// `POST /actions/{id}/settle`.
pub(in crate::pages) async fn settle(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<ActForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(&visit, id, &form.token, &form.reason));
    };
    visit.check_token(&form.token)?;
    let mut errors = Vec::new();
    let happened = match form.happened.as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    if happened.is_none() {
        errors.push(("happened", "Say whether it happened".into()));
    }
    let reason = clean(&form.reason);
    if reason.is_none() {
        errors.push(("settle-reason", "Say how you know".into()));
    }
    too_long("settle-reason", reason.as_deref(), &mut errors);
    match (happened, reason) {
        (Some(happened), Some(reason)) if errors.is_empty() => {
            let engine = &visit.state.engine;
            let answer = engine.settle(person, id, happened, reason).await;
            conclude(&visit, id, &form, answer, Happened::Settled)
        }
        (_, _) => {
            let found = visit.state.engine.get(person, id)?;
            again(&visit, &found, &form.reason, errors)
        }
    }
}

fn conclude(
    visit: &Visit,
    id: ActionId,
    form: &ActForm,
    answer: Result<Versioned, ActError>,
    happened: Happened,
) -> Result<Response, PageError> {
    match answer {
        Ok(_) => Ok(done(visit, id, happened)),
        Err(ActError::Refused(refusal)) => {
            let found = visit.state.engine.get(visit.person()?, id)?;
            again(
                visit,
                &found,
                &form.reason,
                vec![("status-title", not_recorded(visit, &refusal))],
            )
        }
        Err(error) => Err(error.into()),
    }
}

fn refuse_long(
    visit: &Visit,
    id: ActionId,
    field: &'static str,
    form: &ActForm,
) -> Result<Option<Response>, PageError> {
    let mut errors = Vec::new();
    too_long(field, clean(&form.reason).as_deref(), &mut errors);
    if errors.is_empty() {
        return Ok(None);
    }
    let found = visit.state.engine.get(visit.person()?, id)?;
    again(visit, &found, &form.reason, errors).map(Some)
}

//! The forms: every answer names what the page showed, and ends in a redirect.

use axum::Form;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::action::{Action, ActionId, Event, Refusal};
use holdpoint_engine::approval::{Ineligible, Vote};
use holdpoint_engine::engine::{ActError, Ballot, HistoryEntry, Versioned};
use holdpoint_engine::tool::differences;
use serde::Deserialize;

use super::messages::own_vote;
use super::view::{FormState, Stale, has_long_values};
use super::{read_id, show};
use crate::pages::error::PageError;
use crate::pages::flash::{Draft, Flash, Happened};
use crate::pages::shell::Visit;
use crate::pages::view::diff_rows;

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 2_000;

/// Approve and reject.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct VoteForm {
    token: String,
    revision: String,
    digest: String,
    snapshot_digest: String,
    reason: String,
    read: String,
}

/// Withdraw, cancel and settle.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct ActForm {
    token: String,
    reason: String,
    happened: String,
}

/// `POST /actions/{id}/approve`.
pub(in crate::pages) async fn approve(
    visit: Visit,
    Path(id): Path<String>,
    Form(form): Form<VoteForm>,
) -> Result<Response, PageError> {
    vote(&visit, read_id(&id)?, &form, Vote::Approve).await
}

/// `POST /actions/{id}/reject`.
pub(in crate::pages) async fn reject(
    visit: Visit,
    Path(id): Path<String>,
    Form(form): Form<VoteForm>,
) -> Result<Response, PageError> {
    vote(&visit, read_id(&id)?, &form, Vote::Reject).await
}

async fn vote(
    visit: &Visit,
    id: ActionId,
    form: &VoteForm,
    vote: Vote,
) -> Result<Response, PageError> {
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(visit, id, &form.reason));
    };
    visit.check_token(&form.token)?;
    let ballot = read_ballot(form, vote)?;
    let found = visit.state.engine.get(person, id)?;
    let mut errors = Vec::new();
    let reason_field = match vote {
        Vote::Approve => "approve-reason",
        Vote::Reject => "reject-reason",
    };
    if vote == Vote::Reject && ballot.reason.is_none() {
        errors.push((
            reason_field,
            "Say why you reject it; the requester sees it".into(),
        ));
    }
    too_long(reason_field, ballot.reason.as_deref(), &mut errors);
    if vote == Vote::Approve && form.read != "yes" && has_long_values(&found.action) {
        let message = "Read the long values to their end, and say that you did";
        errors.push(("read", message.into()));
    }
    if !errors.is_empty() {
        return again(visit, &found, &form.reason, errors);
    }
    match visit.state.engine.vote(person, id, ballot).await {
        Ok(_) => Ok(done(visit, id, Happened::Voted)),
        Err(ActError::Refused(refusal)) => vote_refused(visit, id, form, vote, refusal),
        Err(error) => Err(error.into()),
    }
}

fn read_ballot(form: &VoteForm, vote: Vote) -> Result<Ballot, PageError> {
    let incomplete =
        || PageError::BadRequest("The form is not complete. Open the action again.".into());
    let snapshot = form.snapshot_digest.as_str();
    Ok(Ballot {
        vote,
        reason: clean(&form.reason),
        revision: form.revision.parse().map_err(|_| incomplete())?,
        digest: form.digest.parse().map_err(|_| incomplete())?,
        snapshot_digest: if snapshot.is_empty() {
            None
        } else {
            Some(snapshot.parse().map_err(|_| incomplete())?)
        },
    })
}

/// Where a refused vote leads: to the outcome where there is one, else back to the form.
fn vote_refused(
    visit: &Visit,
    id: ActionId,
    form: &VoteForm,
    vote: Vote,
    refusal: Refusal,
) -> Result<Response, PageError> {
    let person = visit.person()?;
    let found = visit.state.engine.get(person, id)?;
    match refusal {
        Refusal::StaleDigest { .. } | Refusal::StaleSnapshot => {
            let history = visit
                .state
                .engine
                .history(person, id, 0, super::EVENTS_MAX)?;
            let state = FormState {
                reason: form.reason.clone(),
                errors: Vec::new(),
                stale: Some(what_changed(&found.action, form, &history)),
            };
            show(visit, &found, state)
        }
        Refusal::AlreadyDecided { .. } | Refusal::Ineligible(Ineligible::AlreadyVoted) => {
            let happened = if own_vote(&found.action, person) == Some(vote) {
                Happened::Repeated
            } else {
                Happened::LostRace
            };
            Ok(done(visit, id, happened))
        }
        Refusal::Ineligible(Ineligible::Expired) => Ok(done(visit, id, Happened::LostRace)),
        Refusal::ReasonRequired => again(
            visit,
            &found,
            &form.reason,
            vec![(
                "reject-reason",
                "Say why you reject it; the requester sees it".into(),
            )],
        ),
        other => again(
            visit,
            &found,
            &form.reason,
            vec![("why", not_recorded(&other))],
        ),
    }
}

/// What moved since the page that sent the form was made.
fn what_changed(action: &Action, form: &VoteForm, history: &[HistoryEntry]) -> Stale {
    let shown = history.iter().find_map(|entry| {
        let snapshot = match entry.event.as_ref()? {
            Event::Staged { snapshot, .. } => snapshot.as_ref()?,
            Event::Restaged { snapshot, .. } => snapshot,
            _ => return None,
        };
        (snapshot.digest.to_string() == form.snapshot_digest).then_some(snapshot)
    });
    let diff = match (shown, &action.snapshot) {
        (Some(shown), Some(now)) => differences(shown, now),
        (_, _) => action.diff.clone(),
    };
    let words = if form.revision == action.revision.to_string() {
        "What your page showed is not what this action is. Read it again from the top.".to_owned()
    } else {
        format!(
            "Your page showed revision {}, the action is at revision {} now. Votes on the earlier revision do not count.",
            form.revision, action.revision
        )
    };
    Stale {
        words,
        diff: diff_rows(&diff),
    }
}

/// `POST /actions/{id}/withdraw`.
pub(in crate::pages) async fn withdraw(
    visit: Visit,
    Path(id): Path<String>,
    Form(form): Form<ActForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(&visit, id, &form.reason));
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
    Form(form): Form<ActForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(&visit, id, &form.reason));
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
    Form(form): Form<ActForm>,
) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let Ok(person) = visit.person() else {
        return Ok(sign_in_first(&visit, id, &form.reason));
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
                vec![("status-title", not_recorded(&refusal))],
            )
        }
        Err(error) => Err(error.into()),
    }
}

/// The page again, with what was typed and what is wrong.
fn again(
    visit: &Visit,
    found: &Versioned,
    reason: &str,
    errors: Vec<(&'static str, String)>,
) -> Result<Response, PageError> {
    let form = FormState {
        reason: reason.to_owned(),
        errors,
        stale: None,
    };
    show(visit, found, form)
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

fn too_long(field: &'static str, reason: Option<&str>, errors: &mut Vec<(&'static str, String)>) {
    let characters = reason.map_or(0, |reason| reason.chars().count());
    if REASON_CHARS_MAX < characters {
        let message = format!("Use at most {REASON_CHARS_MAX} characters; these are {characters}");
        errors.push((field, message));
    }
}

fn not_recorded(refusal: &Refusal) -> String {
    format!("Your answer was not recorded: {refusal}")
}

/// What was typed, without the blanks around it and with plain line breaks.
fn clean(reason: &str) -> Option<String> {
    let reason = reason.replace("\r\n", "\n");
    let reason = reason.trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

/// 303: reloading repeats nothing.
fn done(visit: &Visit, id: ActionId, happened: Happened) -> Response {
    let mut response = Redirect::to(&format!("/actions/{id}")).into_response();
    let flash = Flash {
        happened,
        action: id,
    };
    flash.set(&visit.state.config, response.headers_mut());
    response
}

/// The session has ended: nothing is recorded, and the words are kept.
fn sign_in_first(visit: &Visit, id: ActionId, reason: &str) -> Response {
    let return_to = format!("/actions/{id}");
    let mut response = PageError::SignIn { return_to }.into_response();
    if let Some(reason) = clean(reason) {
        let draft = Draft { action: id, reason };
        draft.set(&visit.state.config, response.headers_mut());
    }
    response
}

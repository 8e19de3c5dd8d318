//! Where forms lead: back to the page with what is wrong, or on to it with what happened.

use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::action::{ActionId, Refusal};
use holdpoint_engine::engine::Versioned;

use super::show;
use super::view::FormState;
use crate::display::Shown;
use crate::pages::error::PageError;
use crate::pages::flash::{Draft, Flash, Happened};
use crate::pages::shell::{Visit, person_of_token};
use crate::pages::view::When;

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 2_000;

/// The page again, with what was typed and what is wrong.
pub(super) fn again(
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

pub(super) fn too_long(
    field: &'static str,
    reason: Option<&str>,
    errors: &mut Vec<(&'static str, String)>,
) {
    let characters = reason.map_or(0, |reason| reason.chars().count());
    if REASON_CHARS_MAX < characters {
        let message = format!("Use at most {REASON_CHARS_MAX} characters; these are {characters}");
        errors.push((field, message));
    }
}

/// Why an answer was not recorded; where somebody else was first, who that was, how and when.
pub(super) fn not_recorded(visit: &Visit, refusal: &Refusal) -> String {
    let why = match refusal {
        Refusal::NotUnknown {
            settled: Some(first),
            ..
        } => {
            let person = visit.state.engine.identity().person(&first.by);
            let name = person.map_or_else(|| first.by.clone(), |person| person.name);
            format!(
                "it was already settled by {} at {}: {}",
                Shown::line(&name).plain(),
                When::new(first.at, visit.now()).text(),
                first.outcome()
            )
        }
        other => other.to_string(),
    };
    format!("Your answer was not recorded: {why}")
}

/// What was typed, without the blanks around it and with plain line breaks.
pub(super) fn clean(reason: &str) -> Option<String> {
    let reason = reason.replace("\r\n", "\n");
    let reason = reason.trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

/// 303: reloading repeats nothing.
pub(super) fn done(visit: &Visit, id: ActionId, happened: Happened) -> Response {
    let mut response = Redirect::to(&format!("/actions/{id}")).into_response();
    let flash = Flash {
        happened,
        action: id,
    };
    flash.set(&visit.state.config, response.headers_mut());
    response
}

/// The session has ended: nothing is recorded, and the words are kept.
pub(super) fn sign_in_first(visit: &Visit, id: ActionId, token: &str, reason: &str) -> Response {
    let return_to = format!("/actions/{id}");
    let mut response = PageError::SignIn { return_to }.into_response();
    if let Some(reason) = clean(reason) {
        let draft = Draft {
            action: id,
            person: person_of_token(token).to_owned(),
            reason,
        };
        draft.set(&visit.state.config, response.headers_mut());
    }
    response
}

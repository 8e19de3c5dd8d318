//! The forms of those who vote: every answer names what the page showed, and ends in a redirect.

use axum::extract::Path;
use axum::response::Response;
use holdpoint_engine::action::{Action, ActionId, Event, Refusal};
use holdpoint_engine::approval::{Ineligible, Vote};
use holdpoint_engine::engine::{ActError, Ballot, HistoryEntry};
use holdpoint_engine::tool::differences;
use serde::Deserialize;

use super::answer::{again, clean, done, not_recorded, sign_in_first, too_long};
use super::messages::own_vote;
use super::view::{FormState, Stale, has_long_values};
use super::{read_id, show};
use crate::pages::error::PageError;
use crate::pages::flash::Happened;
use crate::pages::form::Sent;
use crate::pages::shell::Visit;
use crate::pages::view::diff_rows;

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

/// `POST /actions/{id}/approve`.
pub(in crate::pages) async fn approve(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<VoteForm>,
) -> Result<Response, PageError> {
    vote(&visit, read_id(&id)?, &form, Vote::Approve).await
}

/// `POST /actions/{id}/reject`.
pub(in crate::pages) async fn reject(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<VoteForm>,
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
        return Ok(sign_in_first(visit, id, &form.token, &form.reason));
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
            vec![("why", not_recorded(visit, &other))],
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

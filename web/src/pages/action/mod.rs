//! The page of an action, and the forms on it.

mod act;
mod answer;
mod failure;
mod messages;
mod of_run;
mod parts;
mod standing;
#[cfg(test)]
pub(super) mod tests;
mod view;
mod vote;
#[cfg(test)]
mod words_tests;

use std::collections::BTreeMap;

use axum::extract::Path;
use axum::response::Response;
use holdpoint_engine::action::{Action, ActionId};
use holdpoint_engine::engine::{HistoryEntry, Versioned};
use holdpoint_engine::tool::Context;
use http::StatusCode;

use super::error::PageError;
use super::flash::{Draft, Happened};
use super::shell::{Message, Visit, page};
use super::view::{Names, join};
use crate::wire;

pub(super) use act::{cancel, settle, withdraw};
use of_run::OfRun;
pub(super) use standing::{is_requester, may_vote};
use view::{ActionPage, FormState, Source};
pub(super) use vote::{approve, reject};

/// The most events that the page shows; the rest is one link away, and the page says so.
const EVENTS_MAX: usize = 500;

/// `GET /actions/{id}`.
pub(super) async fn get(visit: Visit, Path(id): Path<String>) -> Result<Response, PageError> {
    let id = read_id(&id)?;
    let person = visit.person()?;
    let found = visit.state.engine.get(person, id)?;
    let mut form = FormState::default();
    let draft = Draft::read(&visit.headers).filter(|draft| draft.action == id);
    if let Some(draft) = draft.as_ref().filter(|draft| draft.person == person.id) {
        form.reason.clone_from(&draft.reason);
    }
    let mut response = show(&visit, &found, form)?;
    if draft.is_some() {
        Draft::forget(&visit.state.config, response.headers_mut());
    }
    Ok(response)
}

fn read_id(text: &str) -> Result<ActionId, PageError> {
    text.parse().map_err(|_| PageError::NotFound)
}

/// The page as it is now, with what a form brought back.
fn show(visit: &Visit, found: &Versioned, form: FormState) -> Result<Response, PageError> {
    let person = visit.person()?;
    let action = &found.action;
    let now = visit.now();
    let history = visit
        .state
        .engine
        .history(person, action.id, 0, EVENTS_MAX)?;
    let names = names(visit, action, &history);
    let mut shell = visit
        .shell(action.proposal.summary.clone())
        .section("queue");
    shell.title = crate::display::Shown::line(&shell.title).plain();
    shell.has_errors = !form.errors.is_empty() || form.stale.is_some();
    let typed_before = !form.reason.is_empty();
    let happened = visit
        .flash
        .filter(|flash| flash.action == action.id)
        .map(|flash| flash.happened)
        .or_else(|| typed_before.then_some(Happened::DraftKept))
        // What went well before says nothing about the form that has just failed.
        .filter(|_| !shell.has_errors);
    shell.message = happened.map(|happened| Message {
        words: messages::words(happened, action, person, &names, now),
        tone: happened.tone(),
    });
    let status = match (&form.stale, form.errors.is_empty()) {
        (Some(_), _) => StatusCode::CONFLICT,
        (None, false) => StatusCode::UNPROCESSABLE_ENTITY,
        (None, true) => StatusCode::OK,
    };
    let amounts = amounts(visit, action);
    let others = visit.state.engine.voters(action);
    let source = Source {
        amounts: &amounts,
        action,
        version: found.version,
        history: &history,
        names: &names,
        person,
        now,
        held_until: visit.state.engine.held_until(action),
        json: raw_json(action, &history),
        others: others.as_deref(),
        of_run: OfRun::of(&visit.state.engine, person, action),
    };
    let mut response = page(visit, &ActionPage::new(shell, form, source))?;
    *response.status_mut() = status;
    Ok(response)
}

/// The arguments that the summary writes as money, by the names of their rows. Only by the very
/// definition that the action was proposed under.
fn amounts(visit: &Visit, action: &Action) -> BTreeMap<String, String> {
    let proposal = &action.proposal;
    let tool = visit.state.engine.registry().get(&proposal.tool);
    let Some(tool) = tool.filter(|tool| tool.digest == proposal.tool_digest) else {
        return BTreeMap::new();
    };
    let context = Context {
        args: &proposal.args.value(),
        caller: &proposal.caller,
        state: None,
        action_id: Some(action.id),
        idempotency_key: None,
    };
    tool.amounts(&context)
        .into_iter()
        .map(|(path, amount)| {
            let name: String = path.iter().fold(String::new(), |out, key| join(&out, key));
            (name.trim_start_matches('/').to_owned(), amount)
        })
        .collect()
}

/// The action as the API shows it, then its events.
fn raw_json(action: &Action, history: &[HistoryEntry]) -> String {
    let events: Vec<_> = history.iter().map(wire::Event::from).collect();
    let all = (wire::Action::new(action, false), events);
    serde_json::to_string_pretty(&all).unwrap_or_default()
}

/// Names for every id that the page may mention: as they were when it counted, else as they are.
fn names(visit: &Visit, action: &Action, history: &[HistoryEntry]) -> Names {
    let mut names = Names::default();
    let identity = visit.state.engine.identity();
    let caller = &action.proposal.caller;
    let owner = caller.owner.iter().map(String::as_str);
    for id in history
        .iter()
        .map(|entry| entry.actor.as_str())
        .chain(owner)
    {
        if let Some(person) = identity.person(id) {
            names.add(id, &person.name);
        }
    }
    names.add(&caller.id, &caller.name);
    for cast in action.approval.iter().flat_map(|approval| &approval.votes) {
        names.add(&cast.voter.id, &cast.voter.name);
    }
    names
}

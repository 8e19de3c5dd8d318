//! What people do with actions: vote, withdraw, cancel, settle.
//!
//! Who votes comes from the credential; the engine decides whether they may, the same for every
//! surface. A vote names what was shown, and anything else is refused as stale, with what is there
//! now. Sending the same vote again answers what the first one did.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::action::{ActionId, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::Digest;
use holdpoint_engine::engine::{ActError, Ballot, Versioned};
use holdpoint_engine::identity::Principal;
use http::header::ETAG;

use super::Body;
use super::actions::{action_id, action_json, etag};
use super::body::OptionalBody;
use super::errors::act_problem;
use crate::auth::Caller;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// Vote on an action
///
/// Only people with the role of approver vote; API keys never do, and nobody votes on what they
/// asked for. The digest, the revision and the snapshot digest are those that were shown.
#[utoipa::path(
    post, path = "/v1/actions/{id}/votes", tag = "decisions", operation_id = "vote",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`act_…`")),
    request_body = wire::Decision,
    responses(
        (status = 200, description = "The vote counts; the action as it is now", body = wire::Action),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn vote(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    body: Body<wire::Decision>,
) -> Result<Response, Problem> {
    let id = action_id(&id)?;
    let ballot = ballot(body.value)?;
    let vote = ballot.vote;
    let done = state.engine.vote(&by, id, ballot).await;
    // A vote that comes after the deadline ends the action instead of being counted.
    let is_counted = |found: &Versioned| {
        let mut votes = found
            .action
            .approval
            .iter()
            .flat_map(|approval| &approval.votes);
        votes.any(|cast| cast.voter.id == by.id && cast.vote == vote)
    };
    match done {
        Ok(found) if is_counted(&found) => answer(&state, &found),
        done => finish(&state, &by, id, done),
    }
}

fn ballot(decision: wire::Decision) -> Result<Ballot, Problem> {
    let vote = match decision.vote.as_str() {
        "approve" => Vote::Approve,
        "reject" => Vote::Reject,
        _ => return Err(invalid("/vote", "vote must be approve or reject")),
    };
    let digest = |pointer: &str, text: &str| {
        text.parse::<Digest>()
            .map_err(|error| invalid(pointer, &error.to_string()))
    };
    Ok(Ballot {
        vote,
        reason: decision.reason,
        revision: decision.revision,
        digest: digest("/digest", &decision.digest)?,
        snapshot_digest: decision
            .snapshot_digest
            .map(|text| digest("/snapshot_digest", &text))
            .transpose()?,
    })
}

fn invalid(pointer: &str, detail: &str) -> Problem {
    Problem::new(Code::InvalidRequest, detail).at(vec![FieldError::new(
        pointer,
        "malformed",
        detail,
    )])
}

/// Take the own approval back
///
/// Only somebody who approved, and only until the hold window ends. The action waits for votes again.
#[utoipa::path(
    post, path = "/v1/actions/{id}/withdraw", tag = "decisions", operation_id = "withdraw",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`act_…`")),
    request_body = Option<wire::Reason>,
    responses(
        (status = 200, description = "The action as it is now", body = wire::Action),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn withdraw(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::Reason>,
) -> Result<Response, Problem> {
    let id = action_id(&id)?;
    let done = state.engine.withdraw(&by, id, body.reason).await;
    finish(&state, &by, id, done)
}

/// Cancel an action
///
/// By whoever asked for it, before anything is sent.
#[utoipa::path(
    post, path = "/v1/actions/{id}/cancel", tag = "decisions", operation_id = "cancel",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`act_…`")),
    request_body = Option<wire::Reason>,
    responses(
        (status = 200, description = "The action as it is now", body = wire::Action),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn cancel(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::Reason>,
) -> Result<Response, Problem> {
    let id = action_id(&id)?;
    let done = state.engine.cancel(&by, id, body.reason).await;
    finish(&state, &by, id, done)
}

/// Settle an unknown outcome
///
/// By a person with the role of operator who neither asked for the action nor approved it.
#[utoipa::path(
    post, path = "/v1/actions/{id}/settle", tag = "decisions", operation_id = "settle",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`act_…`")),
    request_body = wire::Settlement,
    responses(
        (status = 200, description = "The action as it is now", body = wire::Action),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn settle(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    body: Body<wire::Settlement>,
) -> Result<Response, Problem> {
    let id = action_id(&id)?;
    let wire::Settlement { happened, reason } = body.value;
    let done = state.engine.settle(&by, id, happened, reason).await;
    finish(&state, &by, id, done)
}

fn finish(
    state: &AppState,
    by: &Principal,
    id: ActionId,
    done: Result<Versioned, ActError>,
) -> Result<Response, Problem> {
    match done {
        Ok(found) if found.action.status() == Status::Expired => Err(expired(&found)),
        Ok(found) => answer(state, &found),
        Err(error) => Err(act_problem(error, state.engine.get(by, id).ok().as_ref())),
    }
}

fn expired(found: &Versioned) -> Problem {
    Problem::new(
        Code::Expired,
        "the deadline passed before; the action was not called",
    )
    .about(&found.action.id, Some(found.action.status().name()))
}

fn answer(state: &AppState, found: &Versioned) -> Result<Response, Problem> {
    let body: AxumJson<wire::Action> = action_json(state, found, false);
    let mut response = body.into_response();
    response.headers_mut().insert(ETAG, etag(found)?);
    Ok(response)
}

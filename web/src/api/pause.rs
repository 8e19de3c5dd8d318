//! The pause switch, and what needs a person.

use axum::Json as AxumJson;
use axum::extract::State;
use holdpoint_engine::identity::Role;

use super::Body;
use super::body::OptionalBody;
use crate::auth::Caller;
use crate::problem::{Code, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// Is anything sent now
///
/// Whoever has a credential may ask.
#[utoipa::path(
    get, path = "/v1/pause", tag = "operations", operation_id = "pause_state",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "What the switch is", body = wire::Pause),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    Caller(_by): Caller,
) -> AxumJson<wire::Pause> {
    AxumJson(wire::Pause::new(state.engine.paused()))
}

/// Send nothing new
///
/// For administrators and operators. No call leaves, no worker is given work, and idempotent tools
/// answer `503 paused`, until somebody resumes; a restart changes nothing about it. What has a commit
/// record is finished. Everything else goes on: submitting, voting, cancelling, expiry, questions to
/// the source of truth. Paused already: answers who was first.
#[utoipa::path(
    post, path = "/v1/pause", tag = "operations", operation_id = "pause",
    security(("bearer" = [])),
    request_body = wire::PauseWish,
    responses(
        (status = 200, description = "Paused", body = wire::Pause),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn pause(
    State(state): State<AppState>,
    Caller(by): Caller,
    body: Body<wire::PauseWish>,
) -> Result<AxumJson<wire::Pause>, Problem> {
    let paused = state.engine.pause(&by, &body.value.reason).await?;
    Ok(AxumJson(wire::Pause::new(Some(paused))))
}

/// Send what is due again
///
/// For administrators and operators. Not paused: does nothing.
#[utoipa::path(
    post, path = "/v1/resume", tag = "operations", operation_id = "resume",
    security(("bearer" = [])),
    request_body = Option<wire::Reason>,
    responses(
        (status = 200, description = "Not paused", body = wire::Pause),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn resume(
    State(state): State<AppState>,
    Caller(by): Caller,
    OptionalBody(body): OptionalBody<wire::Reason>,
) -> Result<AxumJson<wire::Pause>, Problem> {
    state.engine.resume(&by, body.reason).await?;
    Ok(AxumJson(wire::Pause::new(state.engine.paused())))
}

/// What needs a person
///
/// Unknown outcomes, what could be called and is not, what waits for more people than may vote on
/// it, and what ended with an alarm in the last 7 days, each explained in words: what was tried, what the source of truth said, what happens next, what
/// a person can do. What only a person can end
/// comes first. For operators, auditors and administrators.
#[utoipa::path(
    get, path = "/v1/attention", tag = "operations", operation_id = "attention",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "Unknown outcomes first, at most 200; then what stands still, then what cannot be approved, then alarms, at most 200 of each", body = wire::AttentionList),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn attention(
    State(state): State<AppState>,
    Caller(by): Caller,
) -> Result<AxumJson<wire::AttentionList>, Problem> {
    let roles = [Role::Operator, Role::Auditor, Role::Admin];
    if !roles.into_iter().any(|role| by.has(role)) {
        let detail = "the role of operator, auditor or admin is needed";
        return Err(Problem::new(Code::Forbidden, detail));
    }
    let found = state.engine.attention(&by)?;
    Ok(AxumJson((&found).into()))
}

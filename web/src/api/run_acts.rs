//! What is done with a run: its history, events that it is sent, the end, and going on.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::Response;
use holdpoint_engine::engine::{FlagChange, Resumption};
use http::HeaderMap;
use serde_json::Value;

use super::actions::{limit, note_replay};
use super::body::OptionalBody;
use super::runs::{answer, run_id};
use super::{Body, Params, idempotency};
use crate::auth::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// The history of a run
///
/// Its events, in order, after `after`.
#[utoipa::path(
    get, path = "/v1/runs/{id}/events", tag = "runs", operation_id = "get_run_events",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`run_…`"),
        ("after" = Option<u64>, Query, description = "The version of the last event that is known already"),
        ("limit" = Option<usize>, Query, description = "At most this many, 1 to 1,000; 200 where it is left out"),
    ),
    responses(
        (status = 200, description = "The events", body = wire::Events),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn history(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<AxumJson<wire::Events>, Problem> {
    let id = run_id(&id)?;
    let after = params.parsed("after", "a version")?.unwrap_or(0);
    let limit = limit(&params)?;
    let entries = state.engine.run_history(&by, id, after, limit)?;
    let next_after = entries.last().map_or(after, |entry| entry.version);
    let data = entries.iter().map(Into::into).collect();
    Ok(AxumJson(wire::Events { data, next_after }))
}

/// Send a run an event
///
/// Its code may be waiting for one of that name, or will later; each is taken once, in order. By
/// whoever started the run, an operator, or a key with the scope `runs` that may see it. Whoever sends one
/// does not vote on the steps of the run. A run of a skill file takes none.
/// With the same `Idempotency-Key` the event is sent once, however often the request is.
#[utoipa::path(
    post, path = "/v1/runs/{id}/events", tag = "runs", operation_id = "send_run_event",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`run_…`"),
        ("Idempotency-Key" = Option<String>, Header, description = "As with `POST /v1/runs`: the same event under the same key is taken once, and answered with the run as it is now (`Idempotency-Replayed: true`); another request under it is 422"),
    ),
    request_body = wire::RunSignal,
    responses(
        (status = 200, description = "The run has it, durably; `Idempotency-Replayed: true` where it had it before", body = wire::Run),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn signal(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body<wire::RunSignal>,
) -> Result<Response, Problem> {
    let key = idempotency::key(&headers)?;
    let id = run_id(&id)?;
    let (name, data) = (&body.value.name, body.json.get("data"));
    let data = data.unwrap_or(&Value::Null);
    let sent = state
        .engine
        .signal_run_once(&by, id, name, data, key.as_deref());
    let (run, replayed) = sent.await?;
    let mut response = answer(&state, &run)?;
    note_replay(response.headers_mut(), replayed);
    Ok(response)
}

/// Call a run off
///
/// The step that is under way is taken back where that is still possible, and nothing more is begun. By
/// whoever started it, an operator or an administrator.
#[utoipa::path(
    post, path = "/v1/runs/{id}/cancel", tag = "runs", operation_id = "cancel_run",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`run_…`")),
    request_body = Option<wire::Reason>,
    responses(
        (status = 200, description = "The run as it is now; it ends in a moment", body = wire::Run),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn cancel(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::Reason>,
) -> Result<Response, Problem> {
    let id = run_id(&id)?;
    let run = state.engine.cancel_run(&by, id, body.reason).await?;
    answer(&state, &run)
}

/// Go on with a run
///
/// One that was interrupted, or that did not pass, from the step that did not; what passed is not made
/// again. One that goes on is given what it may do from now on, and its secret inputs where it needs them
/// again. By whoever started it, with what they may allow, or by an operator with the flags that it has.
/// Whoever resumes it does not vote on its steps, also those that wait; whoever has approved one that is not
/// over does not resume it. One that is being called off is not resumed.
#[utoipa::path(
    post, path = "/v1/runs/{id}/resume", tag = "runs", operation_id = "resume_run",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`run_…`")),
    request_body = Option<wire::RunResumption>,
    responses(
        (status = 200, description = "The run as it is now", body = wire::Run),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn resume(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::RunResumption>,
) -> Result<Response, Problem> {
    let id = run_id(&id)?;
    let how = Resumption {
        flags: FlagChange {
            allow_writes: body.allow_writes,
            yes: body.yes,
            stage: body.stage,
        },
        secrets: body.secrets.into_iter().collect(),
    };
    let run = state.engine.resume_run(&by, id, how).await?;
    answer(&state, &run)
}

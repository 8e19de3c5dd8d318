//! Schedules: runs that begin by themselves.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::engine::NewSchedule;
use holdpoint_engine::run::Flags;
use holdpoint_engine::schedule::ScheduleId;
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::actions::{header, note_replay};
use super::runs::{answer, origin};
use super::{Body, Params, idempotency};
use crate::auth::Caller;
use crate::problem::{Code, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

fn schedule_id(text: &str) -> Result<ScheduleId, Problem> {
    text.parse().map_err(|error| {
        Problem::new(
            Code::NotFound,
            format!("there is no such schedule: {error}"),
        )
    })
}

/// Make a schedule
///
/// It starts a run whenever it is due, on behalf of the credential that makes it, with what that may
/// allow at that moment. What a run would be refused for at its start is refused now.
#[utoipa::path(
    post, path = "/v1/schedules", tag = "runs", operation_id = "create_schedule",
    security(("bearer" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "As with `POST /v1/runs`: the same request under the same key is answered with the first schedule, with another one it is 422")),
    request_body = wire::NewSchedule,
    responses(
        (status = 201, description = "Durable; `Location` names it", body = wire::Schedule),
        (status = 200, description = "There before (`Idempotency-Replayed: true`)", body = wire::Schedule),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(state): State<AppState>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body<wire::NewSchedule>,
) -> Result<Response, Problem> {
    let key = idempotency::key(&headers)?;
    let run = &body.value.run;
    let json = body.json.get("run").unwrap_or(&Value::Null);
    let new = NewSchedule {
        name: body.value.name.clone(),
        what: origin(run, json)?,
        flags: Flags {
            allow_writes: run.allow_writes,
            yes: run.yes,
            stage: run.stage,
        },
        cron: body.value.cron.clone(),
        zone: body.value.zone.clone(),
        overlap: body.value.overlap,
    };
    let made = state.engine.create_schedule_once(&by, new, key.as_deref());
    let (made, replayed) = made.await?;
    let schedule = wire::Schedule::from(&made);
    let place = header(&format!("/v1/schedules/{}", schedule.id))?;
    let status = if replayed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let mut response = (status, AxumJson(schedule)).into_response();
    response.headers_mut().insert(LOCATION, place);
    note_replay(response.headers_mut(), replayed);
    Ok(response)
}

/// List schedules
#[utoipa::path(
    get, path = "/v1/schedules", tag = "runs", operation_id = "list_schedules",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "Those that the credential may see", body = wire::Schedules),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
) -> Result<AxumJson<wire::Schedules>, Problem> {
    let data = state.engine.schedules(&by).iter().map(Into::into).collect();
    Ok(AxumJson(wire::Schedules { data }))
}

/// Read a schedule
#[utoipa::path(
    get, path = "/v1/schedules/{id}", tag = "runs", operation_id = "get_schedule",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`sch_…`")),
    responses(
        (status = 200, description = "The schedule, with the next moments at which it is due", body = wire::Schedule),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::Schedule>, Problem> {
    let found = state.engine.schedule(&by, schedule_id(&id)?)?;
    Ok(AxumJson((&found).into()))
}

/// Take a schedule away
///
/// Its runs and its history stay.
#[utoipa::path(
    delete, path = "/v1/schedules/{id}", tag = "runs", operation_id = "delete_schedule",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`sch_…`"),
        ("reason" = Option<String>, Query, description = "Why, for the history"),
    ),
    responses(
        (status = 204, description = "It is no more"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<StatusCode, Problem> {
    let reason = params.one("reason")?.unwrap_or("no reason was given");
    let deleted = state.engine.delete_schedule(&by, schedule_id(&id)?, reason);
    deleted.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a schedule
///
/// It starts nothing by itself until it is resumed. Needs a reason.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/pause", tag = "runs", operation_id = "pause_schedule",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`sch_…`")),
    request_body = wire::Reason,
    responses(
        (status = 200, description = "The schedule as it is now", body = wire::Schedule),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn pause(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    body: Body<wire::Reason>,
) -> Result<AxumJson<wire::Schedule>, Problem> {
    let reason = body.value.reason.unwrap_or_default();
    let paused = state.engine.pause_schedule(&by, schedule_id(&id)?, &reason);
    Ok(AxumJson((&paused.await?).into()))
}

/// Resume a schedule
///
/// From now on; what was due in between is not made up for.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/resume", tag = "runs", operation_id = "resume_schedule",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`sch_…`")),
    responses(
        (status = 200, description = "The schedule as it is now", body = wire::Schedule),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn resume(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::Schedule>, Problem> {
    let resumed = state.engine.resume_schedule(&by, schedule_id(&id)?).await?;
    Ok(AxumJson((&resumed).into()))
}

/// Run a schedule now
///
/// Whether it is due or not, and while it is paused too.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/run", tag = "runs", operation_id = "run_schedule",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`sch_…`"),
        ("Idempotency-Key" = Option<String>, Header, description = "As with `POST /v1/runs`: the same request under the same key is answered with the first run (`Idempotency-Replayed: true`)"),
    ),
    responses(
        (status = 200, description = "The run that began", body = wire::Run),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn run_now(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let key = idempotency::key(&headers)?;
    let id = schedule_id(&id)?;
    let started = state.engine.run_schedule_once(&by, id, key.as_deref());
    let (run, replayed) = started.await?;
    let mut response = answer(&state, &run)?;
    note_replay(response.headers_mut(), replayed);
    Ok(response)
}

//! Work for services that pull it: claim, heartbeat, complete.
//!
//! The engine decides who may; here only the form of what is said is checked.

use std::time::Duration;

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::engine::{ClaimWish, WorkError, WorkId, WorkOutcome};
use http::{HeaderMap, StatusCode};

use super::errors::{unavailable, unknown_tool};
use super::{Body, idempotency, wait};
use crate::auth::Caller;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// When to come back where too many wait already.
const LATER: Duration = Duration::from_secs(5);

/// When to come back where the same claim is being answered.
const SOON: Duration = Duration::from_secs(1);

/// Claim work
///
/// Gives one attempt of one of these tools to the worker, waiting for it where there is nothing now.
/// What is given is committed: it was approved where it must be, the state was read again, and nobody
/// else gets it. It must be reported on before the lease ends, else its outcome is unknown.
///
/// With an `Idempotency-Key`, the same claim again is answered with what the first one was given, while
/// the worker still has it: an answer that was lost costs nothing. Afterwards the key is free.
#[utoipa::path(
    post, path = "/v1/work/claim", tag = "work", operation_id = "claim_work",
    security(("bearer" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters, quoted or bare; the same for every try of one claim, and a new one for the next claim. With another body it is 422 while the lease runs"),
    ),
    request_body = wire::WorkClaim,
    responses(
        (status = 200, description = "The worker has this attempt now", body = wire::Work),
        (status = 204, description = "There was nothing in time"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn claim(
    State(state): State<AppState>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body<wire::WorkClaim>,
) -> Result<Response, Problem> {
    let request_key = idempotency::request_key(&headers, "POST /v1/work/claim", &body.canonical())?;
    let claim = body.value;
    let wish = ClaimWish {
        tools: claim.tools,
        wait: claim
            .wait
            .as_deref()
            .map(wait::in_body)
            .transpose()?
            .unwrap_or_default(),
        lease: claim.lease_seconds.map(Duration::from_secs),
        request_key,
    };
    let claimed = tokio::select! {
        biased;
        claimed = state.engine.claim(&by, wish) => claimed?,
        () = state.stopping.cancelled() => None,
    };
    Ok(match claimed {
        Some(assignment) => AxumJson(wire::Work::new(&assignment)).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Keep a lease
///
/// Says that the worker is still at it, and moves the end of its lease. `lease_lost` means that
/// nothing it says counts any more.
#[utoipa::path(
    post, path = "/v1/work/{attempt}/heartbeat", tag = "work", operation_id = "heartbeat_work",
    security(("bearer" = [])),
    params(("attempt" = String, Path, description = "`act_….1`")),
    request_body = wire::WorkHeartbeat,
    responses(
        (status = 200, description = "The lease as it is now", body = wire::WorkLease),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn heartbeat(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(attempt): Path<String>,
    body: Body<wire::WorkHeartbeat>,
) -> Result<AxumJson<wire::WorkLease>, Problem> {
    let id = work_id(&attempt)?;
    let wire::WorkHeartbeat {
        epoch,
        lease_seconds,
    } = body.value;
    let lease = lease_seconds.map(Duration::from_secs);
    let until = state.engine.heartbeat(&by, id, epoch, lease).await?;
    Ok(AxumJson(wire::WorkLease::new(id, epoch, until)))
}

/// Report on work
///
/// Says how the attempt ended. The same report again is answered as the first one was. One that comes
/// after the end of the lease is kept as evidence, changes nothing, and is answered with `lease_lost`.
#[utoipa::path(
    post, path = "/v1/work/{attempt}/complete", tag = "work", operation_id = "complete_work",
    security(("bearer" = [])),
    params(("attempt" = String, Path, description = "`act_….1`")),
    request_body = wire::WorkReport,
    responses(
        (status = 200, description = "It counts", body = wire::WorkDone),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn complete(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(attempt): Path<String>,
    body: Body<wire::WorkReport>,
) -> Result<AxumJson<wire::WorkDone>, Problem> {
    let id = work_id(&attempt)?;
    // From the value that was read strictly, not from text that would be read again.
    let result = body.json.get("result").cloned();
    let report = body.value;
    let outcome = match (report.outcome.as_str(), result, report.reason) {
        ("succeeded", result, None) => WorkOutcome::Succeeded(result.unwrap_or_default()),
        ("failed", None, reason) => WorkOutcome::Failed(required(reason)?),
        ("unknown", None, reason) => WorkOutcome::Unknown(required(reason)?),
        ("succeeded", _, Some(_)) => {
            return Err(invalid(
                "/reason",
                "what succeeded has a result, not a reason",
            ));
        }
        ("failed" | "unknown", Some(_), _) => {
            return Err(invalid("/result", "only what succeeded has a result"));
        }
        (_, _, _) => {
            let detail = "outcome must be succeeded, failed or unknown";
            return Err(invalid("/outcome", detail));
        }
    };
    let found = state
        .engine
        .complete(&by, id, report.epoch, outcome)
        .await?;
    Ok(AxumJson(wire::WorkDone::new(id, &found)))
}

fn required(reason: Option<String>) -> Result<String, Problem> {
    reason.ok_or_else(|| invalid("/reason", "what did not succeed needs a reason"))
}

/// Reads the id in an address; what is not an id names nothing.
fn work_id(text: &str) -> Result<WorkId, Problem> {
    text.parse()
        .map_err(|error| Problem::new(Code::NotFound, format!("there is no such work: {error}")))
}

fn invalid(pointer: &str, detail: &str) -> Problem {
    Problem::new(Code::InvalidRequest, detail).at(vec![FieldError::new(pointer, "invalid", detail)])
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Self {
        let detail = error.to_string();
        match error {
            WorkError::NotFound => Self::new(
                Code::NotFound,
                "there is no such work, or this credential may not see it",
            ),
            WorkError::Forbidden(_) => Self::new(Code::Forbidden, detail),
            WorkError::UnknownTool { tool, suggestion } => {
                unknown_tool("/tools", &tool, suggestion.as_deref())
            }
            WorkError::Invalid(_) => Self::new(Code::InvalidRequest, detail),
            WorkError::InProgress => Self::new(Code::InProgress, detail).after(SOON),
            WorkError::KeyReused { .. } => Self::new(Code::KeyReused, detail),
            WorkError::Overloaded => Self::new(Code::Overloaded, detail).after(LATER),
            WorkError::NotHolder => Self::new(Code::NotTheHolder, detail),
            WorkError::LeaseLost | WorkError::WrongEpoch => Self::new(Code::LeaseLost, detail),
            WorkError::AlreadyReported => Self::new(Code::AlreadyReported, detail),
            WorkError::Unavailable(source) => unavailable(source.as_ref()),
        }
    }
}

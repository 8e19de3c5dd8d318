//! For probes and machines.

use axum::Json as AxumJson;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use holdpoint_engine::identity::{Principal, Role};
use http::header::CONTENT_TYPE;

use crate::auth::OptionalCaller;
use crate::client::{ClientAddress, Forwarded};
use crate::problem::{Code, Problem, ProblemBody};
use crate::state::AppState;

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Is the process alive
#[utoipa::path(
    get, path = "/livez", tag = "operations", operation_id = "livez",
    responses((status = 200, description = "It answers", body = String, content_type = "text/plain"))
)]
pub(super) async fn livez() -> Response {
    ([(CONTENT_TYPE, TEXT)], "ok\n").into_response()
}

/// Can actions be taken
#[utoipa::path(
    get, path = "/readyz", tag = "operations", operation_id = "readyz",
    responses(
        (status = 200, description = "They can", body = String, content_type = "text/plain"),
        (status = 503, description = "They cannot; the detail says why", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn readyz(State(state): State<AppState>) -> Result<Response, Problem> {
    if state.stopping.is_cancelled() {
        return Err(Problem::new(
            Code::StorageUnavailable,
            "the server is stopping",
        ));
    }
    state
        .engine
        .ready()
        .map(|()| ([(CONTENT_TYPE, TEXT)], "ready\n").into_response())
        .map_err(|why| Problem::new(Code::StorageUnavailable, why))
}

/// Figures for Prometheus
///
/// Open to the machine itself; from elsewhere for operators, auditors, administrators, and keys
/// with the scope `metrics:read`.
#[utoipa::path(
    get, path = "/metrics", tag = "operations", operation_id = "metrics",
    security((), ("bearer" = [])),
    responses(
        (status = 200, description = "The figures, in the text format of Prometheus", body = String, content_type = "text/plain"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn metrics(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    Forwarded(is_forwarded): Forwarded,
    OptionalCaller(by): OptionalCaller,
) -> Result<Response, Problem> {
    match by {
        Some(by) if reads_metrics(&by) => {}
        Some(_) => {
            let detail =
                "the role of operator, auditor or admin, or the scope metrics:read is needed";
            return Err(Problem::new(Code::Forbidden, detail));
        }
        // A proxy on this machine forwards for others.
        None if address.is_loopback() && !is_forwarded => {}
        None => {
            let detail = "from another machine, send a key with the scope metrics:read";
            return Err(Problem::new(Code::Unauthenticated, detail));
        }
    }
    let text = state.metrics.as_ref().map(|recorder| {
        // Folds what was recorded into the histograms, so that they do not grow without end.
        recorder.run_upkeep();
        recorder.render()
    });
    let text = text.ok_or_else(|| {
        Problem::new(
            Code::NotFound,
            "this server was started without a recorder of metrics",
        )
    })?;
    Ok(([(CONTENT_TYPE, METRICS)], text).into_response())
}

fn reads_metrics(by: &Principal) -> bool {
    [Role::Operator, Role::Auditor, Role::Admin]
        .into_iter()
        .any(|role| by.has(role))
        || by.scopes.contains("metrics:read")
}

/// This document
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations", operation_id = "openapi",
    responses((status = 200, description = "The API in OpenAPI 3.1", content_type = "application/json"))
)]
pub(super) async fn openapi() -> Response {
    AxumJson(super::openapi()).into_response()
}

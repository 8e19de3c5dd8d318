//! Webhook endpoints: for administrators, and for services with the scope `webhooks:write`.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::webhook::{EndpointChange, EndpointId, NewEndpoint, WebhookError};
use http::StatusCode;
use http::header::LOCATION;

use super::body::OptionalBody;
use super::params::duration;
use super::{Body, Params};
use crate::auth::Caller;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

impl From<WebhookError> for Problem {
    fn from(error: WebhookError) -> Self {
        let detail = error.to_string();
        match error {
            WebhookError::Invalid { field, .. } => {
                let place = FieldError::new(format!("/{field}"), "invalid", detail.as_str());
                Self::new(Code::InvalidRequest, detail).at(vec![place])
            }
            WebhookError::NotFound => Self::new(Code::NotFound, detail),
            WebhookError::Forbidden(_) => Self::new(Code::Forbidden, detail),
            WebhookError::NotPossible(_) => Self::new(Code::NotPossible, detail),
            WebhookError::Store(source) => source.into(),
        }
    }
}

fn read_id(text: &str) -> Result<EndpointId, Problem> {
    text.parse().map_err(|_| WebhookError::NotFound.into())
}

fn reason(given: Option<String>) -> Result<String, Problem> {
    given.ok_or_else(|| Problem::new(Code::ReasonRequired, "say why, in a few words"))
}

/// List webhook endpoints
#[utoipa::path(
    get, path = "/v1/webhook-endpoints", tag = "webhooks", operation_id = "list_webhook_endpoints",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "Those that this credential may see", body = wire::WebhookEndpoints),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
) -> Result<AxumJson<wire::WebhookEndpoints>, Problem> {
    let endpoints = state.engine.webhooks(&by);
    Ok(AxumJson(wire::WebhookEndpoints {
        data: endpoints.iter().map(Into::into).collect(),
    }))
}

/// Create a webhook endpoint
///
/// The answer is the only time that the secret is shown.
#[utoipa::path(
    post, path = "/v1/webhook-endpoints", tag = "webhooks", operation_id = "create_webhook_endpoint",
    security(("bearer" = [])),
    request_body = wire::NewWebhookEndpoint,
    responses(
        (status = 201, description = "Created; `Location` names the endpoint", body = wire::WebhookSecret),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(state): State<AppState>,
    Caller(by): Caller,
    body: Body<wire::NewWebhookEndpoint>,
) -> Result<Response, Problem> {
    let new = body.value;
    let new = NewEndpoint {
        owner: new.owner.unwrap_or_default(),
        name: new.name,
        url: new.url,
        types: new.types,
        tools: new.tools,
        from: new.from,
    };
    let (endpoint, secret) = state.engine.create_webhook(&by, new).await?;
    let location = [(LOCATION, format!("/v1/webhook-endpoints/{}", endpoint.id))];
    let body = wire::WebhookSecret {
        secret: secret.expose().to_owned(),
        endpoint: (&endpoint).into(),
    };
    Ok((StatusCode::CREATED, location, AxumJson(body)).into_response())
}

/// Read a webhook endpoint
#[utoipa::path(
    get, path = "/v1/webhook-endpoints/{id}", tag = "webhooks", operation_id = "get_webhook_endpoint",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`whk_…`")),
    responses(
        (status = 200, description = "The endpoint", body = wire::WebhookEndpoint),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::WebhookEndpoint>, Problem> {
    let endpoint = state.engine.webhook(&by, read_id(&id)?)?;
    Ok(AxumJson((&endpoint).into()))
}

/// Change a webhook endpoint
///
/// Whatever is left out stays.
#[utoipa::path(
    patch, path = "/v1/webhook-endpoints/{id}", tag = "webhooks", operation_id = "change_webhook_endpoint",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`whk_…`")),
    request_body = wire::WebhookEndpointChange,
    responses(
        (status = 200, description = "The endpoint as it is now", body = wire::WebhookEndpoint),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn change(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    body: Body<wire::WebhookEndpointChange>,
) -> Result<AxumJson<wire::WebhookEndpoint>, Problem> {
    let change = EndpointChange {
        name: body.value.name,
        url: body.value.url,
        types: body.value.types,
        tools: body.value.tools,
        reason: body.value.reason,
    };
    let id = read_id(&id)?;
    let endpoint = state.engine.change_webhook(&by, id, change).await?;
    Ok(AxumJson((&endpoint).into()))
}

/// Delete a webhook endpoint
///
/// What is kept of its messages goes with it; its history stays in the log.
#[utoipa::path(
    delete, path = "/v1/webhook-endpoints/{id}", tag = "webhooks", operation_id = "delete_webhook_endpoint",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`whk_…`"),
        ("reason" = Option<String>, Query, description = "Why, for the history"),
    ),
    responses(
        (status = 204, description = "It is gone"),
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
    let id = read_id(&id)?;
    state.engine.delete_webhook(&by, id, reason).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Give a webhook endpoint a new secret
///
/// The answer is the only time that the secret is shown. The old one signs as well for the overlap.
#[utoipa::path(
    post, path = "/v1/webhook-endpoints/{id}/rotate", tag = "webhooks", operation_id = "rotate_webhook_endpoint",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`whk_…`")),
    request_body = wire::WebhookRotation,
    responses(
        (status = 200, description = "The new secret", body = wire::WebhookSecret),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn rotate(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::WebhookRotation>,
) -> Result<AxumJson<wire::WebhookSecret>, Problem> {
    let overlap = match body.overlap.as_deref().map(duration) {
        Some(None) => {
            let detail = "overlap must be one number and a unit, such as 90s, 30m, 24h or 7d";
            let place = FieldError::new("/overlap", "malformed", detail);
            return Err(Problem::new(Code::InvalidRequest, detail).at(vec![place]));
        }
        Some(overlap) => overlap,
        None => None,
    };
    let id = read_id(&id)?;
    let rotated = state.engine.rotate_webhook(&by, id, overlap, body.reason);
    let (endpoint, secret) = rotated.await?;
    Ok(AxumJson(wire::WebhookSecret {
        secret: secret.expose().to_owned(),
        endpoint: (&endpoint).into(),
    }))
}

/// Enable a webhook endpoint
///
/// It goes on where it stood, or after another position.
#[utoipa::path(
    post, path = "/v1/webhook-endpoints/{id}/enable", tag = "webhooks", operation_id = "enable_webhook_endpoint",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`whk_…`")),
    request_body = wire::WebhookEnabling,
    responses(
        (status = 200, description = "The endpoint as it is now", body = wire::WebhookEndpoint),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn enable(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::WebhookEnabling>,
) -> Result<AxumJson<wire::WebhookEndpoint>, Problem> {
    let (id, reason) = (read_id(&id)?, reason(body.reason)?);
    let enabled = state.engine.enable_webhook(&by, id, body.from, &reason);
    Ok(AxumJson((&enabled.await?).into()))
}

/// Disable a webhook endpoint
///
/// Nothing is sent any more; its place is kept.
#[utoipa::path(
    post, path = "/v1/webhook-endpoints/{id}/disable", tag = "webhooks", operation_id = "disable_webhook_endpoint",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`whk_…`")),
    request_body = wire::Reason,
    responses(
        (status = 200, description = "The endpoint as it is now", body = wire::WebhookEndpoint),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn disable(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::Reason>,
) -> Result<AxumJson<wire::WebhookEndpoint>, Problem> {
    let (id, reason) = (read_id(&id)?, reason(body.reason)?);
    let disabled = state.engine.disable_webhook(&by, id, &reason);
    Ok(AxumJson((&disabled.await?).into()))
}

/// Send a test to a webhook endpoint
///
/// At once and once, also to a disabled one.
#[utoipa::path(
    post, path = "/v1/webhook-endpoints/{id}/test", tag = "webhooks", operation_id = "test_webhook_endpoint",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`whk_…`")),
    responses(
        (status = 200, description = "What came of it", body = wire::WebhookDelivery),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn test(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::WebhookDelivery>, Problem> {
    let delivery = state.engine.test_webhook(&by, read_id(&id)?).await?;
    Ok(AxumJson((&delivery).into()))
}

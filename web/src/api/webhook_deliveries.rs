//! The messages to webhook endpoints.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use holdpoint_engine::webhook::{MessageId, WebhookError};

use super::Params;
use super::params::bad;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

fn read_id(text: &str) -> Result<MessageId, Problem> {
    text.parse().map_err(|_| WebhookError::NotFound.into())
}

/// List the messages to a webhook endpoint
///
/// The last 100 of them and 10 tests, with their latest attempts.
#[utoipa::path(
    get, path = "/v1/webhook-deliveries", tag = "webhooks", operation_id = "list_webhook_deliveries",
    security(("bearer" = [])),
    params(("endpoint" = String, Query, description = "`whk_…`")),
    responses(
        (status = 200, description = "The one that was sent last first", body = wire::WebhookDeliveries),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
    params: Params,
) -> Result<AxumJson<wire::WebhookDeliveries>, Problem> {
    let id = params
        .one("endpoint")?
        .ok_or_else(|| bad("endpoint", "missing", "say which endpoint: ?endpoint=whk_…"))?;
    let id = id.parse().map_err(|_| WebhookError::NotFound)?;
    let kept = state.engine.webhook_deliveries(&by, id)?;
    Ok(AxumJson(wire::WebhookDeliveries {
        data: kept.iter().map(Into::into).collect(),
    }))
}

/// Read a message to a webhook endpoint
#[utoipa::path(
    get, path = "/v1/webhook-deliveries/{id}", tag = "webhooks", operation_id = "get_webhook_delivery",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses(
        (status = 200, description = "The message with its latest attempts", body = wire::WebhookDelivery),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::WebhookDelivery>, Problem> {
    let delivery = state.engine.webhook_delivery(&by, read_id(&id)?)?;
    Ok(AxumJson((&delivery).into()))
}

/// Send an event to a webhook endpoint once more
///
/// At once and once, under the same id. If it is the one that the endpoint waits for and it is taken,
/// the endpoint goes on.
#[utoipa::path(
    post, path = "/v1/webhook-deliveries/{id}/redeliver", tag = "webhooks", operation_id = "redeliver_webhook",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`msg_…`")),
    responses(
        (status = 200, description = "What came of it", body = wire::WebhookDelivery),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn redeliver(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::WebhookDelivery>, Problem> {
    let delivery = state.engine.redeliver_webhook(&by, read_id(&id)?).await?;
    Ok(AxumJson((&delivery).into()))
}

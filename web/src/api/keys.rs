//! Keys of services and agents: for administrators.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::NewKey;
use holdpoint_engine::time::Timestamp;
use http::StatusCode;

use super::Body;
use super::body::OptionalBody;
use super::people::require_admin;
use crate::auth::Caller;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// List keys
#[utoipa::path(
    get, path = "/v1/keys", tag = "identity", operation_id = "list_keys",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "All keys, without their secrets", body = wire::Keys),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
) -> Result<AxumJson<wire::Keys>, Problem> {
    require_admin(&by)?;
    let keys = state.engine.identity().keys();
    Ok(AxumJson(wire::Keys {
        data: keys.iter().map(Into::into).collect(),
    }))
}

/// Create a key
///
/// The answer is the only time that the key itself is shown.
#[utoipa::path(
    post, path = "/v1/keys", tag = "identity", operation_id = "create_key",
    security(("bearer" = [])),
    request_body = wire::NewKey,
    responses(
        (status = 201, description = "Created", body = wire::KeyCreated),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(state): State<AppState>,
    Caller(by): Caller,
    body: Body<wire::NewKey>,
) -> Result<Response, Problem> {
    require_admin(&by)?;
    let new = body.value;
    let kind = match new.kind.as_str() {
        "service" => PrincipalKind::Service,
        "agent" => PrincipalKind::Agent,
        _ => {
            return Err(malformed(
                "/kind",
                "kind must be service or agent; people have no keys",
            ));
        }
    };
    let expires_at = match new.expires_at.as_deref().map(Timestamp::parse_rfc3339) {
        Some(None) => {
            let detail = "expires_at must be a time such as 2026-03-01T12:00:00Z";
            return Err(malformed("/expires_at", detail));
        }
        Some(moment) => moment,
        None => None,
    };
    let new = NewKey {
        kind,
        expires_at,
        name: new.name,
        owner: new.owner,
        scopes: new.scopes,
        attributes: new.attributes,
    };
    let (key, secret) = state.engine.identity().create_key(&by.id, new).await?;
    let body = wire::KeyCreated {
        secret: secret.expose().to_owned(),
        key: (&key).into(),
    };
    Ok((StatusCode::CREATED, AxumJson(body)).into_response())
}

fn malformed(pointer: &str, detail: &str) -> Problem {
    Problem::new(Code::InvalidRequest, detail).at(vec![FieldError::new(
        pointer,
        "malformed",
        detail,
    )])
}

/// Revoke a key
///
/// It stops working at once, for ever.
#[utoipa::path(
    post, path = "/v1/keys/{id}/revoke", tag = "identity", operation_id = "revoke_key",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`key_…`")),
    request_body = wire::Reason,
    responses(
        (status = 200, description = "The key as it is now", body = wire::Key),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn revoke(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    OptionalBody(body): OptionalBody<wire::Reason>,
) -> Result<AxumJson<wire::Key>, Problem> {
    require_admin(&by)?;
    let reason = body
        .reason
        .ok_or_else(|| Problem::new(Code::ReasonRequired, "say why the key is revoked"))?;
    let key = state
        .engine
        .identity()
        .revoke_key(&by.id, &id, &reason)
        .await?;
    Ok(AxumJson((&key).into()))
}

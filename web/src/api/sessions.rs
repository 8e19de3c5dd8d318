//! Sessions of people who use programs.

use axum::Json as AxumJson;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use holdpoint_engine::identity::{Secret, SessionKind};
use http::StatusCode;

use super::Body;
use crate::auth::{self, Bearer};
use crate::client::ClientAddress;
use crate::problem::{Code, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// Sign in
///
/// Answers a short-lived bearer token for programs that act as the person.
#[utoipa::path(
    post, path = "/v1/sessions", tag = "identity", operation_id = "sign_in",
    request_body = wire::SignIn,
    responses(
        (status = 201, description = "Signed in", body = wire::Session),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn sign_in(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    body: Body<wire::SignIn>,
) -> Result<Response, Problem> {
    let wire::SignIn { email, password } = body.value;
    let password = Secret::new(password);
    let identity = state.engine.identity();
    let (token, session, principal) = identity
        .sign_in(&email, &password, &address.to_string(), SessionKind::Api)
        .await?;
    let body = wire::Session {
        token: token.expose().to_owned(),
        expires_at: session.expires_at.rfc3339(),
        person: principal.id,
        name: principal.name,
        roles: principal
            .roles
            .iter()
            .map(|role| role.name().into())
            .collect(),
    };
    Ok((StatusCode::CREATED, AxumJson(body)).into_response())
}

/// Sign out
///
/// Ends the session whose token the request carries.
#[utoipa::path(
    delete, path = "/v1/sessions", tag = "identity", operation_id = "sign_out",
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The token no longer works"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn sign_out(
    State(state): State<AppState>,
    Bearer { token, .. }: Bearer,
) -> Result<StatusCode, Problem> {
    if !token.expose().starts_with(auth::SESSION_PREFIX) {
        return Err(Problem::new(
            Code::Forbidden,
            "an API key is not a session; an administrator can revoke it",
        ));
    }
    state.engine.identity().end_session(token.expose()).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! What can be called.

use axum::Json as AxumJson;
use axum::extract::State;

use crate::auth::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// List the tools
///
/// Every tool of the tools file, with its class, its schema and the scopes that it asks for; and those
/// that every run has (`built_in`), where this server has them.
#[utoipa::path(
    get, path = "/v1/tools", tag = "tools", operation_id = "list_tools",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The tools", body = wire::Tools),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    _caller: Caller,
) -> Result<AxumJson<wire::Tools>, Problem> {
    let data = state
        .engine
        .registry()
        .iter()
        .map(|tool| wire::Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            safety_class: tool.class.name().into(),
            digest: tool.digest.to_string(),
            input: tool
                .input
                .as_ref()
                .map(|schema| wire::Json::value(schema.source())),
            required_scopes: tool.required_scopes.clone(),
            built_in: tool.is_built_in(),
        })
        .collect();
    Ok(AxumJson(wire::Tools { data }))
}

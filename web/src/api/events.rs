//! The log, in order.

use axum::Json as AxumJson;
use axum::extract::State;

use super::actions::limit;
use super::params::Params;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// Read the log
///
/// Every event after a position, in the order in which they happened. Only for those who may see
/// everything. Remember `next_after`, and nothing is missed or read twice.
#[utoipa::path(
    get, path = "/v1/events", tag = "history", operation_id = "list_events",
    security(("bearer" = [])),
    params(
        ("after" = Option<u64>, Query, description = "The position of the last event that is known already; from the start where it is left out"),
        ("limit" = Option<usize>, Query, description = "At most this many, 1 to 1,000; 200 where it is left out"),
    ),
    responses(
        (status = 200, description = "The events", body = wire::Events),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
    params: Params,
) -> Result<AxumJson<wire::Events>, Problem> {
    let after = params
        .parsed("after", "a position in the log")?
        .unwrap_or(0);
    let entries = state.engine.events(&by, after, limit(&params)?)?;
    let next_after = entries.last().map_or(after, |entry| entry.position);
    let data = entries.iter().map(Into::into).collect();
    Ok(AxumJson(wire::Events { data, next_after }))
}

//! The receipt of an action.

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::action::ActionId;
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::identity::Principal;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

use super::actions::action_id;
use crate::auth::Caller;
use crate::limits;
use crate::problem::{Code, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// The receipt of a final action
///
/// JSON, or text to print with `Accept: text/plain`. It lists the hash of every record behind it.
#[utoipa::path(
    get, path = "/v1/actions/{id}/receipt", tag = "actions", operation_id = "get_receipt",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`act_…`")),
    responses(
        (status = 200, description = "The receipt", content(
            (wire::Receipt = "application/json"),
            (String = "text/plain"),
        )),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn receipt(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = action_id(&id)?;
    let found = state.engine.get(&by, id)?;
    let status = found.action.status();
    if !status.is_final() {
        let detail = format!(
            "the action is {}; a receipt exists once it is final",
            status.name()
        );
        return Err(Problem::new(Code::NotFinal, detail).about(&id, Some(status.name())));
    }
    let history = whole_history(&state, &by, id)?;
    let receipt = wire::Receipt::new(wire::Action::new(&found.action, false), &history);
    let wants_text = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.trim_start().starts_with("text/plain"));
    if wants_text {
        let media_type = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
        return Ok((media_type, receipt.to_text()).into_response());
    }
    Ok(AxumJson(receipt).into_response())
}

fn whole_history(
    state: &AppState,
    by: &Principal,
    id: ActionId,
) -> Result<Vec<HistoryEntry>, Problem> {
    let mut entries: Vec<HistoryEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |entry| entry.version);
        let more = state.engine.history(by, id, after, limits::EVENTS_MAX)?;
        let is_last = more.len() < limits::EVENTS_MAX;
        entries.extend(more);
        if is_last {
            return Ok(entries);
        }
    }
}

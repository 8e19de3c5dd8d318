//! Submitting and reading actions.

use std::time::Duration;

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::action::ActionId;
use holdpoint_engine::engine::{Submission, Submitted, Versioned};
use holdpoint_engine::time::Timestamp;
use http::header::{ETAG, IF_NONE_MATCH, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::params::{Params, bad, duration};
use super::{Body, idempotency, wait};
use crate::auth::Caller;
use crate::limits;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Reads the id in an address; what is not an id names nothing.
pub(super) fn action_id(text: &str) -> Result<ActionId, Problem> {
    text.parse()
        .map_err(|error| Problem::new(Code::NotFound, format!("there is no such action: {error}")))
}

/// Submit an action
///
/// Proposes one call of one tool. What needs no approval is accepted, what is idempotent is called
/// and answered at once. With the same `Idempotency-Key` and body, or the same key of the tool and
/// arguments, the first action is answered again.
#[utoipa::path(
    post, path = "/v1/actions", tag = "actions", operation_id = "submit_action",
    security(("bearer" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters, quoted or bare; the same for every try of one request. Kept for ever, for this credential: with the same body the first action is answered again, with another one it is 422. May be left out: then each request is a new one, unless the tool has a key of its own"),
        ("wait" = Option<String>, Query, description = "Wait until the action is final, up to 60 s", example = "30s"),
    ),
    request_body = wire::Submission,
    responses(
        (status = 201, description = "Durable; `Location` names it", body = wire::Action),
        (status = 200, description = "There before (`Idempotency-Replayed: true`), or an idempotent tool's answer", body = wire::Submitted),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn submit(
    State(state): State<AppState>,
    Caller(by): Caller,
    params: Params,
    headers: HeaderMap,
    body: Body<wire::Submission>,
) -> Result<Response, Problem> {
    let at_most = wait::asked(&params, &headers)?;
    let request_key = idempotency::request_key(&headers, "POST /v1/actions", &body.canonical())?;
    let submission = Submission {
        // From the value that was read strictly, not from text that would be read again.
        args: body.json.get("args").cloned().unwrap_or_default(),
        tool: body.value.tool,
        reason: body.value.reason,
        labels: body.value.labels,
        expires_in: body
            .value
            .expires_in
            .as_deref()
            .map(expires_in)
            .transpose()?,
        not_before: body
            .value
            .not_before
            .as_deref()
            .map(not_before)
            .transpose()?,
        request_key,
    };
    let tool = submission.tool.clone();
    match state.engine.submit(&by, submission).await? {
        Submitted::Answered(answered) => {
            Ok(AxumJson(wire::Answered::new(&tool, &answered)).into_response())
        }
        Submitted::Action { action, replayed } => {
            let found = wait::for_end(&state, &by, *action, at_most).await?;
            let status = if replayed {
                StatusCode::OK
            } else {
                StatusCode::CREATED
            };
            let mut response = (status, action_json(&state, &found, replayed)).into_response();
            let headers = response.headers_mut();
            let location = format!("/v1/actions/{}", found.action.id);
            headers.insert(LOCATION, header(&location)?);
            headers.insert(ETAG, etag(&found)?);
            note_replay(headers, replayed);
            note_wait(headers, at_most);
            Ok(response)
        }
    }
}

/// Says that the first answer is given again.
pub(super) fn note_replay(headers: &mut HeaderMap, replayed: bool) {
    if replayed {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
}

fn not_before(text: &str) -> Result<Timestamp, Problem> {
    Timestamp::parse_rfc3339(text).ok_or_else(|| {
        let detail = "not_before must be a moment as in 2026-12-01T08:00:00Z, with its zone";
        Problem::new(Code::InvalidRequest, detail).at(vec![FieldError::new(
            "/not_before",
            "malformed",
            detail,
        )])
    })
}

fn expires_in(text: &str) -> Result<Duration, Problem> {
    duration(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| {
            let detail = "expires_in must be a whole number and a unit: 90s, 30m, 24h, 7d";
            Problem::new(Code::InvalidRequest, detail).at(vec![FieldError::new(
                "/expires_in",
                "malformed",
                detail,
            )])
        })
}

/// Read an action
///
/// With `wait`, answers as soon as the action is another one than `If-None-Match` names (or than it
/// was when the request came), or when the time is up.
#[utoipa::path(
    get, path = "/v1/actions/{id}", tag = "actions", operation_id = "get_action",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`act_…`"),
        ("wait" = Option<String>, Query, description = "Wait for a change, up to 60 s", example = "30s"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` that is known already"),
    ),
    responses(
        (status = 200, description = "The action; `ETag` changes with every event", body = wire::Action),
        (status = 304, description = "Nothing has changed"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = action_id(&id)?;
    let at_most = wait::asked(&params, &headers)?;
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let mut found = state.engine.get(&by, id)?;
    let is_known = |found: &Versioned| known.is_some_and(|tags| matches(tags, &tag(found)));
    let may_wait = !at_most.is_zero() && !found.action.status().is_final();
    if may_wait && (known.is_none() || is_known(&found)) {
        found = wait::for_change(&state, &by, id, found.version, at_most).await?;
    }
    let mut response = if is_known(&found) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        action_json(&state, &found, false).into_response()
    };
    response.headers_mut().insert(ETAG, etag(&found)?);
    note_wait(response.headers_mut(), at_most);
    Ok(response)
}

/// The history of an action
///
/// Its events, in order, after `after`.
#[utoipa::path(
    get, path = "/v1/actions/{id}/events", tag = "actions", operation_id = "get_action_events",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`act_…`"),
        ("after" = Option<u64>, Query, description = "The version of the last event that is known already"),
        ("limit" = Option<usize>, Query, description = "At most this many, 1 to 1,000; 200 where it is left out"),
    ),
    responses(
        (status = 200, description = "The events", body = wire::Events),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn history(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<AxumJson<wire::Events>, Problem> {
    let id = action_id(&id)?;
    let after = params.parsed("after", "a version")?.unwrap_or(0);
    let entries = state.engine.history(&by, id, after, limit(&params)?)?;
    let next_after = entries.last().map_or(after, |entry| entry.version);
    let data = entries.iter().map(Into::into).collect();
    Ok(AxumJson(wire::Events { data, next_after }))
}

/// How many events are asked for.
pub(super) fn limit(params: &Params) -> Result<usize, Problem> {
    let limit = params
        .parsed("limit", "a number")?
        .unwrap_or(limits::EVENTS_DEFAULT);
    if (1..=limits::EVENTS_MAX).contains(&limit) {
        return Ok(limit);
    }
    let max = limits::EVENTS_MAX;
    Err(bad(
        "limit",
        "out_of_range",
        format!("limit must be from 1 to {max}"),
    ))
}

pub(super) fn action_json(
    state: &AppState,
    found: &Versioned,
    replayed: bool,
) -> AxumJson<wire::Action> {
    let mut action = wire::Action::new(&found.action, replayed);
    if let Some(approval) = &mut action.approval {
        let short = state.engine.shortages(&found.action);
        approval.short = short.iter().map(ToString::to_string).collect();
    }
    AxumJson(action)
}

fn tag(found: &Versioned) -> String {
    format!("\"{}\"", found.version)
}

pub(super) fn etag(found: &Versioned) -> Result<HeaderValue, Problem> {
    header(&tag(found))
}

pub(super) fn header(text: &str) -> Result<HeaderValue, Problem> {
    // Ids and numbers are always visible ASCII.
    HeaderValue::from_str(text)
        .map_err(|_| Problem::new(Code::Internal, "the server made a malformed header"))
}

/// Weak comparison, as RFC 9110 asks for here.
pub(super) fn matches(tags: &str, tag: &str) -> bool {
    tags.split(',')
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

pub(super) fn note_wait(headers: &mut HeaderMap, waited: Duration) {
    if !waited.is_zero()
        && let Ok(value) = HeaderValue::from_str(&format!("wait={}", waited.as_secs()))
    {
        headers.insert(APPLIED, value);
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn entity_tags_are_compared_weakly() {
        assert!(matches("\"3\"", "\"3\""));
        assert!(matches("W/\"3\", \"9\"", "\"3\""));
        assert!(matches("*", "\"3\""));
        assert!(!matches("\"30\"", "\"3\""));
    }
}

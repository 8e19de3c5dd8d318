//! Listing actions.

use axum::Json as AxumJson;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use holdpoint_engine::action::Status;
use holdpoint_engine::engine::{ListOrder, ListQuery};
use holdpoint_engine::time::Timestamp;
use http::HeaderValue;
use http::header::LINK;

use super::params::{Params, bad, nearest};
use crate::auth::Caller;
use crate::limits;
use crate::problem::{Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// List actions
///
/// Those that the credential may see, a page at a time. Under new arrivals, pages neither drop nor
/// repeat an action. A cursor is good for the filters that it came with.
#[utoipa::path(
    get, path = "/v1/actions", tag = "actions", operation_id = "list_actions",
    security(("bearer" = [])),
    params(
        ("status" = Option<String>, Query, description = "Only these statuses; several with commas"),
        ("tool" = Option<String>, Query, description = "Only this tool"),
        ("caller" = Option<String>, Query, description = "Only what this `per_…` or `key_…` asked for"),
        ("label.KEY" = Option<String>, Query, description = "Only with this value of the label KEY; may be repeated with other keys"),
        ("from" = Option<String>, Query, description = "Only submitted at or after this moment (RFC 3339)"),
        ("to" = Option<String>, Query, description = "Only submitted before this moment (RFC 3339)"),
        ("q" = Option<String>, Query, description = "Only with this text in the summary, the tool, the caller's name, a label or the id"),
        ("order" = Option<String>, Query, description = "`newest` (the default), or `due` for what is due first"),
        ("limit" = Option<usize>, Query, description = "At most this many, 1 to 200; 50 where it is left out"),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before"),
    ),
    responses(
        (status = 200, description = "One page; `Link: <…>; rel=\"next\"` where there is another", body = wire::List),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
    params: Params,
) -> Result<Response, Problem> {
    let page = state.engine.list(&by, &query(&params)?)?;
    let data = page
        .actions
        .iter()
        .map(|found| wire::Action::new(&found.action, false))
        .collect();
    let link = page
        .next_cursor
        .as_deref()
        .and_then(|cursor| next_link("/v1/actions", &params, cursor));
    let body = wire::List {
        data,
        next_cursor: page.next_cursor,
    };
    let mut response = AxumJson(body).into_response();
    if let Some(link) = link {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

fn query(params: &Params) -> Result<ListQuery, Problem> {
    let limit = page_limit(params)?;
    let text = |name| params.one(name).map(|value| value.map(str::to_owned));
    let mut labels = std::collections::BTreeMap::new();
    for (key, value) in params.labels() {
        if labels.insert(key.to_owned(), value.to_owned()).is_some() {
            let name = format!("label.{key}");
            return Err(bad(
                &name,
                "repeated",
                format!("the parameter {name} is there more than once"),
            ));
        }
    }
    Ok(ListQuery {
        statuses: statuses(params)?,
        tool: text("tool")?,
        caller: text("caller")?,
        labels,
        from: moment(params, "from")?,
        to: moment(params, "to")?,
        text: text("q")?,
        order: order(params)?,
        limit,
        cursor: text("cursor")?,
    })
}

/// How many entries a page of a list may have.
pub(super) fn page_limit(params: &Params) -> Result<usize, Problem> {
    let limit = params
        .parsed("limit", "a number")?
        .unwrap_or(limits::LIST_DEFAULT);
    if (1..=limits::LIST_MAX).contains(&limit) {
        return Ok(limit);
    }
    let detail = format!("limit must be from 1 to {}", limits::LIST_MAX);
    Err(bad("limit", "out_of_range", detail))
}

fn statuses(params: &Params) -> Result<Vec<Status>, Problem> {
    params
        .all("status")
        .flat_map(|list| list.split(','))
        .map(|name| {
            Status::parse(name).ok_or_else(|| {
                let names: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
                let hint = nearest(name, &names)
                    .map_or_else(|| names.join(", "), |near| format!("did you mean {near}?"));
                bad(
                    "status",
                    "unknown_status",
                    format!("there is no status {name}: {hint}"),
                )
            })
        })
        .collect()
}

fn moment(params: &Params, name: &str) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = params.one(name)? else {
        return Ok(None);
    };
    Timestamp::parse_rfc3339(text).map(Some).ok_or_else(|| {
        bad(
            name,
            "malformed",
            format!("{name} must be a time such as 2026-03-01T12:00:00Z"),
        )
    })
}

fn order(params: &Params) -> Result<ListOrder, Problem> {
    match params.one("order")? {
        None | Some("newest") => Ok(ListOrder::NewestFirst),
        Some("due") => Ok(ListOrder::DueFirst),
        Some(_) => Err(bad("order", "malformed", "order must be newest or due")),
    }
}

/// Where the next page of a list is.
pub(super) fn next_link(path: &str, params: &Params, cursor: &str) -> Option<HeaderValue> {
    let pairs: Vec<String> = params
        .without("cursor")
        .chain([("cursor", cursor)])
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    HeaderValue::from_str(&format!("<{path}?{}>; rel=\"next\"", pairs.join("&"))).ok()
}

/// Everything but unreserved characters (RFC 3986) as percent escapes.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            other => {
                use std::fmt::Write as _;
                // Writing to a string does not fail.
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn a_link_escapes_what_would_end_it() {
        assert_eq!(encode("a b&c>\"é"), "a%20b%26c%3E%22%C3%A9");
    }
}

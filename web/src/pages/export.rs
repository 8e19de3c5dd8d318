//! The history as a file: what the filter finds, for those who may see all.
//!
//! CSV is for spreadsheets, which run what looks like a formula: such cells begin with an
//! apostrophe. Its texts are written as they are shown, on one line. JSON lines hold them exactly.

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use holdpoint_engine::action::Action;
use holdpoint_engine::engine::ListQuery;
use holdpoint_engine::seeded::Bug;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::json;

use super::error::PageError;
use super::history::Filter;
use super::shell::Visit;
use crate::auth::Viewer;
use crate::display::Shown;
use crate::state::AppState;
use crate::wire;

const COLUMNS: &str = "id,created_at,updated_at,status,tool,safety_class,summary,caller_id,\
    caller_name,caller_kind,revision,digest,idempotency_key,args,reason,labels,votes,attempts\r\n";

/// `GET /history/export.csv`.
pub(super) async fn csv(visit: Visit, Query(filter): Query<Filter>) -> Result<Response, PageError> {
    export(
        &visit,
        filter,
        "csv",
        "text/csv; charset=utf-8",
        COLUMNS,
        csv_line,
    )
}

/// `GET /history/export.jsonl`.
pub(super) async fn jsonl(
    visit: Visit,
    Query(filter): Query<Filter>,
) -> Result<Response, PageError> {
    export(&visit, filter, "jsonl", "application/jsonl", "", json_line)
}

fn export(
    visit: &Visit,
    mut filter: Filter,
    extension: &str,
    media_type: &'static str,
    head: &'static str,
    line: fn(&Action) -> String,
) -> Result<Response, PageError> {
    visit.with_sight()?;
    let Some(viewer) = visit.browser.clone().map(Viewer::from) else {
        return Err(PageError::Internal);
    };
    let mut query = filter.read();
    if !filter.is_readable() {
        return Err(PageError::BadRequest(
            "The filter cannot be read. Set it on the history page and export from there.".into(),
        ));
    }
    query.cursor = None;
    query.limit = 200;
    let first = stream::iter([Ok(Bytes::from_static(head.as_bytes()))]);
    let chunks = lines(visit.state.clone(), viewer, query, line);
    let body = Body::from_stream(stream::StreamExt::chain(first, chunks));
    let name = format!("attachment; filename=\"holdpoint-history.{extension}\"");
    Ok((
        [
            (CONTENT_TYPE, media_type.to_owned()),
            (CONTENT_DISPOSITION, name),
        ],
        body,
    )
        .into_response())
}

/// Chunk by chunk, so that a long history is never held in memory. An error cuts the answer off,
/// which the receiver sees: a shortened export never looks whole. So does the end of the session, or
/// a change of what its person may see.
fn lines(
    state: AppState,
    viewer: Viewer,
    query: ListQuery,
    line: fn(&Action) -> String,
) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> {
    let first = Some((state, viewer, query));
    stream::unfold(first, move |next| async move {
        let (state, viewer, mut query) = next?;
        if !viewer.is_current(&state).await {
            tracing::warn!("an export was cut off: its reader may not see it any more");
            let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            return Some((Err(error), None));
        }
        match state.engine.list(&viewer.principal, &query) {
            Ok(page) => {
                let text: String = page.actions.iter().map(|it| line(&it.action)).collect();
                query.cursor = page.next_cursor;
                let next = query.cursor.is_some().then_some((state, viewer, query));
                Some((Ok(Bytes::from(text)), next))
            }
            Err(error) => {
                tracing::error!(%error, "an export was cut off");
                Some((Err(std::io::Error::other(error)), None))
            }
        }
    })
}

fn csv_line(action: &Action) -> String {
    let proposal = &action.proposal;
    let shown = |text: &str| Shown::line(text).plain();
    let votes: Vec<_> = action
        .approval
        .iter()
        .flat_map(|approval| &approval.votes)
        .map(|cast| format!("{} {} {}", cast.voter.id, cast.vote.name(), cast.at))
        .collect();
    let cells = [
        action.id.to_string(),
        action.created_at.rfc3339(),
        action.updated_at.rfc3339(),
        action.status().name().to_owned(),
        shown(&proposal.tool),
        proposal.class.name().to_owned(),
        shown(&proposal.summary),
        shown(&proposal.caller.id),
        shown(&proposal.caller.name),
        proposal.caller.kind.name().to_owned(),
        action.revision.to_string(),
        proposal.digest.to_string(),
        shown(&proposal.idempotency_key),
        shown(proposal.args.as_str()),
        shown(proposal.reason.as_deref().unwrap_or_default()),
        shown(&json!(proposal.labels).to_string()),
        shown(&votes.join("; ")),
        action.attempts.len().to_string(),
    ];
    let cells: Vec<_> = cells.iter().map(|cell| csv_cell(cell)).collect();
    format!("{}\r\n", cells.join(","))
}

/// A cell in quotes; with an apostrophe before it where a spreadsheet would take it for a formula.
fn csv_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'])
        && !is_decimal(text)
        && !Bug::CsvRaw.is_on();
    let guard = if is_formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// `-12` and `-0.5`, and nothing else.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    match text.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part),
        None => digits(text),
    }
}

/// As the API shows an action.
fn json_line(action: &Action) -> String {
    let line = wire::Action::new(action, false);
    // What is made of strings and JSON always becomes JSON.
    serde_json::to_string(&line).map_or_else(|_| String::new(), |line| format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i24_a_cell_never_becomes_a_formula() {
        for formula in [
            "=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "-", "-1.", "--1",
        ] {
            let cell = csv_cell(formula);
            assert!(cell.starts_with("\"'"), "{cell}");
        }
        for plain in ["1", "-12", "-0.5", "abc", "", "a=b"] {
            assert_eq!(csv_cell(plain), format!("\"{plain}\""));
        }
        assert_eq!(csv_cell("a\"b"), "\"a\"\"b\"");
    }
}

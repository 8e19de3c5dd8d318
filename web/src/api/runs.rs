//! Starting and reading runs.

use std::time::Duration;

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::engine::RunQuery;
use holdpoint_engine::identity::Principal;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, Run, RunError, RunId, RunStatus};
use http::header::{ETAG, IF_NONE_MATCH, LINK, LOCATION};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::actions::{header, matches, note_replay, note_wait};
use super::actions_list::{next_link, page_limit};
use super::params::{Params, bad, nearest};
use super::{Body, idempotency, wait};
use crate::auth::Caller;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// Reads the id in an address; what is not an id names nothing.
pub(super) fn run_id(text: &str) -> Result<RunId, Problem> {
    text.parse()
        .map_err(|error| Problem::new(Code::NotFound, format!("there is no such run: {error}")))
}

/// Start a run
///
/// Of a skill file, or of a workflow that the server's program registered. It is durable when this
/// answers, and goes on by itself, also after a restart of the server. Needs the role requester, or a
/// key with the scope `runs`; `allow_writes` needs `runs:writes` besides, `yes` also
/// `runs:destructive`.
#[utoipa::path(
    post, path = "/v1/runs", tag = "runs", operation_id = "start_run",
    security(("bearer" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters, quoted or bare; the same for every try of one request. With the same body the first run is answered again, with another one it is 422. The values of secret inputs are not compared. Kept for ever, for this credential, together with the keys of actions")),
    request_body = wire::NewRun,
    responses(
        (status = 201, description = "Durable; `Location` names it", body = wire::Run),
        (status = 200, description = "There before (`Idempotency-Replayed: true`)", body = wire::Run),
        (status = "default", description = "A problem; the mistakes of a skill file have `line`, `column` and `help`", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn start(
    State(state): State<AppState>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body<wire::NewRun>,
) -> Result<Response, Problem> {
    let key = idempotency::key(&headers)?;
    let new = NewRun {
        what: origin(&body.value, &body.json)?,
        flags: Flags {
            allow_writes: body.value.allow_writes,
            yes: body.value.yes,
            stage: body.value.stage,
        },
        unattended: true,
        schedule: None,
        continues: None,
    };
    let (run, replayed) = state
        .engine
        .start_run_once(&by, new, key.as_deref())
        .await?;
    let status = if replayed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let mut response = (status, answer(&state, &run)?).into_response();
    let place = header(&format!("/v1/runs/{}", run.id))?;
    response.headers_mut().insert(LOCATION, place);
    note_replay(response.headers_mut(), replayed);
    Ok(response)
}

/// What is to be carried out: of the two kinds exactly one, with what belongs to it.
pub(super) fn origin(new: &wire::NewRun, json: &Value) -> Result<NewOrigin, Problem> {
    let misplaced = |names: &[&str], kind: &str| {
        let member = names.iter().find(|name| json.get(**name).is_some())?;
        let detail = format!("{member} is for a run of a {kind}");
        let place = FieldError::new(format!("/{member}"), "misplaced", detail.as_str());
        Some(Problem::new(Code::InvalidRequest, detail).at(vec![place]))
    };
    let refusal = match (&new.skill, &new.workflow) {
        (Some(text), None) => match misplaced(&["version", "input"], "workflow") {
            None => {
                // From the value that was read strictly, not from text that would be read again.
                let inputs = json.get("inputs").and_then(Value::as_object);
                let inputs = inputs.into_iter().flatten();
                return Ok(NewOrigin::Skill {
                    text: text.clone(),
                    inputs: Inputs::Values(
                        inputs
                            .map(|(name, value)| (name.clone(), value.clone()))
                            .collect(),
                    ),
                    ignore_manifest: new.ignore_manifest,
                });
            }
            Some(problem) => problem,
        },
        (None, Some(name)) => {
            let skills = ["inputs", "allow_writes", "yes", "stage", "ignore_manifest"];
            match misplaced(&skills, "skill file") {
                None => {
                    return Ok(NewOrigin::Code {
                        name: name.clone(),
                        version: new.version,
                        input: json.get("input").cloned().unwrap_or_default(),
                    });
                }
                Some(problem) => problem,
            }
        }
        (Some(_), Some(_)) => {
            let detail = "a run is of a skill file or of a workflow, not of both";
            let place = FieldError::new("/workflow", "misplaced", detail);
            Problem::new(Code::InvalidRequest, detail).at(vec![place])
        }
        (None, None) => {
            let detail = "say what to run: skill, the text of a skill file, or workflow, a name";
            let place = FieldError::new("/skill", "missing", detail);
            Problem::new(Code::InvalidRequest, detail).at(vec![place])
        }
    };
    Err(refusal)
}

/// List runs
///
/// Those that the credential may see, the newest first, a page at a time. A page may have fewer than
/// `limit` where a filter is rare, and there is more as long as there is a cursor.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs", operation_id = "list_runs",
    security(("bearer" = [])),
    params(
        ("status" = Option<String>, Query, description = "Only these statuses; several with commas"),
        ("name" = Option<String>, Query, description = "Only of the skill file or workflow of this name"),
        ("schedule" = Option<String>, Query, description = "Only those that this schedule started"),
        ("limit" = Option<usize>, Query, description = "At most this many, 1 to 200; 50 where it is left out"),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before"),
    ),
    responses(
        (status = 200, description = "One page; `Link: <…>; rel=\"next\"` where there is another", body = wire::Runs),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
    params: Params,
) -> Result<Response, Problem> {
    let asked = statuses(&params)?;
    let before = params.one("cursor")?.map(str::parse).transpose();
    let before = before.map_err(|_| {
        let detail = "the cursor is not one of this list; start again without it";
        Problem::new(Code::BadCursor, detail)
    })?;
    let text = |name| params.one(name).map(|value| value.map(str::to_owned));
    let query = RunQuery {
        statuses: in_log(&asked),
        name: text("name")?,
        schedule: text("schedule")?,
        limit: page_limit(&params)?,
        before,
    };
    let page = state.engine.runs(&by, &query)?;
    let shown = page
        .runs
        .iter()
        .map(|run| wire::RunSummary::new(run, state.engine.is_run_carried_on(run.id)));
    // Whether anybody carries a run on is not in the log.
    let is_asked = |run: &wire::RunSummary| asked.is_empty() || asked.contains(&run.status);
    let next_cursor = page.next.map(|id| id.to_string());
    let link = next_cursor
        .as_deref()
        .and_then(|cursor| next_link("/v1/runs", &params, cursor));
    let body = wire::Runs {
        data: shown.filter(is_asked).collect(),
        next_cursor,
    };
    let mut response = AxumJson(body).into_response();
    if let Some(link) = link {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

fn statuses(params: &Params) -> Result<Vec<String>, Problem> {
    let known = || RunStatus::ALL.iter().map(|status| status.name());
    let names: Vec<&str> = known().chain([wire::INTERRUPTED]).collect();
    params
        .all("status")
        .flat_map(|list| list.split(','))
        .map(|name| {
            if names.contains(&name) {
                return Ok(name.to_owned());
            }
            let hint = nearest(name, &names)
                .map_or_else(|| names.join(", "), |near| format!("did you mean {near}?"));
            let detail = format!("there is no status {name}: {hint}");
            Err(bad("status", "unknown_status", detail))
        })
        .collect()
}

/// The statuses of the log in which the runs of some shown statuses are.
pub(crate) fn in_log(shown: &[String]) -> Vec<RunStatus> {
    let interrupted = shown.iter().any(|name| name == wire::INTERRUPTED);
    RunStatus::ALL
        .into_iter()
        .filter(|status| {
            shown.iter().any(|name| name == status.name()) || (interrupted && !status.is_final())
        })
        .collect()
}

/// Read a run
///
/// With its receipt so far. With `wait`, answers as soon as the run has more events than `after` (or
/// is another one than `If-None-Match` names, or than it was when the request came), or when the time
/// is up. A run that nobody carries on is `interrupted`, and says what to do.
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs", operation_id = "get_run",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "`run_…`"),
        ("wait" = Option<String>, Query, description = "Wait for a change, up to 60 s", example = "30s"),
        ("after" = Option<u64>, Query, description = "The number of `events` that is known already"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` that is known already"),
    ),
    responses(
        (status = 200, description = "The run; `ETag` changes with every event", body = wire::Run),
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
    let id = run_id(&id)?;
    let at_most = wait::asked(&params, &headers)?;
    let after = params.parsed::<u64>("after", "a number of events")?;
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let mut run = state.engine.run(&by, id)?;
    let is_known = |run: &Run| known.is_some_and(|tags| matches(tags, &tag(&state, run)));
    let may_wait = !at_most.is_zero() && run.ended.is_none();
    let is_news = match after {
        Some(after) => after < run.events,
        None => known.is_some() && !is_known(&run),
    };
    if may_wait && !is_news {
        let known = after.unwrap_or(run.events).max(run.events);
        run = changed(&state, &by, id, known, at_most).await?;
    }
    let mut response = if is_known(&run) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        answer(&state, &run)?.into_response()
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, header(&tag(&state, &run))?);
    note_wait(headers, at_most);
    Ok(response)
}

/// Waits until the run has another number of events, the time is up, or the server stops.
async fn changed(
    state: &AppState,
    by: &Principal,
    id: RunId,
    known: u64,
    at_most: Duration,
) -> Result<std::sync::Arc<Run>, RunError> {
    tokio::select! {
        biased;
        changed = state.engine.wait_run(by, id, known, at_most) => changed,
        () = state.stopping.cancelled() => state.engine.run(by, id),
    }
}

/// The receipt of a run
///
/// What each step came to, so far where the run is not over.
#[utoipa::path(
    get, path = "/v1/runs/{id}/receipt", tag = "runs", operation_id = "get_run_receipt",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`run_…`")),
    responses(
        (status = 200, description = "The receipt", body = wire::RunReceipt),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn receipt(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::RunReceipt>, Problem> {
    let run = state.engine.run(&by, run_id(&id)?)?;
    Ok(AxumJson(shown(&state, &run).receipt))
}

/// Changes with every event, and where the run is left behind or gone on with.
fn tag(state: &AppState, run: &Run) -> String {
    let is_carried_on = run.ended.is_some() || state.engine.is_run_carried_on(run.id);
    let mark = if is_carried_on { "" } else { "-interrupted" };
    format!("\"{}{mark}\"", run.events)
}

fn shown(state: &AppState, run: &Run) -> wire::Run {
    let receipt = state.engine.receipt(run);
    wire::Run::new(run, &receipt, state.engine.is_run_carried_on(run.id))
}

/// A run as an answer, with its entity tag.
pub(super) fn answer(state: &AppState, run: &Run) -> Result<Response, Problem> {
    let mut response = AxumJson(shown(state, run)).into_response();
    response
        .headers_mut()
        .insert(ETAG, header(&tag(state, run))?);
    Ok(response)
}

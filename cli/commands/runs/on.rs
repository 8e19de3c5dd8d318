//! What can be done to runs, in a folder or through a server; both answer the same JSON.

use std::time::Duration;

use holdpoint::client::RunFilter;
use holdpoint_engine::engine::{RunQuery, receipt_in, run_in, runs_in};
use holdpoint_engine::run::{RunId, RunStatus, RunSummary};
use holdpoint_engine::time::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::{INTERRUPTED, ListArgs};
use crate::commands::run::{Place, open_folder, receipt_of, refused, reopen, run_id, to_value};
use crate::failure::Outcome;
use crate::output::Output;

/// How long calling off may take: until what is on its way has ended.
const CANCEL_TIME: Duration = Duration::from_mins(1);

/// How long calls on their way may take to end.
const STOPPING_TIME: Duration = Duration::from_secs(10);

/// One page.
pub(super) async fn list(place: &Place, args: &ListArgs, output: Output) -> Outcome<Value> {
    let folder = match place {
        Place::Folder(folder) => folder,
        Place::Server(client) => {
            let filter = RunFilter {
                statuses: args.status.clone(),
                name: args.name.clone(),
                limit: Some(args.limit),
                cursor: args.cursor.clone(),
            };
            return Ok(client.runs(&filter).await?);
        }
    };
    let query = RunQuery {
        statuses: args.status.iter().map(|name| in_log(name)).collect(),
        name: args.name.clone(),
        schedule: None,
        limit: usize::from(args.limit),
        before: args.cursor.as_deref().map(run_id).transpose()?,
    };
    let log = open_folder(folder, output)?;
    let page = runs_in(log.as_ref(), &query);
    log.close().await;
    let page = page.map_err(|error| refused(&error))?;
    Ok(json!({
        "data": page.runs.iter().map(summary).collect::<Vec<_>>(),
        "next_cursor": page.next.map(|id| id.to_string()),
    }))
}

/// The status in the log of runs that are shown with this one.
fn in_log(name: &str) -> RunStatus {
    RunStatus::parse(name).unwrap_or(RunStatus::Running)
}

fn summary(run: &RunSummary) -> Value {
    let status = match run.status {
        // Whoever carried it on held the folder, and is gone.
        RunStatus::Running => INTERRUPTED,
        other => other.name(),
    };
    json!({
        "id": run.id.to_string(),
        "status": status,
        "name": run.name,
        "kind": if run.is_skill { "skill" } else { "workflow" },
        "caller": run.caller,
        "caller_name": run.caller_name,
        "schedule": run.schedule,
        "unattended": run.unattended,
        "passed": run.passed,
        "steps": run.made,
        "message": run.message,
        "created_at": run.created_at.rfc3339(),
        "updated_at": run.updated_at.rfc3339(),
    })
}

/// The receipt of one.
pub(super) async fn show(place: &Place, id: RunId, output: Output) -> Outcome<Value> {
    let folder = match place {
        Place::Folder(folder) => folder,
        Place::Server(client) => return Ok(receipt_of(client.run(&id.to_string()).await?)),
    };
    let log = open_folder(folder, output)?;
    let run = run_in(log.as_ref(), id);
    let receipt = run.map(|run| receipt_in(log.as_ref(), &run, SystemClock.now()));
    log.close().await;
    to_value(&receipt.map_err(|error| refused(&error))?)
}

/// Calls one off, and answers its receipt once it is over.
pub(super) async fn cancel(
    place: &Place,
    id: RunId,
    reason: Option<String>,
    output: Output,
) -> Outcome<Value> {
    let folder = match place {
        Place::Folder(folder) => folder,
        Place::Server(client) => {
            let run = client
                .cancel_run(&id.to_string(), reason.as_deref())
                .await?;
            return Ok(receipt_of(run));
        }
    };
    let house = reopen(folder, output).await?;
    let done = async {
        let engine = &house.engine;
        let mut run = engine.cancel_run(&house.by, id, reason).await?;
        let until = tokio::time::Instant::now() + CANCEL_TIME;
        while run.ended.is_none() && tokio::time::Instant::now() < until {
            let wait = Duration::from_secs(1);
            run = engine.wait_run(&house.by, id, run.events, wait).await?;
        }
        Ok(engine.receipt(&run))
    };
    let done = done.await;
    house.close(STOPPING_TIME).await;
    to_value(&done.map_err(|error| refused(&error))?)
}

/// Sends one an event.
pub(super) async fn signal(
    place: &Place,
    id: RunId,
    name: &str,
    data: &Value,
    output: Output,
) -> Outcome<Value> {
    let folder = match place {
        Place::Folder(folder) => folder,
        Place::Server(client) => {
            let run = client.signal_run(&id.to_string(), name, data).await?;
            return Ok(receipt_of(run));
        }
    };
    let house = reopen(folder, output).await?;
    let run = house.engine.signal_run(&house.by, id, name, data).await;
    let receipt = run.map(|run| house.engine.receipt(&run));
    house.close(STOPPING_TIME).await;
    to_value(&receipt.map_err(|error| refused(&error))?)
}

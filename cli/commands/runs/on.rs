//! What can be done to runs, in a folder or through a server; both answer the same JSON.

use std::time::{Duration, Instant};

use holdpoint::client::{Client, RunFilter, encoded};
use holdpoint_engine::engine::{RunQuery, receipt_in, run_in, runs_in};
use holdpoint_engine::run::{RunId, RunStatus, RunSummary};
use holdpoint_engine::time::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::{INTERRUPTED, ListArgs};
use crate::commands::pause::Watch;
use crate::commands::run::{
    Folder, Place, in_doubt, is_open, open_folder, receipt_of, refused, reopen, run_id, shell,
    to_value,
};
use crate::failure::Outcome;
use crate::output::{Output, field};

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
        Place::Server(client) => {
            let run = client.run(&id.to_string()).await?;
            if is_open(&run) {
                Watch::default().tell(client, output).await;
            }
            return Ok(receipt_of(run));
        }
    };
    let log = open_folder(folder, output)?;
    let run = run_in(log.as_ref(), id);
    let receipt = run.map(|run| receipt_in(log.as_ref(), &run, SystemClock.now()));
    log.close().await;
    to_value(&receipt.map_err(|error| refused(&error))?)
}

/// What became of the wish to call a run off.
pub(super) struct CalledOff {
    pub(super) receipt: Value,
    /// Why it is not over yet, and what to do; none where it is.
    pub(super) goes_on: Option<String>,
}

/// Calls one off, and waits until it is over, or somebody else has to do something first.
pub(super) async fn cancel(
    place: &Place,
    id: RunId,
    reason: Option<String>,
    output: Output,
) -> Outcome<CalledOff> {
    match place {
        Place::Folder(folder) => cancel_here(folder, id, reason, output).await,
        Place::Server(client) => cancel_there(client, id, reason).await,
    }
}

async fn cancel_here(
    folder: &Folder,
    id: RunId,
    reason: Option<String>,
    output: Output,
) -> Outcome<CalledOff> {
    let house = reopen(folder, output).await?;
    let done = async {
        let engine = &house.engine;
        let mut run = engine.cancel_run(&house.by, id, reason).await?;
        let until = Instant::now() + CANCEL_TIME;
        let mut doubt = None;
        let mut is_told = false;
        while run.ended.is_none() && Instant::now() < until {
            doubt = in_doubt(&house, &run);
            if doubt.is_some() {
                break;
            }
            let wait = Duration::from_secs(1);
            let known = run.events;
            run = engine.wait_run(&house.by, id, known, wait).await?;
            if !is_told && run.events == known {
                output.note("noted; waiting for the end of the call that is on its way");
                is_told = true;
            }
        }
        Ok((engine.receipt(&run), run.ended.is_some(), doubt))
    };
    let done = done.await;
    house.close(STOPPING_TIME).await;
    let (receipt, is_over, doubt) = done.map_err(|error| refused(&error))?;
    let data = shell(&folder.data.display().to_string());
    let goes_on = match (is_over, doubt) {
        (true, _) => None,
        (false, Some(action)) => Some(format!(
            "{}; serve the folder (holdpoint serve --data {data}), settle the action there, and call the run off once more",
            must_be_settled(&action.to_string())
        )),
        (false, None) => Some(
            "noted; a call is still on its way: call the run off once more when it has ended"
                .to_owned(),
        ),
    };
    Ok(CalledOff {
        receipt: to_value(&receipt)?,
        goes_on,
    })
}

async fn cancel_there(client: &Client, id: RunId, reason: Option<String>) -> Outcome<CalledOff> {
    let id = id.to_string();
    let mut run = client.cancel_run(&id, reason.as_deref()).await?;
    let until = Instant::now() + CANCEL_TIME;
    let mut doubt = None;
    while is_open(&run) && Instant::now() < until {
        doubt = in_doubt_there(client, &run).await;
        if doubt.is_some() {
            break;
        }
        let known = run.get("events").and_then(Value::as_u64).unwrap_or(0);
        let wait = Duration::from_secs(1);
        run = client.wait_for_run(&id, known, wait).await?;
    }
    let goes_on = match (is_open(&run), doubt) {
        (false, _) => None,
        (true, Some(action)) => Some(format!(
            "{}; the run ends by itself then",
            must_be_settled(&action)
        )),
        (true, None) => {
            Some("noted; a call is still on its way, and the run ends when that has".to_owned())
        }
    };
    Ok(CalledOff {
        receipt: receipt_of(run),
        goes_on,
    })
}

fn must_be_settled(action: &str) -> String {
    format!("noted; the call of {action} is in doubt and must be settled first")
}

/// The call of a run of which nobody knows what became of it.
async fn in_doubt_there(client: &Client, run: &Value) -> Option<String> {
    let steps = run.pointer("/receipt/steps").and_then(Value::as_array)?;
    let waiting = steps
        .iter()
        .filter(|step| field(step, "/outcome") == "waiting");
    for id in waiting.map(|step| field(step, "/action")) {
        let action = client.get(&format!("/v1/actions/{}", encoded(&id))).await;
        if action.is_ok_and(|action| field(&action.body, "/status") == "unknown") {
            return Some(id);
        }
    }
    None
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
            let key = format!("cli-{}", holdpoint::client::random_key()?);
            let id = id.to_string();
            let run = client.signal_run(&id, name, data, &key).await?;
            return Ok(receipt_of(run));
        }
    };
    let house = reopen(folder, output).await?;
    let run = house.engine.signal_run(&house.by, id, name, data).await;
    let receipt = run.map(|run| house.engine.receipt(&run));
    house.close(STOPPING_TIME).await;
    to_value(&receipt.map_err(|error| refused(&error))?)
}

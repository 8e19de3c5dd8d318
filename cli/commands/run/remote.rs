//! A run on a server: started, followed and gone on with over the API.

use std::time::{Duration, Instant};

use holdpoint::client::{Client, Error};
use holdpoint_engine::run::RunId;
use holdpoint_engine::time::{Entropy as _, SystemEntropy};
use serde_json::{Map, Value, json};

use super::RunArgs;
use super::embedded::interrupted;
use super::paper::Paper;
use super::plan::Job;
use super::receipt::{Printer, exit_code};
use crate::commands::pause::Watch;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::field;

/// The longest that one request asks the server to wait.
const POLL_MAX: Duration = Duration::from_secs(30);

/// The shortest time between two requests, for a server that does not wait.
const POLL_MIN: Duration = Duration::from_millis(100);

/// Starts a run, and follows it.
pub(super) async fn start(args: &RunArgs, client: &Client, job: &Job, paper: Paper) -> Outcome {
    let body = json!({
        "skill": job.skill.text(),
        "inputs": inputs(job)?,
        "allow_writes": args.allow_writes,
        "yes": args.yes,
        "stage": args.stage,
        "ignore_manifest": args.ignore_manifest,
    });
    let mut key = [0; 16];
    SystemEntropy
        .fill(&mut key)
        .map_err(|error| Failure::because("cannot make a key", &error))?;
    let key = format!("cli-{:032x}", u128::from_be_bytes(key));
    let run = client.start_run(&body, &key).await.map_err(of_request)?;
    let started = format!("{} started", field(&run, "/id"));
    paper.output.note(&escape::text(&started));
    follow(args, client, run, paper).await
}

/// Goes on with a run. One that has passed is only shown.
pub(super) async fn resume(
    args: &RunArgs,
    client: &Client,
    id: RunId,
    secrets: Vec<(String, String)>,
    paper: Paper,
) -> Outcome {
    let id = id.to_string();
    let run = client.run(&id).await?;
    if run.get("status").and_then(Value::as_str) == Some("passed") {
        return follow(args, client, run, paper).await;
    }
    let secrets: Map<String, Value> = secrets
        .into_iter()
        .map(|(name, text)| (name, Value::String(text)))
        .collect();
    let mut how = Map::from_iter([("secrets".to_owned(), Value::Object(secrets))]);
    // What is left out stays as it is.
    let more = args.flags();
    for (name, is_on) in [
        ("allow_writes", more.allow_writes),
        ("yes", more.yes),
        ("stage", more.stage),
    ] {
        if is_on {
            how.insert(name.to_owned(), Value::Bool(true));
        }
    }
    let how = Value::Object(how);
    let run = client.resume_run(&id, &how).await.map_err(of_request)?;
    follow(args, client, run, paper).await
}

/// The variables that were given, each of the type that the file says.
pub(in crate::commands) fn inputs(job: &Job) -> Outcome<Map<String, Value>> {
    let mut inputs = Map::new();
    for (name, text) in &job.given {
        let value = match job.skill.inputs.get(name) {
            // It was read so before.
            Some(input) => input
                .kind
                .value_of(text)
                .map_err(|why| Failure::usage(format!("the variable {name:?} {why}")))?,
            None => Value::String(text.clone()),
        };
        inputs.insert(name.clone(), value);
    }
    Ok(inputs)
}

/// What is wrong with the body is wrong with the command line or the file.
pub(in crate::commands) fn of_request(error: Error) -> Failure {
    let status = error.problem().map(|problem| problem.status);
    let failure = Failure::from(error);
    match status {
        Some(400 | 413 | 415 | 422) => failure.with_code(ExitCode::Usage),
        _ => failure,
    }
}

/// Whether a run is not over, as a server tells it.
pub(in crate::commands) fn is_open(run: &Value) -> bool {
    ["running", "waiting"].contains(&field(run, "/status").as_str())
}

/// The receipt in an answer of the server.
pub(crate) fn receipt_of(mut run: Value) -> Value {
    run.get_mut("receipt").map_or(Value::Null, Value::take)
}

async fn follow(args: &RunArgs, client: &Client, run: Value, paper: Paper) -> Outcome {
    let output = paper.output;
    let id = field(&run, "/id");
    let place = escape::text(&format!("{}/runs/{id}", client.server()));
    let printer = Printer::new(paper);
    if args.detach {
        printer.finish(&receipt_of(run));
        output.note(&format!("it goes on by itself: {place}"));
        Watch::default().tell(client, output).await;
        return Ok(ExitCode::Pending);
    }
    let at_most = args.wait.flatten();
    tokio::select! {
        outcome = watch(client, run, at_most, printer) => {
            let (code, status) = outcome?;
            match status.as_str() {
                INTERRUPTED => return Err(stuck(&id)),
                "waiting" => output.note(&format!("it waits for people or a worker: {place}")),
                "running" => output.note(&format!("it goes on by itself: {place}")),
                _ => {}
            }
            Ok(code)
        }
        () = interrupted() => {
            output.note(&format!("the run goes on by itself: {place}"));
            Ok(ExitCode::Interrupted)
        }
    }
}

/// The status of a run that nobody carries on, and that is not over.
const INTERRUPTED: &str = "interrupted";

fn stuck(id: &str) -> Failure {
    Failure::failed("nobody carries the run on; the log of the server says why").help(format!(
        "when the cause is gone: holdpoint run --resume {id} --server URL, with its secret inputs"
    ))
}

/// Prints the run until it is over or the time is; answers its status then.
async fn watch(
    client: &Client,
    mut run: Value,
    at_most: Option<Duration>,
    mut printer: Printer,
) -> Outcome<(ExitCode, String)> {
    let id = field(&run, "/id");
    let began = Instant::now();
    let (mut pause, mut is_still) = (Watch::default(), true);
    while is_open(&run) {
        printer.update(run.get("receipt").unwrap_or(&Value::Null));
        if is_still && let Some(words) = pause.look(client).await {
            printer.note(&words);
        }
        let left = at_most.map_or(POLL_MAX, |at_most| at_most.saturating_sub(began.elapsed()));
        if left.is_zero() {
            break;
        }
        let asked = Instant::now();
        let events = run.get("events").and_then(Value::as_u64).unwrap_or(0);
        run = client.wait_for_run(&id, events, left.min(POLL_MAX)).await?;
        is_still = run.get("events").and_then(Value::as_u64) == Some(events);
        if let Some(rest) = POLL_MIN.checked_sub(asked.elapsed()) {
            tokio::time::sleep(rest).await;
        }
    }
    let (code, status) = (exit_code(&run), field(&run, "/status"));
    printer.finish(&receipt_of(run));
    Ok((code, status))
}

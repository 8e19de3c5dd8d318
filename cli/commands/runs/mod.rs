//! `holdpoint runs`: runs that were started, in a folder or behind a server.

mod on;

use clap::{ArgMatches, Args, Subcommand};
use holdpoint_engine::run::RunStatus;
use serde_json::Value;

use crate::commands::run::{Place, RunPlaceArgs, describe, exit_code, run_id};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// What to do with runs.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, the newest first
    #[command(visible_alias = "list")]
    Ls(ListArgs),
    /// Print the receipt of one
    Show(ShowArgs),
    /// Call one off: what waits is taken back, and nothing more is begun
    Cancel(CancelArgs),
    /// Send one an event that its code waits for
    Signal(SignalArgs),
}

/// The arguments of `runs ls`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only this status; may be given several times
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<String>,
    /// Only of the skill or workflow of that name
    #[arg(long)]
    name: Option<String>,
    /// At most this many, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    place: RunPlaceArgs,
}

/// The arguments of `runs show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The run, run_…
    id: String,
    #[command(flatten)]
    place: RunPlaceArgs,
}

/// The arguments of `runs cancel`.
#[derive(Args, Debug)]
pub(crate) struct CancelArgs {
    /// The run, run_…
    id: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    place: RunPlaceArgs,
}

/// The arguments of `runs signal`.
#[derive(Args, Debug)]
pub(crate) struct SignalArgs {
    /// The run, run_…
    id: String,
    /// The name of the event
    name: String,
    /// What comes with it
    #[arg(long, value_name = "JSON", default_value = "null")]
    payload: String,
    #[command(flatten)]
    place: RunPlaceArgs,
}

/// Runs one of them.
pub(crate) async fn run(command: RunsCommand, matches: &ArgMatches, output: Output) -> Outcome {
    match command {
        RunsCommand::Ls(args) => list(&args, matches, output).await,
        RunsCommand::Show(args) => {
            let id = run_id(&args.id)?;
            let place = args.place.resolve(matches, output)?;
            let receipt = on::show(&place, id, output).await?;
            print(&receipt, output)
        }
        RunsCommand::Cancel(args) => {
            let id = run_id(&args.id)?;
            let place = args.place.resolve(matches, output)?;
            let off = on::cancel(&place, id, args.reason, output).await?;
            let code = print(&off.receipt, output)?;
            let Some(why) = off.goes_on else {
                return Ok(code);
            };
            output.note(&escape::text(&why));
            Ok(ExitCode::Pending)
        }
        RunsCommand::Signal(args) => signal(&args, matches, output).await,
    }
}

async fn list(args: &ListArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let place: Place = args.place.resolve(matches, output)?;
    let page = on::list(&place, args, output).await?;
    if output.json {
        output.value(&page)?;
        return Ok(ExitCode::Ok);
    }
    let runs = page
        .get("data")
        .and_then(Value::as_array)
        .ok_or_else(|| Failure::failed("the server answered without a list"))?;
    if runs.is_empty() {
        output.note("no runs");
        return Ok(ExitCode::Ok);
    }
    output.table(
        ["id", "status", "name", "started", "by", "message"],
        runs.iter().map(|run| {
            [
                "/id",
                "/status",
                "/name",
                "/created_at",
                "/caller_name",
                "/message",
            ]
            .map(|pointer| field(run, pointer))
        }),
    )?;
    if let Some(cursor) = page.get("next_cursor").and_then(Value::as_str) {
        let cursor = escape::text(cursor);
        output.note(&format!("there are more: --cursor {cursor}"));
    }
    Ok(ExitCode::Ok)
}

async fn signal(args: &SignalArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let id = run_id(&args.id)?;
    let data: Value = serde_json::from_str(&args.payload).map_err(|error| {
        Failure::because("the payload is not JSON", &error)
            .with_code(ExitCode::Usage)
            .help("pass --payload '{\"name\": \"value\"}'")
    })?;
    let place = args.place.resolve(matches, output)?;
    let receipt = on::signal(&place, id, &args.name, &data, output).await?;
    if output.json {
        output.value(&receipt)?;
    } else {
        let words = format!("{id} {}", field(&receipt, "/status"));
        output.line(&escape::text(&words))?;
    }
    Ok(ExitCode::Ok)
}

/// Prints a receipt. Whoever only looks has what was asked for, however the run ended.
fn print(receipt: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(receipt)?;
    } else {
        output.line(describe(receipt).trim_end())?;
    }
    Ok(match exit_code(receipt) {
        ExitCode::Pending => ExitCode::Ok,
        code => code,
    })
}

/// The status of a run that nobody carries on, and that is not over.
const INTERRUPTED: &str = "interrupted";

fn status(text: &str) -> Result<String, String> {
    if text == INTERRUPTED || RunStatus::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    let names = RunStatus::ALL.map(RunStatus::name).join(", ");
    Err(format!("a run is one of {names}, {INTERRUPTED}"))
}

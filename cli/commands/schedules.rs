//! `holdpoint schedules`: runs of a server that begin by themselves.

use clap::{Args, Subcommand};
use holdpoint::client::{Client, encoded};
use holdpoint_engine::schedule::ScheduleId;
use holdpoint_engine::tool::Registry;
use reqwest::Method;
use serde_json::{Value, json};

use super::run::{Job, VarArgs, inputs, of_request};
use crate::client::{self, ServerArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// List schedules
    #[command(visible_alias = "list")]
    Ls(ListArgs),
    /// Make a schedule that runs a skill file
    Add(Box<AddArgs>),
    /// Show one schedule
    Show(OneArgs),
    /// Start a run of it now, whether it is due or not
    Run(OneArgs),
    /// Start nothing by itself until it is resumed
    Pause(ReasonArgs),
    /// Start runs again, from now on
    Resume(OneArgs),
    /// Take it away; its runs and its history stay
    Rm(ReasonArgs),
}

/// The arguments of `schedules ls`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of commands about one schedule.
#[derive(Args, Debug)]
pub(crate) struct OneArgs {
    /// The schedule, sch_…
    id: ScheduleId,
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of `schedules pause` and `schedules rm`.
#[derive(Args, Debug)]
pub(crate) struct ReasonArgs {
    /// The schedule, sch_…
    id: ScheduleId,
    /// Why, for the history
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of `schedules add`.
#[derive(Args, Debug)]
#[command(after_help = "\
A time that the clock leaves out in spring is due right after the gap; one that it shows twice in autumn is
due once. What was missed while the server was down is made up for by one run.

Example:
  holdpoint schedules add SKILL.md --name nightly --cron '30 2 * * *' --zone Europe/Berlin --allow-writes")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct AddArgs {
    /// The skill file, or `-` for stdin; the server keeps its text
    #[arg(value_name = "SKILL.md")]
    skill: String,
    /// What it is called
    #[arg(long)]
    name: String,
    /// When: minute, hour, day of month, month, day of week
    #[arg(long, value_name = "PATTERN")]
    cron: String,
    /// The time zone
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
    /// Let a run begin while the one before goes on
    #[arg(long)]
    overlap: bool,
    #[command(flatten)]
    vars: VarArgs,
    /// Make idempotent writes
    #[arg(long)]
    allow_writes: bool,
    /// Make destructive steps too
    #[arg(long)]
    yes: bool,
    /// Put what no flag allows before people
    #[arg(long)]
    stage: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs one of them.
pub(crate) async fn run(command: SchedulesCommand, output: Output) -> Outcome {
    match command {
        SchedulesCommand::Ls(args) => {
            let client = client::connect(&args.server)?;
            list(&client, output).await
        }
        SchedulesCommand::Add(args) => add(&args, output).await,
        SchedulesCommand::Show(args) => {
            let client = client::connect(&args.server)?;
            let found = client.get(&path(args.id, "")).await?;
            print(&found.body, output)
        }
        SchedulesCommand::Run(args) => {
            let client = client::connect(&args.server)?;
            let run = client.post(&path(args.id, "/run"), &json!({})).await?;
            if output.json {
                output.value(&run.body)?;
            } else {
                output.line(&escape::text(&field(&run.body, "/id")))?;
            }
            Ok(ExitCode::Ok)
        }
        SchedulesCommand::Pause(args) => {
            let client = client::connect(&args.server)?;
            let body = json!({ "reason": args.reason });
            let paused = client.post(&path(args.id, "/pause"), &body).await?;
            print(&paused.body, output)
        }
        SchedulesCommand::Resume(args) => {
            let client = client::connect(&args.server)?;
            let resumed = client.post(&path(args.id, "/resume"), &json!({})).await?;
            print(&resumed.body, output)
        }
        SchedulesCommand::Rm(args) => {
            let client = client::connect(&args.server)?;
            let rest = format!("?reason={}", encoded(&args.reason));
            let request = client.request(Method::DELETE, &path(args.id, &rest));
            client.send(request).await?;
            output.note("it is deleted; its runs and its history stay");
            Ok(ExitCode::Ok)
        }
    }
}

async fn list(client: &Client, output: Output) -> Outcome {
    let found = client.get("/v1/schedules").await?.body;
    if output.json {
        output.value(&found)?;
        return Ok(ExitCode::Ok);
    }
    let all = found.get("data").and_then(Value::as_array);
    let all = all.ok_or_else(|| Failure::failed("the server answered without a list"))?;
    if all.is_empty() {
        output.note("no schedules; make one with `holdpoint schedules add`");
        return Ok(ExitCode::Ok);
    }
    let columns = ["/id", "/name", "/words", "/next/0", "/last_run", "/paused"];
    output.table(
        ["id", "name", "when", "next", "last run", "paused"],
        all.iter()
            .map(|schedule| columns.map(|pointer| field(schedule, pointer))),
    )?;
    Ok(ExitCode::Ok)
}

async fn add(args: &AddArgs, output: Output) -> Outcome {
    let registry = Registry::default().with_built_in();
    let job = Job::read(&args.skill, registry, &args.vars)?;
    let body = json!({
        "name": args.name, "cron": args.cron, "zone": args.zone, "overlap": args.overlap,
        "run": {
            "skill": job.skill.text(), "inputs": inputs(&job)?, "allow_writes": args.allow_writes, "yes": args.yes,
            "stage": args.stage,
        },
    });
    let client = client::connect(&args.server)?;
    let made = client
        .post("/v1/schedules", &body)
        .await
        .map_err(of_request)?;
    print(&made.body, output)
}

fn print(schedule: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(schedule)?;
        return Ok(ExitCode::Ok);
    }
    for (label, pointer) in [
        ("id", "/id"),
        ("name", "/name"),
        ("when", "/words"),
        ("next", "/next/0"),
        ("skill", "/skill"),
        ("workflow", "/workflow"),
        ("last run", "/last_run"),
        ("last left out", "/last_skipped"),
        ("paused", "/paused"),
    ] {
        let value = field(schedule, pointer);
        if value != "-" {
            output.line(&escape::text(&format!("{label:<14}{value}")))?;
        }
    }
    Ok(ExitCode::Ok)
}

fn path(id: ScheduleId, rest: &str) -> String {
    format!("/v1/schedules/{id}{rest}")
}

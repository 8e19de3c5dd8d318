//! What a step of a run costs: `cargo bench --bench runs [-- FOLDER]`.
//!
//! A workflow of a thousand steps in code, on a log on this disk: steps that read, and steps that write.
//! A step that reads is two durable appends (it begins, it ends), one that writes is an action and six or
//! so. So each figure stands beside the raw durable append of the same log, and beside the same calls
//! without a run. It
//! asserts nothing: figures belong to a machine. The folder is where the temporary files go; without one,
//! the system's own.

#[expect(dead_code, reason = "the command needs more of it")]
#[path = "../cli/commands/bench/disk.rs"]
mod disk;
#[expect(dead_code, reason = "the command needs more of it")]
#[path = "../cli/commands/bench/rate.rs"]
mod rate;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdpoint_engine::engine::{Engine, Options, RunOptions, Submission, Submitted};
use holdpoint_engine::identity::Principal;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::{Flags, NewOrigin, NewRun, RunStatus};
use holdpoint_engine::target::Locals;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, SledLog, SledOptions};
use serde_json::json;

/// Steps of one run.
const STEPS: u32 = 1000;

/// How long appends are measured.
const TIME: Duration = Duration::from_secs(3);

/// The most appends that are measured.
const APPENDS: u64 = 20_000;

async fn calls(ctx: Context, tool: String) -> Result<(), Failure> {
    for n in 0..STEPS {
        ctx.call(&tool, json!({ "n": n })).await?;
    }
    Ok(())
}

async fn notes(ctx: Context, _: String) -> Result<(), Failure> {
    for _ in 0..STEPS {
        ctx.now().await;
    }
    Ok(())
}

async fn open(folder: &Path) -> Result<Engine, Box<dyn Error>> {
    let tools = json!({ "tools": {
        "read": { "execute": { "local": "read" }, "safetyClass": "idempotent" },
        "write": { "execute": { "local": "write" }, "safetyClass": "write-once-checkable" },
    } });
    let tools = ToolsFile::from_str(&tools.to_string(), Format::Json)?;
    let log: Arc<dyn EventLog> = Arc::new(SledLog::open(folder, &SledOptions::default())?);
    let options = Options {
        locals: Locals::default()
            .with("read", async |call| Ok(call.args))
            .with("write", async |call| Ok(call.args)),
        runs: RunOptions {
            workflows: Workflows::default()
                .with("calls", 1, calls)
                .with("notes", 1, notes),
            ..RunOptions::default()
        },
        ..Options::default()
    };
    Ok(Engine::open(log, Arc::new(tools.registry), options).await?)
}

fn me() -> Principal {
    Principal::local("bench", std::collections::BTreeSet::new())
}

/// How long a step of a run takes, and how many appends it is.
async fn step(engine: &Engine, name: &str, tool: &str) -> Result<(Duration, f64), Box<dyn Error>> {
    let new = NewRun {
        what: NewOrigin::Code {
            name: name.to_owned(),
            version: None,
            input: json!(tool),
        },
        flags: Flags::default(),
        unattended: false,
        schedule: None,
        continues: None,
    };
    let before = engine.log().stats()?;
    let start = Instant::now();
    let mut run = engine.start_run(&me(), new).await?;
    while run.ended.is_none() {
        run = engine
            .wait_run(&me(), run.id, run.events, Duration::from_mins(1))
            .await?;
    }
    let time = start.elapsed();
    if run.status() != RunStatus::Passed {
        return Err("a run did not pass".into());
    }
    let records = engine.log().stats()?.records - before.records;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    Ok((time / STEPS, records as f64 / f64::from(STEPS)))
}

/// How long the same call takes without a run around it: until it is over.
async fn bare(engine: &Engine, tool: &str) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    for n in 0..STEPS {
        let call = Submission {
            tool: tool.to_owned(),
            args: json!({ "n": n }),
            reason: None,
            labels: std::collections::BTreeMap::new(),
            expires_in: None,
            not_before: None,
            request_key: None,
        };
        if let Submitted::Action { mut action, .. } = engine.submit(&me(), call).await? {
            while !action.action.status().is_final() {
                let (id, known) = (action.action.id, action.version);
                *action = engine
                    .wait(&me(), id, known, Duration::from_mins(1))
                    .await?;
            }
        }
    }
    Ok(start.elapsed() / STEPS)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Cargo itself passes flags; the first other word is a folder.
    let folder = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let parent = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::Builder::new()
        .prefix("holdpoint-runs-")
        .tempdir_in(parent)?;
    let appends = disk::appends(&folder.path().join("raw"), 1, TIME, APPENDS).await?;
    let append = Duration::from_secs_f64(1.0 / appends.rate.per_second());
    let engine = open(&folder.path().join("log")).await?;
    let mut out = io::stdout();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    writeln!(
        out,
        "In {}, a run of {STEPS} steps",
        folder.path().display()
    )?;
    writeln!(
        out,
        "{:<34} {:>9.3} ms",
        "one durable append, raw",
        ms(append)
    )?;
    for (what, name, tool) in [
        ("one moment of the time", "notes", None),
        ("one step that reads", "calls", Some("read")),
        ("one step that writes", "calls", Some("write")),
    ] {
        let (time, records) = step(&engine, name, tool.unwrap_or_default()).await?;
        writeln!(
            out,
            "{what:<34} {:>9.3} ms, {records:.1} records, {:.1} times the raw append",
            ms(time),
            time.as_secs_f64() / append.as_secs_f64(),
        )?;
        let Some(tool) = tool else { continue };
        let call = bare(&engine, tool).await?;
        writeln!(
            out,
            "{:<34} {:>9.3} ms; the step costs {:.3} ms more, {:.1} times the raw append",
            "  the same call without a run",
            ms(call),
            ms(time) - ms(call),
            (ms(time) - ms(call)) / ms(append),
        )?;
    }
    engine.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

//! `holdpoint bench`: what this machine and its disk give.
//!
//! Everything runs in this process on a temporary data folder: the log, the engine, the server on
//! loopback, a small shop, and the clients. The load generator shares the machine, as it says.
//!
//! * `disk`: the device by itself, then appends. `world`: server, people, shop.
//! * `load`: submissions, whole actions, the time from approval to call. `figures`: numbers.

mod disk;
mod figures;
mod load;
mod shop;
mod world;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use self::figures::Rate;
use self::world::World;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The most actions that one run leaves waiting: about 2 GiB on disk.
const WAITING_MAX: u32 = 1_000_000;

/// The arguments of `bench`.
#[derive(Args, Debug)]
#[command(after_help = "\
It needs no server and leaves nothing behind. Name a folder on the disk that is to be measured with --folder.")]
pub(crate) struct BenchArgs {
    /// One second a figure instead of five, and fewer probes
    #[arg(long)]
    quick: bool,
    /// How many actions wait while the time from approval to call is measured; several with commas
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1000,100000",
        value_parser = clap::value_parser!(u32).range(0..=i64::from(WAITING_MAX))
    )]
    waiting: Vec<u32>,
    /// Where to make the temporary folder [default: the current folder]
    #[arg(long, default_value = ".")]
    folder: PathBuf,
}

/// How long and how much.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// For each rate.
    time: Duration,
    /// The most operations of one rate.
    count: u64,
    /// How many times from approval to call.
    probes: usize,
    /// For filling the queue, each time.
    fill: Duration,
}

/// Measures, one figure after another, and prints them as they come.
pub(crate) fn run(args: &BenchArgs, output: Output) -> Outcome {
    let bounds = if args.quick {
        Bounds {
            time: Duration::from_secs(1),
            count: 20_000,
            probes: 50,
            fill: Duration::from_mins(1),
        }
    } else {
        Bounds {
            time: Duration::from_secs(5),
            count: 100_000,
            probes: 300,
            fill: Duration::from_mins(5),
        }
    };
    let folder = Scratch::make(&args.folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("cannot start", &error))?;
    let mut report = Report {
        output,
        rows: Vec::new(),
    };
    runtime.block_on(measure(args, bounds, &folder.0, &mut report))?;
    drop(runtime);
    if output.json {
        output.value(&Value::Object(report.rows.into_iter().collect()))?;
    }
    Ok(ExitCode::Ok)
}

async fn measure(
    args: &BenchArgs,
    bounds: Bounds,
    folder: &Path,
    report: &mut Report,
) -> Outcome<()> {
    let syncs = disk::syncs(folder, bounds)?;
    report.rate("fdatasync of 4 KiB, 1 thread", "syncs_per_second", syncs)?;
    for writers in [1, 64] {
        let (rate, per_sync) =
            disk::appends(&folder.join(format!("appends-{writers}")), writers, bounds).await?;
        report.rate(
            &format!("appends, {writers} writers, {per_sync:.1} a sync"),
            &format!("appends_per_second_{writers}"),
            rate,
        )?;
        report.keep(
            &format!("appends_per_sync_{writers}"),
            json!(figures::rounded(per_sync)),
        );
    }
    let world = World::open(&folder.join("data")).await?;
    let result = with_server(args, bounds, &world, report).await;
    world.close().await;
    result
}

async fn with_server(
    args: &BenchArgs,
    bounds: Bounds,
    world: &World,
    report: &mut Report,
) -> Outcome<()> {
    for clients in [1, 64] {
        let rate = load::stage(world, clients, bounds).await?;
        report.rate(
            &format!("staged over HTTP, {clients} clients"),
            &format!("staged_per_second_{clients}"),
            rate,
        )?;
    }
    let before = figures::written_bytes();
    let rate = load::complete(world, 64, bounds).await?;
    let written = figures::written_bytes().saturating_sub(before);
    report.rate(
        "completed (submit, approve, read again, call, record), 64 clients",
        "completed_per_second_64",
        rate,
    )?;
    report.bytes(
        "written to the disk per completed action",
        "bytes_written_per_completed",
        written.checked_div(rate.count).unwrap_or(0),
    )?;
    for waiting in &args.waiting {
        let reached = load::fill(world, u64::from(*waiting), bounds).await?;
        if reached < u64::from(*waiting) {
            report.output.note(&format!(
                "only {reached} of {waiting} could be put into the queue in time"
            ));
        }
        let times = load::approve_to_call(world, bounds).await?;
        if !report.output.json {
            report.output.line(&format!(
                "{:<66} p50 {:.2} ms, p99 {:.2} ms",
                format!("from sending the approval to the call, {reached} waiting"),
                times.p50_ms,
                times.p99_ms
            ))?;
        }
        report.keep(
            &format!("approve_to_call_{waiting}"),
            json!({ "waiting": reached, "p50_ms": times.p50_ms, "p99_ms": times.p99_ms }),
        );
        report.bytes(
            &format!("resident memory, {reached} waiting"),
            &format!("resident_bytes_{waiting}"),
            figures::resident_bytes(),
        )?;
    }
    let stats = world
        .log
        .stats()
        .map_err(|error| Failure::because("the log cannot be read", &error))?;
    report.bytes(
        "on disk per action",
        "disk_bytes_per_action",
        stats.bytes.checked_div(world.actions()).unwrap_or(0),
    )?;
    Ok(())
}

/// What was measured, as lines and as one object.
struct Report {
    output: Output,
    rows: Vec<(String, Value)>,
}

impl Report {
    fn keep(&mut self, name: &str, value: Value) {
        self.rows.push((name.to_owned(), value));
    }

    fn rate(&mut self, words: &str, name: &str, rate: Rate) -> Outcome<()> {
        let per_second = rate.per_second();
        if !self.output.json {
            self.output
                .line(&format!("{words:<66} {per_second:>10.0} /s"))?;
        }
        self.keep(name, json!(figures::rounded(per_second)));
        Ok(())
    }

    fn bytes(&mut self, words: &str, name: &str, bytes: u64) -> Outcome<()> {
        if !self.output.json {
            self.output
                .line(&format!("{words:<66} {:>10} KiB", bytes.div_ceil(1024)))?;
        }
        self.keep(name, json!(bytes));
        Ok(())
    }
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn make(parent: &Path) -> Outcome<Self> {
        let folder = parent.join(format!("holdpoint-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|error| {
            Failure::because(format!("cannot make {}", folder.display()), &error)
                .help("name a folder on the disk that is to be measured with --folder")
        })?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is named after this program.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

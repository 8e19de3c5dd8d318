//! `holdpoint bench`: what this machine and its disk give, or what a running server does.
//!
//! * `embedded`: everything in this process, on a temporary data folder (`world`: server and people;
//!   `shop`: what is called; `disk`: the device by itself, then appends).
//! * `remote`: a running server, as far as an outside client can see.
//! * `load`: many clients at once. `client`: one of them. `connection`: what it talks through.
//! * `report`, `figures`, `rate`: numbers.

mod client;
mod connection;
mod disk;
mod embedded;
mod figures;
mod load;
mod rate;
mod remote;
mod report;
mod shop;
mod world;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use self::load::Crowd;
use self::remote::RemoteArgs;
use self::report::Report;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The most actions that one run leaves waiting: about 2 GiB on disk.
const WAITING_MAX: u32 = 1_000_000;

/// How many clients there are, for each figure over HTTP.
const CLIENTS: [usize; 2] = [1, 64];

/// The arguments of `bench`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without --server it needs none and leaves nothing behind. Name a folder on the disk that is to be
measured with --folder.

Examples:
  holdpoint bench --quick
  holdpoint bench --server http://127.0.0.1:7070 --token-file key --tool issue_refund \\
    --args '{\"order_id\":\"8812\",\"refund_ref\":\"{n}\",\"amount_minor\":1,\"currency\":\"EUR\"}'")]
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
        conflicts_with = "server",
        value_parser = clap::value_parser!(u32).range(0..=i64::from(WAITING_MAX))
    )]
    waiting: Vec<u32>,
    /// Where to make the temporary folder [default: the current folder]
    #[arg(long, default_value = ".", conflicts_with = "server")]
    folder: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// How long and how much.
#[derive(Clone, Copy)]
struct Bounds {
    /// For each rate.
    time: Duration,
    /// The most operations of one rate.
    count: u64,
    /// How many times from approval to call.
    probes: u64,
    /// For what is not measured: filling the queue, cancelling; each time.
    fill: Duration,
}

impl Bounds {
    fn of(quick: bool) -> Self {
        if quick {
            Self {
                time: Duration::from_secs(1),
                count: 20_000,
                probes: 50,
                fill: Duration::from_mins(1),
            }
        } else {
            Self {
                time: Duration::from_secs(5),
                count: 100_000,
                probes: 300,
                fill: Duration::from_mins(5),
            }
        }
    }

    fn crowd(self, clients: usize) -> Crowd {
        Crowd {
            clients,
            time: self.time,
            count: self.count,
        }
    }
}

/// Measures, one figure after another, and prints them as they come.
pub(crate) fn run(args: &BenchArgs, output: Output) -> Outcome {
    let bounds = Bounds::of(args.quick);
    let mut report = Report::new(output);
    output.note(&format!(
        "each rate for at most {} s and {} operations",
        bounds.time.as_secs(),
        bounds.count
    ));
    report.keep(
        "bounds",
        json!({ "seconds": bounds.time.as_secs(), "operations": bounds.count, "probes": bounds.probes }),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("cannot start", &error))?;
    match &args.remote.server {
        Some(url) => runtime.block_on(remote::measure(&args.remote, url, bounds, &mut report)),
        None => runtime.block_on(embedded::measure(
            &args.waiting,
            &args.folder,
            bounds,
            &mut report,
        )),
    }?;
    drop(runtime);
    report.finish()?;
    Ok(ExitCode::Ok)
}

//! Everything in this process: the log, the engine, the server on loopback, a small shop, and the
//! clients. The load generator shares the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::future::try_join_all;
use holdpoint_engine::engine::Submission;
use serde_json::json;

use super::client::Proposal;
use super::disk;
use super::figures::{self, Times};
use super::load::{self, Crowd, Whole};
use super::rate::Rate;
use super::report::Report;
use super::world::World;
use super::{Bounds, CLIENTS};
use crate::failure::{Failure, Outcome};

/// How many submit at once while the queue is filled.
const FILLERS: usize = 64;

/// How often two syncs of the device are timed for comparison.
const PAIRS: usize = 200;

/// Measures one figure after another in a temporary folder.
pub(super) async fn measure(
    waiting: &[u32],
    parent: &Path,
    bounds: Bounds,
    report: &mut Report,
) -> Outcome<()> {
    let folder = Scratch::make(parent)?;
    let folder = folder.0.as_path();
    let unmeasured =
        |error: std::io::Error| Failure::because("the disk could not be measured", &error);
    let most = usize::try_from(bounds.count).unwrap_or(usize::MAX);
    let syncs = disk::syncs(folder, bounds.time, most).map_err(unmeasured)?;
    report.rate(
        "fdatasync of 4 KiB, growing file, 1 thread",
        "syncs_per_second",
        Rate::of(&syncs),
    )?;
    for writers in [1, 64] {
        let folder = folder.join(format!("appends-{writers}"));
        let appends = disk::appends(&folder, writers, bounds.time, bounds.count)
            .await
            .map_err(unmeasured)?;
        report.rate(
            &format!("appends, {writers} writers, {:.1} a sync", appends.per_sync),
            &format!("appends_per_second_{writers}"),
            appends.rate,
        )?;
        let per_sync = json!(figures::rounded(appends.per_sync));
        report.keep(&format!("appends_per_sync_{writers}"), per_sync);
        let bytes = json!(appends.bytes_per_record);
        report.keep(&format!("append_disk_bytes_{writers}"), bytes);
    }
    let world = World::open(&folder.join("data")).await?;
    let bench = Bench {
        world: &world,
        folder,
        bounds,
    };
    let result = bench.measure(waiting, report).await;
    world.close().await;
    result
}

struct Bench<'a> {
    world: &'a World,
    folder: &'a Path,
    bounds: Bounds,
}

impl Bench<'_> {
    async fn measure(&self, waiting: &[u32], report: &mut Report) -> Outcome<()> {
        let target = &self.world.target;
        for clients in CLIENTS {
            let crowd = self.bounds.crowd(clients);
            let (rate, _) = load::stage(target, crowd, proposal("parked")).await?;
            report.rate(
                &format!("staged over HTTP, {clients} clients"),
                &format!("staged_per_second_{clients}"),
                rate,
            )?;
        }
        for clients in CLIENTS {
            self.complete(clients, report).await?;
        }
        for waiting in waiting {
            self.with_waiting(*waiting, report).await?;
        }
        let stats = self.world.log.stats();
        let stats = stats.map_err(|error| Failure::because("the log cannot be read", &error))?;
        report.bytes(
            "on disk per action",
            "disk_bytes_per_action",
            stats.bytes.checked_div(target.names()).unwrap_or(0),
        )
    }

    async fn complete(&self, clients: usize, report: &mut Report) -> Outcome<()> {
        let two_syncs = self.two_syncs()?;
        let before = figures::written_bytes();
        let whole = self.whole(self.bounds.crowd(clients)).await?;
        let written = figures::written_bytes().saturating_sub(before);
        report.rate(
            &format!("completed (submit, approve, read again, call, record), {clients} clients"),
            &format!("completed_per_second_{clients}"),
            whole.rate,
        )?;
        report.bytes(
            "  written to the disk per completed action",
            &format!("bytes_written_per_completed_{clients}"),
            written.checked_div(whole.rate.count).unwrap_or(0),
        )?;
        to_call(report, &whole, two_syncs, &format!("completed_{clients}"))?;
        report.times(
            "  from sending the approval to knowing the end",
            &format!("approve_to_end_completed_{clients}"),
            whole.to_end,
        )
    }

    async fn with_waiting(&self, waiting: u32, report: &mut Report) -> Outcome<()> {
        let reached = self.fill(u64::from(waiting)).await?;
        if reached < u64::from(waiting) {
            report.output.note(&format!(
                "only {reached} of {waiting} could be put into the queue in time"
            ));
        }
        let two_syncs = self.two_syncs()?;
        let probes = Crowd {
            clients: 1,
            time: self.bounds.fill,
            count: self.bounds.probes,
        };
        let whole = self.whole(probes).await?;
        report.bytes(
            &format!("resident memory, {reached} waiting"),
            &format!("resident_bytes_{waiting}"),
            figures::resident_bytes(),
        )?;
        to_call(report, &whole, two_syncs, &waiting.to_string())
    }

    /// Whole actions; one that does not succeed ends the run.
    async fn whole(&self, crowd: Crowd) -> Outcome<Whole> {
        let shop = Some(self.world.shop.clone());
        let whole = load::complete(&self.world.target, crowd, proposal("refund"), shop).await?;
        match whole.ends.keys().find(|end| *end != "succeeded") {
            Some(end) => Err(Failure::failed(format!("an action ended as {end}"))),
            None => Ok(whole),
        }
    }

    /// How long two syncs of the device take, one after the other.
    fn two_syncs(&self) -> Outcome<Times> {
        let times = disk::syncs(self.folder, self.bounds.time, 2 * PAIRS)
            .map_err(|error| Failure::because("the disk could not be measured", &error))?;
        Ok(Times::of(
            times.chunks_exact(2).map(|two| two.iter().sum()).collect(),
        ))
    }

    /// Puts actions into the queue until so many wait; answers how many do.
    async fn fill(&self, waiting: u64) -> Outcome<u64> {
        let counts = self.world.engine.counts().by_status;
        let there = counts
            .iter()
            .find(|(status, _)| status.name() == "staged")
            .map_or(0, |(_, count)| *count);
        let start = std::time::Instant::now();
        let left = std::cell::Cell::new(waiting.saturating_sub(there));
        let fillers = (0..FILLERS).map(async |_| {
            let mut added = 0;
            while start.elapsed() < self.bounds.fill
                && let Some(fewer) = left.get().checked_sub(1)
            {
                left.set(fewer);
                self.put().await?;
                added += 1;
            }
            Ok::<u64, Failure>(added)
        });
        let added: u64 = try_join_all(fillers).await?.into_iter().sum();
        Ok(there + added)
    }

    async fn put(&self) -> Outcome<()> {
        let submission = Submission {
            tool: "parked".to_owned(),
            args: json!({ "order": self.world.target.next_name(), "amount": 100 }),
            reason: None,
            labels: BTreeMap::new(),
            expires_in: None,
            not_before: None,
            request_key: None,
        };
        let submitted = self.world.engine.submit(&self.world.caller, submission);
        submitted
            .await
            .map(|_| ())
            .map_err(|error| Failure::because("an action could not be put into the queue", &error))
    }
}

fn proposal(tool: &str) -> Proposal {
    Proposal {
        tool: tool.to_owned(),
        args: "{\"order\":\"{n}\",\"amount\":100}".to_owned(),
    }
}

/// The time to the call, what the device alone would have taken, and the difference.
fn to_call(report: &mut Report, whole: &Whole, two_syncs: Times, name: &str) -> Outcome<()> {
    report.times(
        "  from sending the approval to the call",
        &format!("approve_to_call_{name}"),
        whole.to_call,
    )?;
    report.times(
        "  two syncs of the device, just before",
        &format!("two_syncs_{name}"),
        two_syncs,
    )?;
    report.times(
        "  above two syncs",
        &format!("approve_to_call_above_two_syncs_{name}"),
        whole.to_call.above(two_syncs),
    )
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

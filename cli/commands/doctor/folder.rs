//! The data folder: its disk, its log, its people.

use std::path::Path;
use std::sync::Arc;

use holdpoint_engine::action::Trouble;
use holdpoint_engine::engine::{attention_in, paused_in};
use holdpoint_engine::identity::Identity;
use holdpoint_engine::incarnation;
use holdpoint_engine::time::{Clock as _, SystemClock, Timestamp};
use holdpoint_engine::tool::ToolsFile;
use holdpoint_storage::{EventLog, OpenError, Origin, SledLog, SledOptions};
use rustix::fs::Access;

use super::{Explained, Findings, NONE, State, people, webhooks};
use crate::data;
use crate::failure::chain;
use crate::output::Output;

/// Below this it is time to make room; the log itself stops at a fraction of it.
const FREE_BYTES_GOOD: u64 = 1024 * 1024 * 1024;

/// How far the clock may be behind the log before it is worth a word, in milliseconds.
const CLOCK_BEHIND_MS: i64 = 2000;

/// What became of the look at the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// Nothing else holds it: what is in it was looked at.
    Within,
    /// Another process holds it.
    Held,
    /// There is none.
    NotThere,
}

/// Looks at the folder, and at what is in it where no other process holds it.
pub(super) async fn look(
    folder: &Path,
    tools: Option<&ToolsFile>,
    findings: &mut Findings,
    output: Output,
) -> Looked {
    let name = folder.display();
    if !folder.exists() {
        findings.warn(
            "data folder",
            format!("there is no folder {name} yet"),
            "`holdpoint serve` makes it; if there should be one, name it with --data FOLDER",
        );
        return Looked::NotThere;
    }
    permissions(folder, findings);
    space(folder, findings);
    let opened = SledLog::open(folder, &SledOptions::default());
    let log: Arc<dyn EventLog> = match opened {
        Ok(log) => Arc::new(log),
        Err(OpenError::Locked { holder, .. }) => {
            findings.good(
                "log",
                format!("held by {holder}, so it was opened and found whole"),
            );
            reserve(folder, findings);
            return Looked::Held;
        }
        Err(error) => {
            // Where nothing else is said, the error itself says what to do.
            let failure = data::refused(&error);
            let help = failure.next();
            findings.add("log", State::Bad, failure.in_a_line(), help);
            return Looked::Within;
        }
    };
    reserve(folder, findings);
    records(log.as_ref(), findings);
    origin(log.as_ref(), findings);
    switch(log.as_ref(), findings);
    match data::identity(&log).await {
        Ok(identity) => {
            people::in_folder(&identity, tools, findings);
            actions(log.as_ref(), &identity, findings);
        }
        Err(failure) => findings.bad(
            "people",
            failure.in_a_line(),
            "`holdpoint verify` shows the extent of it",
        ),
    }
    webhooks::in_folder(folder, &log, findings);
    log.close().await;
    output.note("the log was opened to look at it, and closed again");
    Looked::Within
}

fn permissions(folder: &Path, findings: &mut Findings) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder).map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            findings.warn(
                "data folder",
                format!(
                    "{} can be read by other users of this machine",
                    folder.display()
                ),
                "chmod 700 it: it holds everybody's actions and the hashes of credentials",
            );
            return;
        }
    }
    if let Err(error) = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        findings.bad(
            "data folder",
            format!(
                "whoever runs this may make no files in {} ({error}): neither the key of webhooks, nor the \
                 room to start on a full disk, nor what an import, a restore or a newer version writes",
                folder.display()
            ),
            "give it to whom the server runs as, and chmod 700 it; a disk that is read-only must be mounted \
             to write",
        );
        return;
    }
    findings.good("data folder", folder.display().to_string());
}

/// Whether the next start has room on a full disk.
fn reserve(folder: &Path, findings: &mut Findings) {
    if !SledLog::has_reserve(folder) {
        let options = SledOptions::default();
        let needed = options.free_bytes_min + 2 * options.reserve_bytes;
        findings.warn(
            "reserve",
            "no room is set aside to start on a full disk",
            &format!(
                "have {} MiB free on that disk: then it is set aside at the next write or start",
                needed / (1024 * 1024)
            ),
        );
    }
}

fn space(folder: &Path, findings: &mut Findings) {
    let Ok(found) = rustix::fs::statvfs(folder) else {
        findings.warn("free space", "cannot be told", "look at the disk yourself");
        return;
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let words = format!("{} MiB are free", free / (1024 * 1024));
    if free < SledOptions::default().free_bytes_min {
        findings.bad(
            "free space",
            words,
            "nothing new is accepted until there is room; nothing that was acknowledged is lost",
        );
    } else if free < FREE_BYTES_GOOD {
        findings.warn(
            "free space",
            words,
            "make room before nothing new is accepted",
        );
    } else {
        findings.good("free space", words);
    }
}

fn records(log: &dyn EventLog, findings: &mut Findings) {
    let stats = match log.stats() {
        Ok(stats) => stats,
        Err(error) => {
            findings.bad("log", chain(&error), "look at the disk");
            return;
        }
    };
    findings.good(
        "log",
        format!(
            "{} records, {} KiB; its end is whole (`holdpoint verify` checks all of it)",
            stats.records,
            stats.bytes / 1024
        ),
    );
    let last = log.read_all(stats.last_position.saturating_sub(1), 1);
    let Some(last) = last.ok().and_then(|records| records.into_iter().next()) else {
        return;
    };
    let now = SystemClock.now();
    if now.0.saturating_add(CLOCK_BEHIND_MS) < last.time_ms {
        findings.bad(
            "clock",
            format!(
                "it says {now}, and the last record is of {}",
                Timestamp(last.time_ms)
            ),
            "set the clock right; until then deadlines are counted by the time of the log",
        );
    } else {
        findings.good("clock", format!("{now}, not before the last record"));
    }
}

/// Which incarnation of the log it is, and whether it is a copy that nobody has confirmed.
fn origin(log: &dyn EventLog, findings: &mut Findings) {
    let told =
        incarnation::number(log).and_then(|number| Ok((number, incarnation::underway(log)?)));
    let (number, underway) = match told {
        Ok(told) => told,
        Err(error) => return findings.bad("incarnation", chain(&error), "look at the disk"),
    };
    let waiting = underway.map_or_else(String::new, |underway| {
        format!(
            "; {} actions wait to be sent, {} attempts were on their way",
            underway.waiting, underway.in_flight
        )
    });
    let words = match log.origin() {
        Origin::Own => {
            return findings.good("incarnation", format!("incarnation {number} of the log"));
        }
        Origin::Copied => "the folder is a copy: of a backup, or of one that may still be in use",
        Origin::Imported => "the log was imported, and nothing has used it since",
    };
    findings.warn(
        "incarnation",
        format!("{words}{waiting}"),
        "make sure that no other copy runs, then once: holdpoint serve --confirm-restore",
    );
}

/// Whether a server that is started on the folder would send anything.
fn switch(log: &dyn EventLog, findings: &mut Findings) {
    match paused_in(log) {
        Err(error) => findings.bad("pause", chain(&error), "look at the disk"),
        Ok(None) => {}
        Ok(Some(paused)) => findings.warn(
            "pause",
            format!(
                "paused by {} since {}: {}",
                paused.name, paused.since, paused.reason
            ),
            "a server that starts sends nothing new; `holdpoint resume` once the reason is gone",
        ),
    }
}

/// What would need a person if a server ran on the folder now.
fn actions(log: &dyn EventLog, identity: &Identity, findings: &mut Findings) {
    match attention_in(log, &identity.approvers(), SystemClock.now()) {
        Err(error) => findings.bad("actions", chain(&error), "look at the disk"),
        Ok(None) => findings.warn(
            "actions",
            "not looked at: the folder has no indexes of this version (it was imported, or is of another \
             version)",
            "the next start of `holdpoint serve` builds them; run it again then",
        ),
        Ok(Some(found)) => {
            if found.iter().next().is_none() {
                findings.good("actions", NONE);
            }
            for one in found.iter() {
                let action = &one.view.action;
                let tried: Vec<&str> = one.why.tried.iter().map(String::as_str).collect();
                let why = Explained {
                    id: &action.id.to_string(),
                    summary: &action.proposal.summary,
                    trouble: one.why.trouble.name(),
                    since: &one.why.since.rfc3339(),
                    next: &one.why.next,
                    tried: &tried,
                };
                let help = match one.why.trouble {
                    Trouble::Alarm => one.why.help.clone(),
                    Trouble::Unknown | Trouble::Stuck | Trouble::Short => format!(
                    "no server runs on the folder, so nothing moves: start it with `holdpoint \
                     serve`. {}",
                    one.why.help
                )};
                findings.warn("actions", why.words(), &help);
            }
            if let Some(words) = super::more_in_words(found.left_off()) {
                findings.warn(
                    "actions",
                    words,
                    "start a server on the folder; `holdpoint actions ls --status unknown` lists them all",
                );
            }
        }
    }
}

//! Runs, for those who may start, see and steer them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::act::{REASON_CHARS_MAX, said};
use super::{Engine, Inner, LIST_MAX};
use crate::identity::{Principal, Role};
use crate::run::heal::Helper;
use crate::run::layout::{self, LoadRunError};
use crate::run::{Command, Run, RunError, RunId, RunStatus, RunSummary, drive};
use crate::schedule::{self, ScheduleId};
use crate::scheduler::Work;
use holdpoint_storage::{Direction, ScanRange};

/// How many summaries are read from the index at once, and how many one page looks at.
const CHUNK: usize = 256;
const EXAMINED_MAX: usize = 5000;

/// An engine that does not keep itself alive.
#[derive(Clone)]
pub(crate) struct WeakEngine(Weak<Inner>);

impl WeakEngine {
    /// The engine, while somebody else holds it.
    pub(crate) fn upgrade(&self) -> Option<Engine> {
        let inner = self.0.upgrade()?;
        Some(Engine { inner })
    }
}

/// Which runs.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Only in these statuses; empty for all.
    pub statuses: Vec<RunStatus>,
    /// Only of the file or function of that name.
    pub name: Option<String>,
    /// Only those that this schedule started.
    pub schedule: Option<String>,
    /// At most this many, 1 to 200.
    pub limit: usize,
    /// Only those that began before this one: the last one of the page before.
    pub before: Option<RunId>,
}

/// One page of runs, the newest first.
#[derive(Clone, Debug)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Where the next page starts; none on the last.
    pub next: Option<RunId>,
}

impl Engine {
    /// A run that a schedule started and that is not over: also one that goes on from another one, or
    /// that was gone on with, or whose start was durable when the process died before it noted it.
    pub(crate) fn unfinished_of(&self, schedule: ScheduleId) -> Result<Option<RunId>, RunError> {
        let name = schedule.to_string();
        let log = self.log().as_ref();
        for id in self.inner.runs.unfinished()? {
            let value = log.get(layout::RUNS, id.as_bytes());
            let Some(value) = value.map_err(LoadRunError::from)? else {
                continue;
            };
            let summary = layout::summary(log, id.as_bytes(), &value)?;
            if summary.schedule.as_ref() == Some(&name) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// One run, where the principal may see it.
    pub fn run(&self, by: &Principal, id: RunId) -> Result<Arc<Run>, RunError> {
        let live = self.inner.runs.open(id)?;
        let run = live.run();
        let caller = &run.start.caller;
        let sees = by.sees_all() || is_own(by, &caller.id, caller.owner.as_ref());
        if !sees || self.identity().has_ended(&by.id) {
            return Err(RunError::NotFound);
        }
        Ok(run)
    }

    /// One run in short, where the principal may see it: as cheap for a long run as for a short one.
    pub fn run_summary(&self, by: &Principal, id: RunId) -> Result<RunSummary, RunError> {
        let log = self.log().as_ref();
        let value = log.get(layout::RUNS, id.as_bytes());
        let value = value.map_err(LoadRunError::from)?;
        let summary = layout::summary(log, id.as_bytes(), &value.ok_or(RunError::NotFound)?)?;
        let sees = by.sees_all() || is_own(by, &summary.caller, summary.owner.as_ref());
        sees.then_some(summary).ok_or(RunError::NotFound)
    }

    /// Whether somebody in this process carries the run on. One that is not over and that nobody carries
    /// on was left behind by a process that ended; it waits to be resumed.
    pub fn is_run_carried_on(&self, id: RunId) -> bool {
        self.inner.runs.is_driven(id)
    }

    /// Waits until the run has more events than `known`, or `at_most` has passed, or the engine stops;
    /// answers it as it is then.
    pub async fn wait_run(
        &self,
        by: &Principal,
        id: RunId,
        known: u64,
        at_most: Duration,
    ) -> Result<Arc<Run>, RunError> {
        let live = self.inner.runs.open(id)?;
        let mut changed = live.watch();
        let run = self.run(by, id)?;
        if run.events != known {
            return Ok(run);
        }
        let moved = changed.wait_for(|run| run.events != known);
        tokio::select! {
            biased;
            () = self.inner.store.stop.reached() => {}
            _ = tokio::time::timeout(at_most, moved) => {}
        }
        self.run(by, id)
    }

    /// One page of the runs that the principal may see, the newest first.
    pub fn runs(&self, by: &Principal, query: &RunQuery) -> Result<RunPage, RunError> {
        let limit = query.limit.clamp(1, LIST_MAX);
        let mut below = query.before.map(|id| id.as_bytes().to_vec());
        let (mut found, mut examined) = (Vec::new(), 0);
        loop {
            let range = ScanRange {
                below: below.as_deref(),
                ..ScanRange::default()
            };
            let log = self.log();
            let entries = log
                .scan(layout::RUNS, range, CHUNK, Direction::Backward)
                .map_err(LoadRunError::from)?;
            if entries.is_empty() {
                return Ok(RunPage {
                    runs: found,
                    next: None,
                });
            }
            for (key, value) in entries {
                let summary = layout::summary(log.as_ref(), &key, &value)?;
                below = Some(key);
                examined += 1;
                let id = summary.id;
                if takes(by, query, &summary) {
                    found.push(summary);
                }
                if limit <= found.len() || EXAMINED_MAX <= examined {
                    return Ok(RunPage {
                        runs: found,
                        next: Some(id),
                    });
                }
            }
        }
    }

    /// Calls a run off: the step that is under way is taken back where that is still possible, and
    /// nothing more is begun.
    pub async fn cancel_run(
        &self,
        by: &Principal,
        id: RunId,
        reason: Option<String>,
    ) -> Result<Arc<Run>, RunError> {
        check_reason(reason.as_deref())?;
        let run = self.run(by, id)?;
        let caller = &run.start.caller;
        let may = is_own(by, &caller.id, caller.owner.as_ref())
            || by.has(Role::Operator)
            || by.has(Role::Admin);
        if !may {
            return Err(RunError::Forbidden(
                "a run is called off by whoever started it, an operator or an administrator"
                    .to_owned(),
            ));
        }
        let live = self.inner.runs.open(id)?;
        let reason = said(reason);
        let command = Command::Cancel { reason };
        let run = self.inner.runs.commit(&live, &by.id, command).await?;
        if !self.is_run_carried_on(id) {
            // Nobody else would end it.
            self.drive(live);
        }
        Ok(run)
    }

    /// Starts what schedules say, in a task of its own.
    pub(super) fn start_clock(&self) {
        let engine = WeakEngine(Arc::downgrade(&self.inner));
        self.inner.drivers.spawn(schedule::clock::run(engine));
    }

    /// Carries a run on, in a task of its own; whoever does that already looks once more before ending.
    pub(crate) fn drive(&self, live: Arc<crate::run::shell::Live>) {
        let Some(mut carried) = live.carrying.begin() else {
            return;
        };
        let share = self.inner.runs.shares.take(&live.run().start.caller.id);
        let engine = WeakEngine(Arc::downgrade(&self.inner));
        let runs = Arc::clone(&self.inner.runs);
        let driver = crate::run::driver::Driver::new(engine, runs, live);
        self.inner.drivers.spawn(async move {
            let _share = share;
            loop {
                Box::pin(drive(&driver)).await;
                match carried.ended() {
                    Some(again) => carried = again,
                    None => return,
                }
            }
        });
    }

    /// Goes on with every run that nobody sits before.
    pub(super) fn resume_unattended(&self) -> Result<(), RunError> {
        for id in self.inner.runs.unfinished()? {
            let live = self.inner.runs.open(id)?;
            if live.run().start.unattended {
                self.drive(live);
            }
        }
        Ok(())
    }

    /// Who helps with steps that fail.
    pub(crate) fn helper(&self) -> Option<Arc<dyn Helper>> {
        self.inner.helper.clone()
    }

    /// What executing needs.
    pub(crate) fn work(&self) -> &Work {
        &self.inner.work
    }
}

pub(super) fn is_own(by: &Principal, caller: &str, owner: Option<&String>) -> bool {
    caller == by.id || owner == Some(&by.id)
}

fn takes(by: &Principal, query: &RunQuery, summary: &RunSummary) -> bool {
    (by.sees_all() || is_own(by, &summary.caller, summary.owner.as_ref()))
        && matches(query, summary)
}

/// Whether a run is one of those that are asked for.
pub(super) fn matches(query: &RunQuery, summary: &RunSummary) -> bool {
    (query.statuses.is_empty() || query.statuses.contains(&summary.status))
        && query.name.as_ref().is_none_or(|name| *name == summary.name)
        && (query.schedule.is_none() || query.schedule == summary.schedule)
}

fn check_reason(reason: Option<&str>) -> Result<(), RunError> {
    match reason {
        Some(reason) if REASON_CHARS_MAX < reason.chars().count() => Err(RunError::Invalid(
            format!("a reason has at most {REASON_CHARS_MAX} characters"),
        )),
        Some(_) | None => Ok(()),
    }
}

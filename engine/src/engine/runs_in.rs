//! Runs, as a log has them, and their receipts.

use holdpoint_storage::{Direction, EventLog, ScanRange};

use super::runs::{RunPage, RunQuery, matches};
use super::{Engine, LIST_MAX};
use crate::action::ActionId;
use crate::run::layout::{self, LoadRunError};
use crate::run::{Receipt, Run, RunError, RunId};
use crate::store;
use crate::time::Timestamp;

/// How many summaries are read from the index at once.
const CHUNK: usize = 256;

/// One page of all runs of a log, the newest first.
pub fn runs_in(log: &dyn EventLog, query: &RunQuery) -> Result<RunPage, RunError> {
    let limit = query.limit.clamp(1, LIST_MAX);
    let mut below = query.before.map(|id| id.as_bytes().to_vec());
    let mut runs = Vec::new();
    loop {
        let range = ScanRange {
            below: below.as_deref(),
            ..ScanRange::default()
        };
        let entries = log
            .scan(layout::RUNS, range, CHUNK, Direction::Backward)
            .map_err(LoadRunError::from)?;
        if entries.is_empty() {
            return Ok(RunPage { runs, next: None });
        }
        for (key, value) in entries {
            let summary = layout::summary(log, &key, &value)?;
            below = Some(key);
            let id = summary.id;
            if matches(query, &summary) {
                runs.push(summary);
            }
            if limit <= runs.len() {
                return Ok(RunPage {
                    runs,
                    next: Some(id),
                });
            }
        }
    }
}

/// One run of a log.
pub fn run_in(log: &dyn EventLog, id: RunId) -> Result<Run, RunError> {
    let (run, _) = layout::load(log, id)?.ok_or(RunError::NotFound)?;
    Ok(run)
}

/// The receipt of a run of a log.
pub fn receipt_in(log: &dyn EventLog, run: &Run, now: Timestamp) -> Receipt {
    Receipt::of(run, now, &|_, action| key_in(log, action))
}

/// The key of an action; none where the log cannot tell.
fn key_in(log: &dyn EventLog, id: ActionId) -> Option<String> {
    let view = store::load(log, id).ok()??;
    Some(view.action.proposal.idempotency_key)
}

impl Engine {
    /// The receipt of a run as it is now.
    pub fn receipt(&self, run: &Run) -> Receipt {
        let log = self.log().as_ref();
        Receipt::of(run, self.now(), &|tool, action| {
            // Where the tool makes no key, the step has one of its own.
            let tool = self.registry().get(tool);
            let is_own = tool.is_some_and(|tool| !tool.has_key_template());
            (!is_own).then(|| key_in(log, action)).flatten()
        })
    }
}

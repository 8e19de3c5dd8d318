//! Runs, as a log on disk has them that no engine runs on.

use holdpoint_storage::{Direction, EventLog, ScanRange};

use super::LIST_MAX;
use super::runs::{RunPage, RunQuery, matches};
use crate::run::layout::{self, LoadRunError};
use crate::run::{Run, RunError, RunId};

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

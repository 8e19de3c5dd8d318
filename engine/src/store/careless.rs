//! What takes the place of a careful append while one of the mistakes of [`Bug`] is switched on.

use std::sync::Arc;

use holdpoint_storage::{AppendError, Appended, Batch, EventLog};

use crate::seeded::Bug;

/// Appends; carelessly where a bug says so.
pub(super) async fn append(
    log: &Arc<dyn EventLog>,
    mut batch: Batch,
) -> Result<Appended, AppendError> {
    if Bug::SendBeforeSync.is_on() && holds(&batch, "action.commit_recorded") {
        let log = Arc::clone(log);
        tokio::spawn(async move { drop(log.append(batch).await) });
        return Ok(Appended {
            first: 0,
            last: 0,
            time_ms: 0,
        });
    }
    let is_blind = (Bug::NoCasVote.is_on() && holds(&batch, "action.vote_recorded"))
        || (Bug::NoCasCommit.is_on() && holds(&batch, "action.commit_recorded"));
    if !is_blind {
        return log.append(batch).await;
    }
    loop {
        match log.append(batch.clone()).await {
            Err(AppendError::VersionConflict { actual, .. }) => {
                batch.streams.iter_mut().for_each(|it| it.expected = actual);
            }
            other => return other,
        }
    }
}

fn holds(batch: &Batch, kind: &str) -> bool {
    let mut records = batch.streams.iter().flat_map(|append| &append.records);
    records.any(|record| record.kind == kind)
}

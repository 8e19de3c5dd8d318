//! What a crash left behind (invariant I23).
//!
//! An action with a commit record and no result may or may not have happened: it becomes unknown,
//! before anything else runs, and is never sent again blindly; what a worker has stays with it until
//! its lease ends. Everything else that is due is in the
//! open index and is found there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::work::{ENGINE, leased_until};
use crate::action::{ActionId, AttemptOutcome, Command, Status};
use crate::store::index::{self, NEVER, OpenKey};
use crate::store::{CommitError, Store, pages};

/// The wait before a store that could not take or answer something is asked again.
const LATER: Duration = Duration::from_secs(1);

/// Turns every attempt that was on its way into an unknown one. Answers how many there were.
///
/// In a copy that was `restored`, attempts of workers are among them: whether a lease of the other copy
/// was kept is not known here.
///
/// On a full disk it is done as soon as there is room: reading must be possible before (invariant
/// I23), and until then nothing can happen to these actions. Not in a copy: it is confirmed only once all of
/// them are unknown (invariant I29), so it fails there.
pub(crate) async fn recover(store: &Arc<Store>, restored: bool) -> Result<u64, CommitError> {
    let prefix: Vec<u8> = index::lane(Status::Executing).into_iter().collect();
    let mut found = 0;
    let mut left = VecDeque::new();
    for entries in pages(store.log.as_ref(), index::OPEN, &prefix) {
        let entries = entries.map_err(|error| CommitError::Unavailable(Box::new(error)))?;
        for (key, tool) in &entries {
            if let Some(open) = OpenKey::parse(key) {
                if open.due != NEVER {
                    store.board.lease_began(&String::from_utf8_lossy(tool));
                }
                match mark_unknown(store, open.id, restored).await {
                    Ok(was_lost) => found += u64::from(was_lost),
                    Err(CommitError::Full(_)) if !restored => left.push_back(open.id),
                    Err(error) => return Err(error),
                }
            }
        }
    }
    if !left.is_empty() {
        tracing::error!(
            "there is no room to record that {} calls have an unknown outcome; make room",
            left.len()
        );
        tokio::spawn(recover_later(Arc::clone(store), left));
    }
    Ok(found)
}

/// Goes on until each is recorded: neither a full disk nor a read that fails is final. A store that
/// failed in writing has ended the engine itself.
async fn recover_later(store: Arc<Store>, mut left: VecDeque<ActionId>) {
    while let Some(id) = left.pop_front() {
        if store.stop.may_begin().is_err() {
            return;
        }
        let Err(error) = mark_unknown(&store, id, false).await else {
            continue;
        };
        left.push_back(id);
        if !matches!(error, CommitError::Full(_)) {
            let wait = LATER.as_secs();
            tracing::error!(%error, action.id = %id, "{id} cannot be recovered now; again in {wait} s");
        }
        tokio::select! {
            biased;
            () = store.stop.reached() => return,
            () = tokio::time::sleep(LATER) => {}
        }
    }
}

async fn mark_unknown(
    store: &Arc<Store>,
    id: ActionId,
    restored: bool,
) -> Result<bool, CommitError> {
    let Some(view) = store.load(id)? else {
        return Ok(false);
    };
    // Somebody may have been told of its end while there was no room here.
    if view.action.status() != Status::Executing {
        return Ok(false);
    }
    if restored {
        let committed = store.act(id, ENGINE, |at| Command::LoseAttempt { at });
        return Ok(!committed.await?.events().is_empty());
    }
    // A worker that pulled the call lives in another process; its lease ends by itself.
    if let Some(end) = leased_until(&view.action) {
        let committed = store.act(id, ENGINE, |at| Command::ReachLeaseEnd { at });
        return Ok(end <= store.time.now() && !committed.await?.events().is_empty());
    }
    let Some(attempt) = view.action.attempts.last().map(|last| last.number) else {
        return Ok(false);
    };
    store
        .act(id, ENGINE, |at| Command::Record {
            attempt,
            outcome: AttemptOutcome::Unknown {
                http_status: None,
                message: "the process stopped before the result was recorded".to_owned(),
            },
            answer: None,
            at,
        })
        .await?;
    Ok(true)
}

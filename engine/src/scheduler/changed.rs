//! What workers were to pull, and nobody ever can: its tool is another one by now.

use std::time::Duration;

use super::work::Work;
use crate::store::index::{self, WorkKey};
use crate::store::{CommitError, pages};
use crate::time::Timestamp;

/// The shortest wait between two looks at what can never be pulled again, and the longest: a wall
/// clock that was set shows by then.
const CHANGED_WAIT: Duration = Duration::from_secs(1);
const SLEEP_MAX: Duration = Duration::from_mins(1);

impl Work {
    /// Ends what can never be pulled again, since its tool is another one now. Nobody would ask for
    /// it, so that it would wait in silence (invariant I27). What is not due yet, or is paused, is
    /// ended then; what is approved later, when it is. Runs until the engine stops.
    pub(crate) async fn end_changed(&self) {
        loop {
            let next = self.end_changed_now().await.unwrap_or_else(|error| {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "what is to be pulled cannot be read"
                );
                Some(self.store.time.now().plus(CHANGED_WAIT))
            });
            tokio::select! {
                biased;
                () = self.store.stop.reached() => return,
                () = self.store.board.all_woken() => {}
                () = self.until_due(next) => {}
            }
        }
    }

    /// Waits for what is due next of it; for ever where there is nothing.
    async fn until_due(&self, next: Option<Timestamp>) {
        let Some(next) = next else {
            return std::future::pending().await;
        };
        let wait = if self.store.pause.is_paused() {
            // Resuming wakes everybody.
            SLEEP_MAX
        } else {
            let now = self.store.time.now();
            next.since(now).clamp(CHANGED_WAIT, SLEEP_MAX)
        };
        tokio::time::sleep(wait).await;
    }

    /// Ends what is due of it. Answers when the rest is; none where there is no rest.
    async fn end_changed_now(&self) -> Result<Option<Timestamp>, CommitError> {
        let mut next: Option<Timestamp> = None;
        for entries in pages(self.store.log.as_ref(), index::WORK, &[]) {
            let entries = entries.map_err(|error| CommitError::Unavailable(Box::new(error)))?;
            for key in entries
                .iter()
                .filter_map(|(key, value)| WorkKey::parse(key, value))
            {
                if self.store.board.is_defined(&key) {
                    continue;
                }
                self.advance(key.id).await;
                let view = self.store.load(key.id)?;
                if let Some(left) = view.and_then(|view| WorkKey::of(&view.action)) {
                    next = Some(next.map_or(left.due, |next| next.min(left.due)));
                }
            }
        }
        Ok(next)
    }
}

//! The end of an attempt, stored.

use std::time::Duration;

use super::work::{ENGINE, Work};
use crate::action::{ActionId, AnswerBody, AttemptOutcome, Command};
use crate::store::CommitError;

/// How often the result of an attempt is offered to a store that is full while the engine stops, and
/// the wait in between, always.
const RECORD_TRIES: u32 = 20;
const RECORD_WAIT: Duration = Duration::from_millis(250);

impl Work {
    /// Stores how an attempt ended. A store that is full is offered it until there is room; when
    /// the engine stops first, the attempt is unknown at the next start and is reconciled.
    pub(super) async fn record(
        &self,
        id: ActionId,
        attempt: u32,
        mut outcome: AttemptOutcome,
        mut answer: Option<AnswerBody>,
    ) {
        let mut tries = 0;
        loop {
            let wish = |at| Command::Record {
                attempt,
                outcome: outcome.clone(),
                answer: answer.clone(),
                at,
            };
            let Err(error) = self.store.act(id, ENGINE, wish).await else {
                return;
            };
            tries += 1;
            let is_over = match &error {
                CommitError::Full(_) | CommitError::Unavailable(_) | CommitError::Conflict => {
                    self.store.stop.may_write().is_err()
                        || (self.store.stop.may_begin().is_err() && RECORD_TRIES <= tries)
                }
                CommitError::TooLarge(_) => {
                    answer = None;
                    outcome = AttemptOutcome::Unknown {
                        http_status: None,
                        message: "the answer was too large to be stored".to_owned(),
                    };
                    RECORD_TRIES <= tries
                }
                CommitError::Refused(_) | CommitError::ClaimTaken { .. } | CommitError::Missing => {
                    true
                }
            };
            if is_over {
                return tracing::error!(
                    action.id = %id,
                    error = &error as &dyn std::error::Error,
                    "the result of attempt {attempt} of {id} was not stored; it is unknown at the \
                     next start"
                );
            }
            if tries.is_power_of_two() {
                tracing::warn!(
                    action.id = %id,
                    error = &error as &dyn std::error::Error,
                    "the result of attempt {attempt} of {id} is not stored yet"
                );
            }
            tokio::time::sleep(RECORD_WAIT).await;
        }
    }
}

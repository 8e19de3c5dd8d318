//! Following the log.

use crate::log::ReadError;
use crate::record::{Position, Record};

/// A reader that follows the log.
///
/// It reads from the log itself and is only woken by the writer, so a slow reader neither holds up
/// a writer nor misses a record.
pub struct Subscription {
    log: std::sync::Arc<dyn TailSource>,
    durable: tokio::sync::watch::Receiver<Position>,
    after: Position,
}

/// What a subscription reads from: the durable part of a log.
pub trait TailSource: Send + Sync {
    /// As [`EventLog::read_all`](crate::EventLog::read_all); nothing once the log is closed.
    fn read_tail(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError>;
}

impl Subscription {
    /// How many records are handed out at once at most.
    const CHUNK: usize = 256;

    /// A subscription over `log` that starts after position `after`; `durable` carries the last
    /// durable position.
    pub fn new(
        log: std::sync::Arc<dyn TailSource>,
        durable: tokio::sync::watch::Receiver<Position>,
        after: Position,
    ) -> Self {
        Self {
            log,
            durable,
            after,
        }
    }

    /// The next records, in order, never empty; waits until there are some. `None` once the log is
    /// closed. (What was not handed out by then is still in the log when it is opened again.)
    ///
    /// Cancel-safe: a dropped call loses nothing.
    pub async fn next(&mut self) -> Option<Result<Vec<Record>, ReadError>> {
        loop {
            let durable = *self.durable.borrow_and_update();
            if self.after < durable {
                return Some(
                    self.log
                        .read_tail(self.after, Self::CHUNK)
                        .inspect(|records| {
                            if let Some(last) = records.last() {
                                self.after = last.position;
                            }
                        }),
                );
            }
            if self.durable.changed().await.is_err() {
                return None;
            }
        }
    }
}

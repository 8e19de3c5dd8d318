//! Actions in the log: load, decide, append durably, and only then let anybody know.
//!
//! Everything that changes an action goes through [`Store::commit`]. Its batch holds the events, the
//! view and the entry of the open index, so that none of them is ever ahead of another (I6); it is
//! decided on one version and fails if the stream has moved (I4); what follows an append (waking who
//! waits, handing over what is due) happens after it is durable (I5), even if the caller has gone.
//!
//! * [`codec`]: the stored form. `guard`: the first storage error is the end for everybody. [`index`]: the layout of the indexes.
//! * [`kinds`]: what this version can read. [`pause`]: the switch that keeps calls from leaving.
//! * [`rebuild`]: the indexes from the log alone. [`counts`], [`waiters`]: what is kept in memory.

mod careless;
pub(crate) mod codec;
mod commit;
pub(crate) mod counts;
#[cfg(test)]
pub(crate) mod format_tests;
mod guard;
pub(crate) mod index;
pub(crate) mod kinds;
mod pages;
pub(crate) mod pause;
pub(crate) mod rebuild;
mod stop;
mod time;
pub(crate) mod tools;
pub(crate) mod waiters;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use holdpoint_storage::{EventLog, ReadError};
use tokio::sync::RwLock;

pub(crate) use commit::{CommitError, Committed, Request};
pub(crate) use guard::GuardedLog;
pub(crate) use pages::{open_of, pages};
pub(crate) use pause::{PauseEvent, PauseSwitch};
pub(crate) use stop::Stop;
pub(crate) use time::EngineTime;

use crate::action::{ActionId, AnswerBody, Event};
use crate::engine::Versioned;
use crate::limits::REPLAY_PAGE;
use crate::scheduler::{Board, Inbox};
use counts::Tally;
use waiters::Waiters;

/// An error of another layer, kept as the cause.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The actions of one log.
pub(crate) struct Store {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) time: Arc<EngineTime>,
    pub(crate) tally: Tally,
    pub(crate) waiters: Waiters,
    pub(crate) stop: Arc<Stop>,
    pub(crate) pause: PauseSwitch,
    /// Where what is due now is handed over.
    pub(crate) inbox: Arc<Inbox>,
    /// Who waits for work that is pulled.
    pub(crate) board: Board,
    /// Appends hold it shared; a checkpoint of the totals holds it alone, so that they are exact.
    gate: RwLock<()>,
    /// Appends since the last checkpoint.
    since_checkpoint: AtomicU64,
}

impl Store {
    /// A store over an open log; its tally is still empty.
    pub(crate) fn new(
        log: Arc<dyn EventLog>,
        time: Arc<EngineTime>,
        inbox: Arc<Inbox>,
        board: Board,
        stop: Arc<Stop>,
    ) -> Result<Self, CommitError> {
        Ok(Self {
            pause: PauseSwitch::load(log.as_ref())?,
            log,
            time,
            tally: Tally::default(),
            waiters: Waiters::default(),
            stop,
            inbox,
            board,
            gate: RwLock::new(()),
            since_checkpoint: AtomicU64::new(0),
        })
    }

    /// The action as it is now; none where there is no such action.
    pub(crate) fn load(&self, id: ActionId) -> Result<Option<Versioned>, LoadError> {
        load(self.log.as_ref(), id)
    }

    /// The answer of an action as it came, where that was kept beside its evidence.
    pub(crate) fn kept_answer(&self, id: ActionId) -> Result<Option<AnswerBody>, LoadError> {
        let stream = codec::stream_of(id);
        let (mut found, mut version) = (None, 0);
        loop {
            let page = self.log.read_stream(&stream, version, REPLAY_PAGE)?;
            let Some(last) = page.last() else {
                return Ok(found);
            };
            version = last.version;
            for record in &page {
                let event = codec::decode_event(record).map_err(|error| LoadError::View {
                    id,
                    reason: error.0,
                })?;
                if let Event::AnswerKept { body, .. } = event {
                    found = Some(body);
                }
            }
        }
    }
}

/// The view of an action.
pub(crate) fn load(log: &dyn EventLog, id: ActionId) -> Result<Option<Versioned>, LoadError> {
    let Some(bytes) = log.get(index::VIEW, id.as_bytes())? else {
        return Ok(None);
    };
    let view = codec::decode_view(&bytes).map_err(|error| LoadError::View {
        id,
        reason: error.0,
    })?;
    assert!(view.action.id == id, "a view stands under its own id");
    Ok(Some(view))
}

/// Why an action could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The store failed.
    #[error("the log cannot be read")]
    Read(#[from] ReadError),
    /// The view is damaged.
    #[error("the view of {id} is damaged ({reason}); start again, and it is built from the log")]
    View {
        /// Which action.
        id: ActionId,
        /// What is wrong.
        reason: String,
    },
}

/// Ends the process: going on would act on a state that cannot be (invariant I6).
pub(crate) fn fatal(message: &str) -> ! {
    tracing::error!("{message}; the process ends so that nothing is done on a wrong state");
    std::process::abort()
}

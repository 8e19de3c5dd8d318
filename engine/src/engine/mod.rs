//! The façade that everything above talks to.
//!
//! [`Engine::open`] recovers what a crash left behind and begins to work. Every answer that tells of
//! a change is given after the change is durable (invariant I5). Whoever asks is a
//! [`Principal`] taken from the credential of this request, so that each write is authorised at its
//! append (invariant I18), and what may not be seen is simply not there.
//!
//! * `types`: what is taken and answered. `submit`, `act`, `work`: what changes actions. `pause`:
//!   the switch that keeps calls from leaving. `query`, `events`: what reads them. `webhooks`: who is told
//!   of them. `runs`, `workflows`: runs. `alone`: one request at a time for each key. `observe`: log lines
//!   and metrics.

mod act;
mod alone;
mod attention;
mod events;
pub(crate) mod observe;
mod pause;
mod query;
mod resume;
mod runs;
mod runs_in;
mod runs_signal;
mod runs_start;
mod schedules;
pub(crate) mod submit;
mod types;
mod voters;
mod webhooks;
mod work;
mod workflows;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdpoint_storage::{AppendError, EventLog, ReadError};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::full;
use crate::identity::{Identity, Principal, ensure_indexes};
use crate::incarnation;
use crate::run::code::Workflows;
use crate::run::heal::Helper;
use crate::run::shell::Runs;
use crate::schedule::shell::Schedules;
use crate::scheduler::{Board, Dispatcher, Inbox, Work, recover};
use crate::store::{CommitError, EngineTime, GuardedLog, Stop, Store, kinds, rebuild, tools};
use crate::target::{HttpTarget, Locals, NetworkOptions, SecretFiles, SecretSource, Target, World};
use crate::time::{Entropy, Timestamp};
use crate::tool::Registry;
use crate::webhook::{Deliverer, Sender, Webhooks};

pub use attention::{ATTENTION_MAX, Attention, AttentionList, attention_in};
pub use events::{HISTORY_MAX, History};
pub use pause::{pause_in, paused_in, resume_in};
pub use query::LIST_MAX;
pub use resume::{FlagChange, Resumption};
pub(crate) use runs::WeakEngine;
pub use runs::{RunPage, RunQuery};
pub use runs_in::{receipt_in, run_in, runs_in};
pub(crate) use runs_start::ByHand;
pub use schedules::{NewSchedule, Upcoming};
pub use types::{
    ActError, Answered, Ballot, Counts, HistoryEntry, HttpTools, ListError, ListOrder, ListQuery,
    OpenError, Options, Page, Paused, RequestKey, RunOptions, Submission, SubmitError, Submitted,
    Versioned,
};
pub use webhooks::WebhookOptions;
pub use work::{Assignment, ClaimWish, WorkError, WorkId, WorkIdFormatError, WorkOutcome};

/// Submissions that may be worked on at once; each may be reading a state. Beyond it they are
/// refused before anything is stored (invariant I21).
const SUBMISSIONS_MAX: usize = 1024;

/// A running engine. Cheap to clone.
///
/// When the last clone is dropped without [`Engine::shutdown`], it stops as if the process had died:
/// an attempt on its way is unknown at the next start.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<Store>,
    work: Arc<Work>,
    identity: Identity,
    entropy: Arc<dyn Entropy>,
    submissions: Semaphore,
    /// Request keys that are being worked on, by the key of their claim.
    in_progress: Arc<Mutex<HashSet<Vec<u8>>>>,
    dispatcher: Mutex<Option<JoinHandle<()>>>,
    /// Sends webhooks.
    sender: Arc<Sender>,
    deliverer: Mutex<Option<JoinHandle<()>>>,
    runs: Arc<Runs>,
    schedules: Arc<Schedules>,
    workflows: Workflows,
    helper: Option<Arc<dyn Helper>>,
    /// What carries runs on.
    drivers: TaskTracker,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.store.stop.begin();
        for task in [&mut self.dispatcher, &mut self.deliverer] {
            let task = task.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(task) = task.take() {
                task.abort();
            }
        }
    }
}

impl Engine {
    /// Starts an engine on a log: recovers what a crash left behind, then begins to work.
    ///
    /// Indexes that are missing or of another version are built from the log first.
    pub async fn open(
        log: Arc<dyn EventLog>,
        registry: Arc<Registry>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let Options {
            clock,
            entropy,
            network,
            locals,
            target,
            secrets,
            calls_max,
            confirm_restore,
            record_tools,
            webhooks,
            runs,
        } = options;
        let stop = Arc::new(Stop::default());
        let log: Arc<dyn EventLog> = Arc::new(GuardedLog::new(log, Arc::clone(&stop)));
        kinds::check(log.as_ref())?;
        if !confirm_restore {
            incarnation::refuse_unconfirmed(log.as_ref())?;
        }
        if rebuild::ensure(log.as_ref()).await? {
            tracing::info!("the indexes were built from the log");
        }
        let inbox = Arc::new(Inbox::new());
        let log_time = time_of(log.as_ref()).map_err(|error| OpenError::Store(Box::new(error)))?;
        let time = Arc::new(EngineTime::new(clock, log_time));
        let (own_time, own_inbox) = (Arc::clone(&time), Arc::clone(&inbox));
        let board = Board::new(&registry);
        let store = Store::new(Arc::clone(&log), own_time, own_inbox, board, stop)
            .map_err(|error| OpenError::Store(Box::new(error)))?;
        let store = Arc::new(store);
        store.tally.start(log.as_ref())?;
        if confirm_restore {
            incarnation::confirm(log.as_ref(), entropy.as_ref(), time.now()).await?;
        }
        if record_tools {
            note_tools(log.as_ref(), &registry, time.now()).await?;
        }
        take_up(&store, confirm_restore).await?;
        ensure_indexes(log.as_ref())
            .await
            .map_err(|error| OpenError::Store(Box::new(error)))?;
        let identity = Identity::open(Arc::clone(&log), time.clone(), Arc::clone(&entropy))
            .map_err(|error| OpenError::Store(Box::new(error)))?;
        if confirm_restore {
            become_own(log.as_ref(), &identity).await?;
        }
        let WebhookOptions {
            key,
            public_url,
            notifier,
        } = webhooks;
        let has_key = key.is_ok();
        let hooks = Webhooks::open(log, time, Arc::clone(&entropy), key)
            .map_err(|error| OpenError::Store(Box::new(error)))?;
        let sender = Arc::new(Sender {
            hooks,
            store: Arc::clone(&store),
            identity: identity.clone(),
            notifier: notifier.unwrap_or_else(|| Arc::new(HttpTarget::strict(network.clone()))),
            base: public_url.unwrap_or_default(),
        });
        let work = Arc::new(Work {
            store: Arc::clone(&store),
            registry: with_built_in(registry, runs.http),
            world: world(target, &network, runs.http, locals, secrets),
        });
        let dispatcher = inbox.receivers().map(|receivers| {
            tokio::spawn(Dispatcher::new(Arc::clone(&work), receivers, calls_max).run())
        });
        let changed = Arc::clone(&work);
        tokio::spawn(async move { changed.end_changed().await });
        let deliverer = has_key.then(|| tokio::spawn(Deliverer::new(Arc::clone(&sender)).run()));
        let schedules = Schedules::load(Arc::clone(&store))
            .map_err(|error| OpenError::Store(Box::new(error)))?;
        let inner = Inner {
            runs: Arc::new(Runs::new(Arc::clone(&store))),
            store,
            work,
            identity,
            entropy,
            submissions: Semaphore::new(SUBMISSIONS_MAX),
            in_progress: Arc::default(),
            dispatcher: Mutex::new(dispatcher),
            sender,
            deliverer: Mutex::new(deliverer),
            schedules: Arc::new(schedules),
            workflows: runs.workflows,
            helper: runs.helper,
            drivers: TaskTracker::new(),
        };
        let inner = Arc::new(inner);
        let engine = Self { inner };
        if runs.resume {
            engine.go_on_with_runs()?;
        }
        Ok(engine)
    }

    /// Goes on with what nobody sits before, and starts what schedules say.
    fn go_on_with_runs(&self) -> Result<(), OpenError> {
        self.resume_unattended()
            .map_err(|error| OpenError::Store(Box::new(error)))?;
        self.start_clock();
        Ok(())
    }

    /// The tools that exist.
    pub fn registry(&self) -> &Registry {
        &self.inner.work.registry
    }

    /// People and keys.
    pub fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    /// The log underneath.
    pub fn log(&self) -> &Arc<dyn EventLog> {
        &self.inner.store.log
    }

    /// Now; never earlier than any answer before (invariant I9).
    pub fn now(&self) -> Timestamp {
        self.inner.store.time.now()
    }

    /// Whether the engine can take actions; else why not.
    pub fn ready(&self) -> Result<(), String> {
        let store = &self.inner.store;
        store.stop.may_begin().map_err(|error| error.to_string())?;
        match store.log.may_append() {
            Err(AppendError::Full { .. }) => Err(full::WORDS.to_owned()),
            other => other.map_err(|error| error.to_string()),
        }
    }

    /// Makes the scheduler look at the clock, for whoever has just set it.
    pub fn wake(&self) {
        self.inner.store.inbox.wake();
        self.inner.store.board.wake_all();
        self.inner.sender.hooks.wake();
        self.inner.runs.wake();
        self.inner.schedules.wake();
    }

    /// Stops taking, finishes or parks what is on its way, and flushes.
    ///
    /// A call that has not ended after `at_most` is cut off; it is unknown at the next start.
    pub async fn shutdown(&self, at_most: Duration) {
        let store = &self.inner.store;
        store.stop.begin();
        let until = Instant::now() + at_most;
        for (task, what) in [
            (&self.inner.dispatcher, "calls"),
            (&self.inner.deliverer, "webhooks"),
        ] {
            let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(mut task) = task
                && tokio::time::timeout_at(until, &mut task).await.is_err()
            {
                tracing::warn!("{what} that did not end in time were cut off");
                task.abort();
                // What was being written is finished by the log itself.
                let _cancelled = task.await;
            }
        }
        self.inner.drivers.close();
        if tokio::time::timeout_at(until, self.inner.drivers.wait())
            .await
            .is_err()
        {
            tracing::warn!("runs that did not rest in time were cut off");
        }
        store.checkpoint().await;
        store.log.close().await;
    }
}

/// Settles what a crash left behind.
async fn take_up(store: &Arc<Store>, restored: bool) -> Result<(), OpenError> {
    let lost = recover(store, restored)
        .await
        .map_err(|error| OpenError::Store(Box::new(error)))?;
    if 0 < lost {
        tracing::warn!("{lost} calls were on their way when the process stopped: now unknown");
    }
    Ok(())
}

/// Makes a copy the log. Until every attempt that was on its way is unknown, and nobody is signed in who
/// may have been signed out since, it is an unconfirmed one.
async fn become_own(log: &dyn EventLog, identity: &Identity) -> Result<(), OpenError> {
    identity
        .end_everything(incarnation::OPERATOR)
        .await
        .map_err(|error| OpenError::Store(Box::new(error)))?;
    log.confirm_origin()
        .map_err(|error| OpenError::Store(Box::new(error)))
}

/// Records which tools there are since this start. On a full disk they are recorded by the next one.
async fn note_tools(
    log: &dyn EventLog,
    registry: &Registry,
    at: Timestamp,
) -> Result<(), OpenError> {
    match tools::record(log, registry, at).await {
        Ok(true) => {
            tracing::info!(digest = %registry.digest(), "these tools are new, and recorded");
        }
        Ok(false) => {}
        Err(error @ (CommitError::Full(_) | CommitError::TooLarge(_))) => {
            let digest = registry.digest();
            tracing::warn!(%digest, "these tools are new, and the next start records it: {error}");
        }
        Err(error) => return Err(OpenError::Store(Box::new(error))),
    }
    Ok(())
}

/// The tools of the file, and the built-in ones where runs have them.
fn with_built_in(registry: Arc<Registry>, http: HttpTools) -> Arc<Registry> {
    match http {
        HttpTools::Off => registry,
        HttpTools::Guarded | HttpTools::Open => {
            Arc::new(Registry::clone(&registry).with_built_in())
        }
    }
}

/// The way out: what the tools file names may be local, what arguments name only where that is open.
fn world(
    target: Option<Arc<dyn Target>>,
    network: &NetworkOptions,
    http: HttpTools,
    locals: Locals,
    secrets: Option<Arc<dyn SecretSource>>,
) -> World {
    let secrets = secrets.unwrap_or_else(|| Arc::new(SecretFiles));
    if let Some(target) = target {
        return World::new(Arc::clone(&target), target, locals, secrets);
    }
    let named: Arc<dyn Target> = Arc::new(HttpTarget::new(network.clone()));
    let asked: Arc<dyn Target> = match http {
        HttpTools::Open => Arc::clone(&named),
        HttpTools::Off | HttpTools::Guarded => Arc::new(HttpTarget::strict(network.clone())),
    };
    World::new(named, asked, locals, secrets)
}

/// Whether the principal may see the action.
pub(crate) fn may_see(by: &Principal, action: &crate::action::Action) -> bool {
    let caller = &action.proposal.caller;
    by.sees_all() || caller.id == by.id || caller.owner.as_ref() == Some(&by.id)
}

fn time_of(log: &dyn EventLog) -> Result<Timestamp, ReadError> {
    let last = log.stats()?.last_position;
    let records = log.read_all(last.saturating_sub(1), 1)?;
    Ok(records
        .last()
        .map_or(Timestamp(i64::MIN), |record| Timestamp(record.time_ms)))
}

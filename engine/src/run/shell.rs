//! Runs in the log: decide, append durably, and only then let anybody know.
//!
//! A run that somebody works on is in memory once, however many look at it; one that nobody works on
//! is not there at all, so that what is over costs nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex as PlainMutex, PoisonError, Weak};

use holdpoint_storage::{Batch, Claim, StreamAppend, Version};
use tokio::sync::{Mutex, watch};

use super::carrying::Carrying;
use super::decide::{Command, decide};
use super::event::{End, Event, Start};
use super::evolve::evolve;
use super::id::RunId;
use super::layout::{self, LoadRunError};
use super::refusal::RunRefusal;
use super::shares::Shares;
use super::state::Run;
use crate::action::{ActionId, Instigator};
use crate::canon::CanonicalJson;
use crate::limits::{RUNS_CARRIED_MAX, RUNS_PER_CALLER_MAX};
use crate::scheduler::ENGINE;
use crate::skill::SkillErrors;
use crate::store::{BoxError, CommitError, Store, pages};
use crate::target::given::Given;
use crate::time::Timestamp;

/// The runs of one log.
pub(crate) struct Runs {
    pub(crate) store: Arc<Store>,
    pub(crate) shares: Arc<Shares>,
    live: PlainMutex<HashMap<RunId, Weak<Live>>>,
    /// Makes whoever waits for a moment look at the clock.
    woken: watch::Sender<u64>,
}

/// A run that somebody works on.
pub(crate) struct Live {
    pub(crate) id: RunId,
    /// How many events it has; held while something is decided and written.
    version: Mutex<Version>,
    changed: watch::Sender<Arc<Run>>,
    /// Held while somebody is put on the asking side of its actions, and while one is made. Actions of others
    /// that stand for steps of it in this process.
    pub(crate) asking: Mutex<BTreeSet<ActionId>>,
    /// Its secret inputs, as far as they were given to this process.
    pub(crate) given: Arc<Given>,
    /// Whether somebody carries it on.
    pub(crate) carrying: Carrying,
}

/// Why a run was not changed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no such run, or the principal may not see it.
    #[error("there is no such run")]
    NotFound,
    /// The principal may see it, but not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The core says no.
    #[error(transparent)]
    Refused(#[from] RunRefusal),
    /// The skill file cannot be read.
    #[error("the skill file cannot be read")]
    BadSkill(#[source] SkillErrors),
    /// The inputs are not those of the file; a line each.
    #[error("{}", .0.join("\n"))]
    BadInputs(Vec<String>),
    /// The tools are not those of the file; a line each.
    #[error("{}", .0.join("\n"))]
    BadTools(Vec<String>),
    /// Steps of the file could not be made; a line each.
    #[error("{}", .0.join("\n"))]
    BadSteps(Vec<String>),
    /// Something that was asked for cannot be.
    #[error("{0}")]
    Invalid(String),
    /// The key of the request stands for another one.
    #[error("this key was used before for another request; use a new one")]
    KeyReused {
        /// The run that it stands for, where the principal may see it.
        first: Option<RunId>,
    },
    /// So many runs are carried on that there is no room for another one.
    #[error("{RUNS_CARRIED_MAX} runs are under way already; nothing was started")]
    Overloaded,
    /// There is no room in the store. Nothing was written, and the same may succeed later.
    #[error("there is no room in the store now; nothing was written")]
    NoRoom(#[source] BoxError),
    /// Whoever it is for has so many under way that there is no room for another one of theirs.
    #[error(
        "{RUNS_PER_CALLER_MAX} runs of this caller are under way already; nothing was started; wait until some have ended, or call some off"
    )]
    TooManyOwn,
    /// The store cannot take it now. Nothing was acknowledged.
    #[error("the store cannot take it now")]
    Unavailable(#[source] BoxError),
}

impl From<LoadRunError> for RunError {
    fn from(error: LoadRunError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl From<CommitError> for RunError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::TooLarge(message) => Self::Invalid(message),
            CommitError::Full(source) => Self::NoRoom(source),
            CommitError::Unavailable(source) => Self::Unavailable(source),
            error @ (CommitError::Refused(_)
            | CommitError::Conflict
            | CommitError::ClaimTaken { .. }
            | CommitError::Missing) => Self::Unavailable(Box::new(error)),
        }
    }
}

impl Live {
    /// The run as it is, and a way to learn of changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Run>> {
        self.changed.subscribe()
    }

    /// The run as it is.
    pub(crate) fn run(&self) -> Arc<Run> {
        Arc::clone(&self.changed.borrow())
    }
}

impl Runs {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            shares: Arc::default(),
            live: PlainMutex::default(),
            woken: watch::Sender::new(0),
        }
    }

    /// Makes whoever waits for a moment look at the clock.
    pub(crate) fn wake(&self) {
        self.woken.send_modify(|count| *count += 1);
    }

    /// Learns when to look at the clock.
    pub(super) fn woken(&self) -> watch::Receiver<u64> {
        self.woken.subscribe()
    }

    /// A new run that `by` starts, durable before this answers, in one write with a claim; answers what
    /// its holder left where it is held.
    pub(crate) async fn start(
        self: &Arc<Self>,
        id: RunId,
        by: Instigator,
        start: Start,
        claim: Option<Claim>,
    ) -> Result<Result<Arc<Live>, Vec<u8>>, RunError> {
        let at = self.store.time.now();
        let actor = by.id.clone();
        let wishes = vec![Command::Start(Box::new(start)), Command::Instigate { by }];
        let (run, events) = after(None, id, wishes, at)?;
        let mut batch = batch(&run, 0, &events, &actor, at)?;
        batch.claims.extend(claim);
        match self.store.append(batch).await {
            Ok(()) => {}
            Err(CommitError::ClaimTaken { holder, .. }) => return Ok(Err(holder)),
            Err(error) => return Err(error.into()),
        }
        // Somebody may have found it in the log already, and there is one of it.
        self.open(id).map(Ok)
    }

    /// A run to work on, made from its stream where nobody works on it.
    pub(crate) fn open(&self, id: RunId) -> Result<Arc<Live>, RunError> {
        // Held while it is made, so that there is one of it.
        let mut all = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = all.get(&id).and_then(Weak::upgrade) {
            return Ok(live);
        }
        let loaded = layout::load(self.store.log.as_ref(), id)?;
        let (run, version) = loaded.ok_or(RunError::NotFound)?;
        let live = Arc::new(Live::of(run, version));
        all.retain(|_, other| other.strong_count() != 0);
        all.insert(id, Arc::downgrade(&live));
        Ok(live)
    }

    /// Whether somebody carries the run on.
    pub(crate) fn is_driven(&self, id: RunId) -> bool {
        let all = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let live = all.get(&id).and_then(Weak::upgrade);
        live.is_some_and(|live| live.carrying.is_on())
    }

    /// How many runs are in memory: those that somebody works on or looks at.
    pub(crate) fn in_memory(&self) -> usize {
        let all = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().filter(|live| live.strong_count() != 0).count()
    }

    /// Decides one wish and waits until it is durable and known. Answers with the run afterwards.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        live: &Arc<Live>,
        actor: &str,
        command: Command,
    ) -> Result<Arc<Run>, RunError> {
        self.commit_all(live, actor, vec![command]).await
    }

    /// The same for several wishes in one append: there is no moment at which some of them came true.
    pub(crate) async fn commit_all(
        self: &Arc<Self>,
        live: &Arc<Live>,
        actor: &str,
        wishes: Vec<Command>,
    ) -> Result<Arc<Run>, RunError> {
        let done = self.commit_with(live, actor, wishes, None).await?;
        done.map_err(|_| CommitError::Conflict.into())
    }

    /// The same in one write with a claim; answers what its holder left where it is held.
    pub(super) async fn commit_with(
        self: &Arc<Self>,
        live: &Arc<Live>,
        actor: &str,
        wishes: Vec<Command>,
        claim: Option<Claim>,
    ) -> Result<Result<Arc<Run>, Vec<u8>>, RunError> {
        let (runs, live, actor) = (Arc::clone(self), Arc::clone(live), actor.to_owned());
        // A task of its own: what is durable must also be so in memory, whoever goes away.
        let task = tokio::spawn(async move {
            let mut version = live.version.lock().await;
            runs.store.may_answer()?;
            let run = live.run();
            let at = runs.store.time.now();
            let (next, events) = after(Some(&run), live.id, wishes, at)?;
            if events.is_empty() {
                return Ok(Ok(run));
            }
            let mut batch = batch(&next, *version, &events, &actor, at)?;
            batch.claims.extend(claim);
            match runs.store.append(batch).await {
                Ok(()) => {}
                Err(CommitError::ClaimTaken { holder, .. }) => return Ok(Err(holder)),
                Err(error) => return Err(error.into()),
            }
            *version += events.len() as u64;
            let shared = Arc::new(next);
            live.changed.send_replace(Arc::clone(&shared));
            Ok(Ok(shared))
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(RunError::Unavailable(Box::new(error))),
        }
    }

    /// Ends a run and starts the one that goes on from it, in one append: there is no moment at which
    /// there are both, or neither. Events that the first was sent and did not take go along. Answers
    /// nothing, and changes nothing, where somebody called the first off.
    pub(crate) async fn continue_as(
        self: &Arc<Self>,
        live: &Arc<Live>,
        start: Start,
    ) -> Result<Option<Arc<Live>>, RunError> {
        let (runs, live) = (Arc::clone(self), Arc::clone(live));
        let task = tokio::spawn(async move {
            let mut version = live.version.lock().await;
            let at = runs.store.time.now();
            let run = live.run();
            if run.cancel.is_some() {
                return Ok(None);
            }
            let id = RunId::following(run.id, at);
            let mut wishes = vec![Command::Start(Box::new(start))];
            let instigators = run.instigators.iter().cloned();
            wishes.extend(instigators.map(|by| Command::Instigate { by }));
            wishes.extend(run.not_taken().map(|(name, data)| Command::Signal {
                name: name.to_owned(),
                data: data.clone(),
            }));
            let (next, begun) = after(None, id, wishes, at)?;
            let end = Command::End {
                end: End::Continued(id),
                output: CanonicalJson::of(&serde_json::Value::Null),
                message: None,
            };
            let (ended, ends) = after(Some(&run), run.id, vec![end], at)?;
            let mut all = batch(&ended, *version, &ends, ENGINE, at)?;
            let begins = batch(&next, 0, &begun, ENGINE, at)?;
            all.streams.extend(begins.streams);
            all.puts.extend(begins.puts);
            all.deletes.extend(begins.deletes);
            runs.store.append(all).await?;
            *version += ends.len() as u64;
            live.changed.send_replace(Arc::new(ended));
            runs.open(id).map(Some)
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(RunError::Unavailable(Box::new(error))),
        }
    }

    /// Every run that is not over.
    pub(crate) fn unfinished(&self) -> Result<Vec<RunId>, RunError> {
        let mut found = Vec::new();
        for entries in pages(self.store.log.as_ref(), layout::OPEN, &[]) {
            let entries = entries.map_err(|error| RunError::Unavailable(Box::new(error)))?;
            let ids = entries.into_iter().filter_map(|(key, _)| {
                let id = key.try_into().ok()?;
                Some(RunId::from_bytes(id))
            });
            found.extend(ids);
        }
        Ok(found)
    }
}

impl Live {
    fn of(run: Run, version: Version) -> Self {
        Self {
            id: run.id,
            changed: watch::Sender::new(Arc::new(run)),
            version: Mutex::new(version),
            asking: Mutex::default(),
            given: Arc::default(),
            carrying: Carrying::default(),
        }
    }
}

/// What a run is after some wishes, and the events that make it so.
pub(super) fn after(
    run: Option<&Run>,
    id: RunId,
    wishes: Vec<Command>,
    at: Timestamp,
) -> Result<(Run, Vec<Event>), RunError> {
    let (mut state, mut all) = (run.cloned(), Vec::new());
    for wish in wishes {
        for event in decide(state.as_ref(), wish)? {
            state = Some(evolve(state, id, at, &event).map_err(RunError::Invalid)?);
            all.push(event);
        }
    }
    let run = state.ok_or(RunRefusal::Start)?;
    Ok((run, all))
}

fn batch(
    run: &Run,
    expected: Version,
    events: &[Event],
    actor: &str,
    at: Timestamp,
) -> Result<Batch, RunError> {
    let too_large = |error: crate::store::codec::CodecError| RunError::Invalid(error.0);
    let records = events
        .iter()
        .map(|event| layout::record(event, actor, at))
        .collect::<Result<_, _>>()
        .map_err(too_large)?;
    let (puts, deletes) = layout::entries(run).map_err(too_large)?;
    Ok(Batch {
        streams: vec![StreamAppend {
            stream: layout::stream_of(run.id),
            expected,
            records,
        }],
        puts,
        deletes,
        ..Batch::default()
    })
}

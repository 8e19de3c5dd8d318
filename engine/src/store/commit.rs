//! One command: decided, appended durably, then made known.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use holdpoint_storage::log::BODY_BYTES_MAX;
use holdpoint_storage::{AppendError, Batch, Claim, IndexPut, StreamAppend};

use super::codec::{self, CodecError};
use super::index::{self, Entries};
use super::{BoxError, LoadError, Store, careless, fatal, kinds};
use crate::action::{Action, ActionId, Command, Event, Refusal, decide, evolve};
use crate::engine::{Versioned, observe};
use crate::time::Timestamp;

/// How often a command is decided again because somebody else was first. More than everybody who
/// can usefully write to one action at one moment.
const CONFLICTS_MAX: u32 = 512;

/// Appends between two checkpoints of the totals: what a start after a crash has to count again.
const CHECKPOINT_APPENDS: u64 = 20_000;

/// What a new action leaves free in its view for all that may still be said about it: a state that
/// grows, what moved in it, votes.
const ROOM_OF_NEW: usize = 3 * 512 * 1024;

/// What is left free when people vote or make a run go on, and when a call leaves, so that its outcome can
/// be stored.
const ROOM_FOR_OUTCOME: usize = 512 * 1024;

/// A command on its way into the log.
pub(crate) struct Request {
    /// The action as it was loaded; none for a new one.
    pub(crate) before: Option<Versioned>,
    /// Which action.
    pub(crate) id: ActionId,
    /// The wish.
    pub(crate) command: Command,
    /// Who: an id, or `engine`.
    pub(crate) actor: String,
    /// What else must be free.
    pub(crate) claims: Vec<Claim>,
    /// Claims that are given back first.
    pub(crate) releases: Vec<Vec<u8>>,
    /// Now, as in the command.
    pub(crate) at: Timestamp,
}

/// What became of a command. Only a durable append makes one.
pub(crate) struct Committed {
    view: Versioned,
    events: Vec<Event>,
}

impl Committed {
    /// What happened; empty where the command repeated what was already so.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The action afterwards.
    pub(crate) fn view(&self) -> &Versioned {
        &self.view
    }

    /// The same, for good.
    pub(crate) fn into_view(self) -> Versioned {
        self.view
    }
}

/// Why a command had no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// The core says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Somebody else was first; load and decide again.
    #[error("the action has changed in the meantime")]
    Conflict,
    /// A claim is held.
    #[error("a claim is held")]
    ClaimTaken {
        /// Which.
        key: Vec<u8>,
        /// What its holder left.
        holder: Vec<u8>,
    },
    /// It can never be stored.
    #[error("{0}")]
    TooLarge(String),
    /// There is no such action.
    #[error("there is no such action")]
    Missing,
    /// There is no room. Nothing was written, and the same may succeed later.
    #[error("the store cannot take it now")]
    Full(#[source] BoxError),
    /// The store failed, or has stopped.
    #[error("the store cannot take it now")]
    Unavailable(#[source] BoxError),
}

impl From<AppendError> for CommitError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::VersionConflict { .. } => Self::Conflict,
            AppendError::ClaimTaken { key, holder } => Self::ClaimTaken { key, holder },
            AppendError::Invalid { reason } => Self::TooLarge(reason),
            error @ AppendError::Full { .. } => Self::Full(Box::new(error)),
            error @ (AppendError::Io(_) | AppendError::Stopped { .. }) => {
                Self::Unavailable(Box::new(error))
            }
        }
    }
}

impl From<LoadError> for CommitError {
    fn from(error: LoadError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl Store {
    /// Loads, decides and appends; again where somebody else was first.
    pub(crate) async fn act(
        self: &Arc<Self>,
        id: ActionId,
        actor: &str,
        wish: impl Fn(Timestamp) -> Command,
    ) -> Result<Committed, CommitError> {
        for _ in 0..CONFLICTS_MAX {
            let before = self.load(id)?.ok_or(CommitError::Missing)?;
            let at = self.time.now();
            let request = Request {
                before: Some(before),
                id,
                command: wish(at),
                actor: actor.to_owned(),
                claims: Vec::new(),
                releases: Vec::new(),
                at,
            };
            match self.commit(request).await {
                Err(CommitError::Conflict) => tokio::task::yield_now().await,
                other => return other,
            }
        }
        Err(CommitError::Conflict)
    }

    /// Decides one command on the state it was made for, and waits until the outcome is durable and
    /// known to everybody who waits for it.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        request: Request,
    ) -> Result<Committed, CommitError> {
        self.may_answer()?;
        let state = request.before.as_ref().map(|before| &before.action);
        let events = decide(state, request.command)?;
        if events.is_empty() {
            let Some(view) = request.before else {
                return Err(CommitError::Missing);
            };
            return Ok(Committed { view, events });
        }
        let from = state.map(Action::status);
        let old = state.map(Entries::of).unwrap_or_default();
        let was_leased = state.is_some_and(Action::is_leased);
        let expected = request.before.as_ref().map_or(0, |before| before.version);
        let action = apply(
            request.before.map(|before| before.action),
            request.id,
            &events,
        );
        let view = Versioned {
            action,
            version: expected + events.len() as u64,
        };
        let too_large = |error: CodecError| CommitError::TooLarge(error.0);
        let records = events
            .iter()
            .map(|event| codec::encode_event(event, &request.actor, request.at))
            .collect::<Result<_, _>>()
            .map_err(too_large)?;
        let new = Entries::of(&view.action);
        let puts = puts_of(&view, &old).map_err(too_large)?;
        check_room(&puts, &events)?;
        let batch = Batch {
            streams: vec![StreamAppend {
                stream: codec::stream_of(request.id),
                expected,
                records,
            }],
            puts,
            deletes: old
                .without(&new)
                .map(|entry| (entry.index, entry.key))
                .collect(),
            claims: request.claims,
            releases: request.releases,
        };
        // A task of its own: a caller who goes away must not keep others from learning of it.
        let store = Arc::clone(self);
        let task = tokio::spawn(async move {
            {
                let _shared = store.gate.read().await;
                store.append(batch).await?;
                store
                    .tally
                    .moved(view.action.id, from, view.action.status());
            }
            store.lease_moved(&view.action, was_leased);
            store.make_known(&view, &events).await;
            Ok(Committed { view, events })
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(CommitError::Unavailable(Box::new(error))),
        }
    }

    /// Fails once a write failed: what is in memory may then be older than the log, so that not even
    /// "it is so already" is known (invariant I22).
    pub(crate) fn may_answer(&self) -> Result<(), CommitError> {
        let stopped = |error| CommitError::Unavailable(Box::new(error));
        self.stop.may_write().map_err(stopped)
    }

    /// Claims a key without anything else, where it is free.
    pub(crate) async fn claim(&self, claim: Claim) -> Result<(), CommitError> {
        self.may_answer()?;
        self.append(Batch {
            claims: vec![claim],
            ..Batch::default()
        })
        .await
    }

    pub(crate) async fn append(&self, batch: Batch) -> Result<(), CommitError> {
        careless::append(&self.log, batch).await?;
        Ok(())
    }

    /// Counts the leases of each tool.
    fn lease_moved(&self, action: &Action, was_leased: bool) {
        let tool = &action.proposal.tool;
        match (was_leased, action.is_leased()) {
            (false, true) => self.board.lease_began(tool),
            (true, false) => self.board.lease_ended(tool),
            (false, false) | (true, true) => {}
        }
    }

    /// What may only be known once it is durable (I5).
    async fn make_known(&self, view: &Versioned, events: &[Event]) {
        let action = &view.action;
        observe::events(action, events);
        self.waiters.wake(action.id, view.version);
        self.inbox.offer(action, self.time.now());
        if action.is_pulled() {
            self.board.offer(action);
        }
        if self.since_checkpoint.fetch_add(1, Ordering::Relaxed) + 1 == CHECKPOINT_APPENDS {
            self.since_checkpoint.store(0, Ordering::Relaxed);
            self.checkpoint().await;
        }
    }

    /// Stores the totals of final actions. Failing to costs a slower start, nothing else.
    pub(crate) async fn checkpoint(&self) {
        let _alone = self.gate.write().await;
        if self.stop.may_write().is_err() {
            return;
        }
        let Ok(stats) = self.log.stats() else {
            return;
        };
        let position = stats.last_position;
        let (Ok(mut batch), Ok(kinds)) =
            (self.tally.checkpoint(position), kinds::checkpoint(position))
        else {
            return;
        };
        batch.puts.push(kinds);
        if let Err(error) = self.log.append(batch).await {
            tracing::warn!(%error, "the totals were not stored; the next start counts them again");
        }
    }
}

/// Refuses what would leave no room for what must be stored later: an outcome that cannot be stored
/// would stop the engine, at this start and at each that follows.
fn check_room(puts: &[IndexPut], events: &[Event]) -> Result<(), CommitError> {
    let room = events.iter().map(room_after).max().unwrap_or(0);
    let bound = BODY_BYTES_MAX - room;
    let longest = puts.iter().map(|put| put.value.len()).max().unwrap_or(0);
    if bound < longest {
        return Err(CommitError::TooLarge(format!(
            "the action with its arguments, request and state would take {longest} bytes, at most \
             {bound} can be kept"
        )));
    }
    Ok(())
}

fn room_after(event: &Event) -> usize {
    match event {
        Event::Staged { .. } | Event::Accepted { .. } => ROOM_OF_NEW,
        Event::VoteRecorded { .. }
        | Event::CommitRecorded { .. }
        | Event::ResendRecorded { .. }
        | Event::Restaged { .. }
        | Event::Instigated { .. } => ROOM_FOR_OUTCOME,
        Event::Refused { .. }
        | Event::Approved { .. }
        | Event::Rejected { .. }
        | Event::Expired { .. }
        | Event::Withdrawn { .. }
        | Event::Cancelled { .. }
        | Event::Deferred { .. }
        | Event::ReplanRequired { .. }
        | Event::AttemptSucceeded { .. }
        | Event::AttemptRefused { .. }
        | Event::AttemptNotDelivered { .. }
        | Event::AttemptUnknown { .. }
        | Event::FoundDone { .. }
        | Event::FoundNotDone { .. }
        | Event::CheckInconclusive { .. }
        | Event::Settled { .. }
        | Event::LateAnswer { .. }
        | Event::LeaseGranted { .. }
        | Event::LeaseExtended { .. }
        | Event::WorkReported { .. }
        | Event::Scheduled { .. }
        | Event::KeyKept { .. }
        | Event::Reminded { .. }
        | Event::ResendPlanned { .. }
        | Event::ResendFailed { .. }
        | Event::ResendDropped { .. }
        | Event::SecretNamed { .. }
        | Event::LeaseKeyed { .. }
        | Event::AnswerKept { .. } => 0,
    }
}

/// The entries of a view, and of the other indexes as far as they are not there already.
pub(crate) fn puts_of(view: &Versioned, old: &Entries) -> Result<Vec<IndexPut>, CodecError> {
    let mut puts = vec![IndexPut {
        index: index::VIEW,
        key: view.action.id.as_bytes().to_vec(),
        value: codec::encode_view(view)?,
    }];
    let new = Entries::of(&view.action);
    puts.extend(new.without(old).map(|entry| IndexPut {
        index: entry.index,
        key: entry.key,
        value: entry.value,
    }));
    Ok(puts)
}

fn apply(mut state: Option<Action>, id: ActionId, events: &[Event]) -> Action {
    for event in events {
        state = match evolve(state, id, event) {
            Ok(action) => Some(action),
            Err(error) => fatal(&format!(
                "{id}: an event that was just decided is illegal: {error}"
            )),
        };
    }
    match state {
        Some(action) => action,
        None => fatal(&format!(
            "{id}: a decision without events changed something"
        )),
    }
}

//! One task for each endpoint: asleep until the log grows, something about the endpoint changes, or
//! the moment of the next attempt comes. Nothing is polled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::{Record, Version};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::decide::Outcome;
use super::event::Cause;
use super::id::EndpointId;
use super::message::Message;
use super::send::{Sender, Sent, Told};
use super::store::ENGINE;
use crate::full::is_full;
use crate::identity::StoreError;
use crate::store::fatal;
use crate::time::Timestamp;

/// The longest sleep before an attempt: a wall clock that was set shows by then.
const SLEEP_MAX: Duration = Duration::from_mins(1);

/// After so many events that an endpoint does not hear of its place is stored, so that a restart
/// does not look at them again.
const PASSED_MAX: usize = 1000;

/// How long to wait before that is tried again which could not be read, or stored for want of room.
const LATER: Duration = Duration::from_mins(1);

/// Tells all endpoints.
pub(crate) struct Deliverer {
    sender: Arc<Sender>,
}

/// Why a task goes no further.
enum End {
    /// It is over: the engine stops, the endpoint was deleted, or the store failed.
    Over,
    /// Something could not be read or stored; it may be the next time.
    Later,
}

/// What became of a record.
enum Step {
    /// The endpoint does not hear of it.
    Passed,
    /// It was told.
    Told,
    /// Its place or its state is another one: begin again from there.
    Restart,
}

struct Worker {
    id: EndpointId,
    sender: Arc<Sender>,
}

impl Deliverer {
    pub(crate) fn new(sender: Arc<Sender>) -> Self {
        Self { sender }
    }

    /// Runs until the engine stops, then waits for what is on its way. To be dropped when that takes
    /// too long: a message that is cut off is sent again.
    pub(crate) async fn run(self) {
        let mut created = self.sender.hooks.created();
        let mut tasks = JoinSet::new();
        let mut known = BTreeSet::new();
        loop {
            created.borrow_and_update();
            let there: BTreeSet<_> = self.sender.hooks.list().iter().map(|it| it.id).collect();
            known.retain(|id| there.contains(id));
            for id in there {
                if known.insert(id) {
                    let sender = Arc::clone(&self.sender);
                    tasks.spawn(Worker { id, sender }.run());
                }
            }
            tokio::select! {
                biased;
                () = self.sender.store.stop.reached() => break,
                changed = created.changed() => if changed.is_err() { break },
                Some(ended) = tasks.join_next(), if !tasks.is_empty() => ensure_no_panic(&ended),
            }
        }
        while let Some(ended) = tasks.join_next().await {
            ensure_no_panic(&ended);
        }
    }
}

fn ensure_no_panic(ended: &Result<(), tokio::task::JoinError>) {
    if ended.as_ref().is_err_and(tokio::task::JoinError::is_panic) {
        fatal("an assertion failed while a webhook was delivered");
    }
}

impl Worker {
    async fn run(self) {
        let hooks = &self.sender.hooks;
        let Some(mut changed) = hooks.changed(self.id) else {
            return;
        };
        loop {
            changed.borrow_and_update();
            let Some(endpoint) = hooks.get(self.id) else {
                return;
            };
            let ended = if endpoint.is_enabled() {
                let from = (endpoint.place.epoch, endpoint.place.through);
                self.follow(from, &mut changed).await
            } else {
                self.until_changed(&mut changed).await
            };
            match ended {
                Ok(()) => {}
                Err(End::Over) => return,
                // Not for good: nobody would hear that it hears nothing (invariant I27).
                Err(End::Later) => {
                    let mut woken = hooks.woken();
                    tokio::select! {
                        biased;
                        () = self.sender.store.stop.reached() => return,
                        _ = woken.changed() => {}
                        () = tokio::time::sleep(LATER) => {}
                    }
                }
            }
        }
    }

    async fn until_changed(&self, changed: &mut watch::Receiver<u64>) -> Result<(), End> {
        tokio::select! {
            biased;
            () = self.sender.store.stop.reached() => Err(End::Over),
            changed = changed.changed() => changed.map_err(|_| End::Over),
        }
    }

    /// Follows the log from a place until somebody moves or disables the endpoint.
    async fn follow(
        &self,
        (epoch, through): (Version, u64),
        changed: &mut watch::Receiver<u64>,
    ) -> Result<(), End> {
        let hooks = &self.sender.hooks;
        // Only what is durable comes out of a subscription (invariant I5).
        let mut tail = self.sender.store.log.subscribe(through);
        let mut passed = 0;
        loop {
            let records = tokio::select! {
                biased;
                () = self.sender.store.stop.reached() => {
                    if 0 < passed {
                        self.stored(hooks.save_place(self.id).await)?;
                    }
                    return Err(End::Over);
                }
                changed = changed.changed() => {
                    changed.map_err(|_| End::Over)?;
                    let endpoint = hooks.get(self.id).ok_or(End::Over)?;
                    if endpoint.is_enabled() && endpoint.place.epoch == epoch {
                        continue;
                    }
                    return Ok(());
                }
                records = tail.next() => records.ok_or(End::Over)?,
            };
            let records = records.map_err(|error| self.failed(&error.into()))?;
            for record in &records {
                match self.one(record, epoch, changed).await? {
                    Step::Passed => passed += 1,
                    Step::Told => passed = 0,
                    Step::Restart => return Ok(()),
                }
                if PASSED_MAX <= passed {
                    self.stored(hooks.save_place(self.id).await)?;
                    passed = 0;
                }
            }
        }
    }

    /// Tells the endpoint of one record, however long it takes.
    async fn one(
        &self,
        record: &Record,
        epoch: Version,
        changed: &mut watch::Receiver<u64>,
    ) -> Result<Step, End> {
        let hooks = &self.sender.hooks;
        loop {
            let mut woken = hooks.woken();
            // Before the endpoint is read: an attempt that became due after somebody changed the
            // endpoint must see the change.
            let now = hooks.now();
            let endpoint = hooks.get(self.id).ok_or(End::Over)?;
            if !endpoint.is_enabled() || endpoint.place.epoch != epoch {
                return Ok(Step::Restart);
            }
            if record.position <= endpoint.place.through {
                return Ok(Step::Told);
            }
            let told = self.sender.told(&endpoint, record);
            let message = match told.map_err(|error| self.failed(&error))? {
                Told::Message(message) => message,
                Told::Nothing => {
                    let tried = endpoint.place.trying.map(|it| it.position);
                    if tried == Some(record.position) {
                        self.stored(hooks.drop_tried(self.id, epoch, record.position).await)?;
                    }
                    hooks.pass(self.id, epoch, record.position);
                    return Ok(Step::Passed);
                }
                Told::OwnerLost => {
                    let reason = "its owner is disabled, revoked or expired, so that there is \
                                  nothing that it may hear of";
                    return self.disable(Cause::OwnerLost, reason).await;
                }
            };
            let due = endpoint
                .place
                .trying
                .filter(|it| it.position == record.position);
            if let Some(due) = due.map(|it| it.next_at)
                && now < due
            {
                tokio::select! {
                    biased;
                    () = self.sender.store.stop.reached() => return Err(End::Over),
                    seen = changed.changed() => seen.map_err(|_| End::Over)?,
                    _ = woken.changed() => {}
                    () = sleep(due, now) => {}
                }
                continue;
            }
            if self.sender.store.stop.may_begin().is_err() {
                return Err(End::Over);
            }
            let Ok(sent) = self.sender.send(&endpoint, &message, None).await else {
                let reason = "its secret cannot be made: the key file is another one than before; \
                              rotate the secret, then enable it";
                return self.disable(Cause::SecretLost, reason).await;
            };
            let outcome = self.record(&endpoint, &message, &sent).await?;
            self.tell(&message, &sent, outcome);
            match outcome {
                Outcome::Delivered => return Ok(Step::Told),
                Outcome::Again(_) => {}
                Outcome::Stopped | Outcome::Overtaken => return Ok(Step::Restart),
            }
        }
    }

    /// Stores what became of an attempt. While that cannot be nothing else is sent, and the same not
    /// again.
    async fn record(
        &self,
        endpoint: &super::Endpoint,
        message: &Message,
        sent: &Sent,
    ) -> Result<Outcome, End> {
        loop {
            match self.sender.record(endpoint, message, sent).await {
                Err(error) if may_pass(&error) => {
                    tracing::error!(%error, webhook.id = %self.id, "how far {} is cannot be stored now", self.id);
                    tokio::select! {
                        biased;
                        () = self.sender.store.stop.reached() => return Err(End::Over),
                        () = tokio::time::sleep(LATER) => {}
                    }
                }
                other => return other.map_err(|error| self.failed(&error)),
            }
        }
    }

    async fn disable(&self, cause: Cause, reason: &str) -> Result<Step, End> {
        tracing::error!(webhook.id = %self.id, "{} is disabled: {reason}", self.id);
        let hooks = &self.sender.hooks;
        match hooks.disable(ENGINE, self.id, cause, reason).await {
            Ok(_) | Err(super::WebhookError::NotFound) => Ok(Step::Restart),
            Err(error) => {
                tracing::error!(%error, webhook.id = %self.id, "{} could not be disabled", self.id);
                Err(End::Later)
            }
        }
    }

    fn stored(&self, outcome: Result<(), StoreError>) -> Result<(), End> {
        match outcome {
            // The place is stored with the next message.
            Err(error) if is_full(&error) => Ok(()),
            other => other.map_err(|error| self.failed(&error)),
        }
    }

    fn failed(&self, error: &StoreError) -> End {
        if let StoreError::Append(_) = error {
            // Sending on without knowing what was stored would repeat without end (invariant I22).
            let store = &self.sender.store;
            store.stop.fail(&format!(
                "the store failed ({error}); repair it and start again"
            ));
            return End::Over;
        }
        let wait = LATER.as_secs();
        tracing::error!(%error, webhook.id = %self.id, "{} hears nothing now; again in {wait} s", self.id);
        End::Later
    }

    fn tell(&self, message: &Message, sent: &Sent, outcome: Outcome) {
        let (id, what) = (self.id, message.id);
        let why = sent.attempt.error.as_deref().unwrap_or_default();
        match outcome {
            Outcome::Delivered => tracing::debug!(webhook.id = %id, "{id} has taken {what}"),
            Outcome::Again(at) => {
                tracing::warn!(webhook.id = %id, "{id} has not taken {what} ({why}); again at {at}");
            }
            Outcome::Stopped => {
                tracing::error!(webhook.id = %id, "{id} is disabled: it has not taken {what} ({why})");
            }
            Outcome::Overtaken => {
                tracing::info!(webhook.id = %id, "{id} was changed while {what} was sent");
            }
        }
    }
}

/// Whether it may go well the next time: nothing was written, for want of room or of something to read.
fn may_pass(error: &StoreError) -> bool {
    match error {
        StoreError::Append(_) => is_full(error),
        StoreError::Read(_) | StoreError::Damaged { .. } => true,
        StoreError::Entropy(_) | StoreError::ShuttingDown => false,
    }
}

async fn sleep(until: Timestamp, now: Timestamp) {
    tokio::time::sleep(until.since(now).min(SLEEP_MAX)).await;
}

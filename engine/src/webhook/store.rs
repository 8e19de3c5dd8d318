//! Endpoints over a log: changed one after the other, each durable before it
//! is answered.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use holdpoint_storage::{Batch, EventLog, IndexPut, Position, StreamAppend, Version};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, watch};

use super::change::off;
use super::delivery::Delivery;
use super::endpoint::{Endpoint, Place, evolve};
use super::event::Event;
use super::id::{EndpointId, MessageId};
use super::kept::{Kept, make_room};
use super::key::SigningKey;
use super::layout::{
    DELIVERIES, ENDPOINTS, Loaded, PLACES, damaged, decode, encode, load, scan, stream_of,
};
use crate::identity::StoreError;
use crate::incarnation::Restores;
use crate::limits::{WEBHOOK_ENDPOINTS_MAX, WEBHOOK_SENDS_BY_HAND_MAX};
use crate::time::{Clock, Entropy, Timestamp};

/// The webhook endpoints of one log. Cheap to clone.
///
/// Only one `Webhooks` at a time may change the endpoints of one log: it learns of changes from
/// itself alone. Needs a Tokio runtime.
#[derive(Clone)]
pub struct Webhooks {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) log: Arc<dyn EventLog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    restores: Restores,
    /// What secrets are made from, or why nothing can be sent.
    pub(super) key: Result<SigningKey, String>,
    endpoints: RwLock<BTreeMap<EndpointId, Entry>>,
    /// Held while an endpoint is created.
    creating: Arc<Mutex<()>>,
    /// Messages that people send by hand, at once.
    pub(super) by_hand: Semaphore,
    /// Tells the deliverer of new endpoints.
    created: watch::Sender<u64>,
    /// Makes whoever waits for a moment look at the clock.
    woken: watch::Sender<u64>,
}

struct Entry {
    endpoint: Endpoint,
    version: Version,
    /// Held while something about it is decided and written.
    turn: Arc<Mutex<()>>,
    /// Counts changes; what waits for one looks again.
    changed: watch::Sender<u64>,
    /// The messages that are kept.
    kept: Kept,
}

/// The right to change one endpoint, or to create one.
pub(super) type Turn = OwnedMutexGuard<()>;

/// A change that is about to be written.
pub(super) struct Draft {
    pub(super) by: String,
    pub(super) at: Timestamp,
    pub(super) events: Vec<Event>,
    pub(super) place: Option<Place>,
    pub(super) deliveries: Vec<Delivery>,
}

impl Draft {
    /// One fact.
    pub(super) fn of(by: &str, at: Timestamp, event: Event) -> Self {
        Self {
            by: by.to_owned(),
            at,
            events: vec![event],
            place: None,
            deliveries: Vec::new(),
        }
    }
}

impl Webhooks {
    /// Loads the endpoints of a log. Where there is a reason instead of a key, none can be created and
    /// nothing is sent.
    pub fn open(
        log: Arc<dyn EventLog>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        key: Result<SigningKey, String>,
    ) -> Result<Self, StoreError> {
        let mut loaded = load(log.as_ref())?;
        let restores = Restores::read(log.as_ref())?;
        if let Err(why) = &key {
            for (endpoint, ..) in loaded.values_mut() {
                endpoint.silent = Some(off(why));
            }
        }
        metrics::gauge!("holdpoint_deliveries_off").set(if key.is_ok() { 0.0 } else { 1.0 });
        let endpoints = RwLock::new(
            loaded
                .into_iter()
                .map(|(id, loaded)| (id, Entry::new(loaded)))
                .collect(),
        );
        Ok(Self {
            inner: Arc::new(Inner {
                log,
                clock,
                entropy,
                restores,
                key,
                endpoints,
                creating: Arc::default(),
                by_hand: Semaphore::new(WEBHOOK_SENDS_BY_HAND_MAX),
                created: watch::Sender::new(0),
                woken: watch::Sender::new(0),
            }),
        })
    }

    /// Every endpoint, by the time of creation.
    pub fn list(&self) -> Vec<Endpoint> {
        self.read()
            .values()
            .map(|entry| entry.endpoint.clone())
            .collect()
    }

    /// One endpoint.
    pub fn get(&self, id: EndpointId) -> Option<Endpoint> {
        self.read().get(&id).map(|entry| entry.endpoint.clone())
    }

    /// The messages to an endpoint that are kept, the one that was sent last first.
    pub fn deliveries(&self, id: EndpointId) -> Result<Vec<Delivery>, StoreError> {
        let entries = scan(self.inner.log.as_ref(), id)?;
        let mut found = entries
            .iter()
            .map(|(_, value)| decode::<Delivery>(value))
            .collect::<Result<Vec<_>, _>>()?;
        found.sort_by_key(|delivery| {
            let last = delivery.attempts.last().map(|attempt| attempt.at);
            std::cmp::Reverse((last, delivery.id))
        });
        Ok(found)
    }

    /// The id of the message about the event at a position.
    pub(super) fn message_at(&self, endpoint: EndpointId, position: Position) -> MessageId {
        match self.inner.restores.at(position) {
            None => MessageId::Event { endpoint, position },
            Some(incarnation) => MessageId::Restored {
                endpoint,
                position,
                incarnation,
            },
        }
    }

    /// One message, where it is kept.
    pub fn delivery(&self, id: MessageId) -> Result<Option<Delivery>, StoreError> {
        let found = self.inner.log.get(DELIVERIES, &id.key())?;
        found.as_deref().map(decode).transpose()
    }

    /// Makes whoever waits for a moment look at the clock.
    pub(crate) fn wake(&self) {
        self.inner.woken.send_modify(|count| *count += 1);
    }

    pub(super) fn woken(&self) -> watch::Receiver<u64> {
        self.inner.woken.subscribe()
    }

    pub(super) fn created(&self) -> watch::Receiver<u64> {
        self.inner.created.subscribe()
    }

    pub(super) fn changed(&self, id: EndpointId) -> Option<watch::Receiver<u64>> {
        self.read().get(&id).map(|entry| entry.changed.subscribe())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    // No code that runs under the lock can panic half-way through a change.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<EndpointId, Entry>> {
        let lock = &self.inner.endpoints;
        lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<EndpointId, Entry>> {
        let lock = &self.inner.endpoints;
        lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else is changing the endpoint; none where there is no such endpoint.
    /// Nobody gets a turn after a write that failed: what is in memory may then be older than the
    /// log, so that not even "it is so already" is known (invariant I22).
    pub(super) async fn turn(
        &self,
        id: EndpointId,
    ) -> Result<Option<(Turn, Endpoint)>, StoreError> {
        let Some(turn) = self.read().get(&id).map(|entry| Arc::clone(&entry.turn)) else {
            return Ok(None);
        };
        let turn = turn.lock_owned().await;
        self.inner.log.may_append()?;
        Ok(self.get(id).map(|endpoint| (turn, endpoint)))
    }

    /// Waits until nobody else is creating one.
    pub(super) async fn turn_to_create(&self) -> Result<Turn, StoreError> {
        let turn = Arc::clone(&self.inner.creating).lock_owned().await;
        self.inner.log.may_append()?;
        Ok(turn)
    }

    /// Notes that the endpoint is done with an event that it does not hear of. Kept in memory: it is
    /// stored with the next message, or by [`Self::save_place`].
    pub(super) fn pass(&self, id: EndpointId, epoch: Version, position: Position) {
        if let Some(entry) = self.write().get_mut(&id)
            && entry.endpoint.place.epoch == epoch
        {
            entry.endpoint.place = entry.endpoint.done_with(position);
        }
    }

    /// Stores how far the endpoint is.
    pub(super) async fn save_place(&self, id: EndpointId) -> Result<(), StoreError> {
        let Some((turn, endpoint)) = self.turn(id).await? else {
            return Ok(());
        };
        let draft = Draft {
            by: ENGINE.to_owned(),
            at: self.now(),
            events: Vec::new(),
            place: Some(endpoint.place),
            deliveries: Vec::new(),
        };
        self.commit(turn, id, draft).await.map(|_| ())
    }

    /// Writes a change, then applies it. `turn` is what its decision was made under. Answers with the
    /// endpoint as it is then; none once it is deleted.
    pub(super) async fn commit(
        &self,
        turn: Turn,
        id: EndpointId,
        draft: Draft,
    ) -> Result<Option<Endpoint>, StoreError> {
        let (before, version, mut kept) = match self.read().get(&id) {
            Some(entry) => (
                Some(entry.endpoint.clone()),
                entry.version,
                entry.kept.clone(),
            ),
            None => (None, 0, Kept::new()),
        };
        let after = apply(before.clone(), version, id, draft.at, &draft)?;
        let batch = batch(id, version, after.as_ref(), &draft, &mut kept)?;
        let this = self.clone();
        // A task of its own: if the caller goes away half-way, what was written must be known.
        let written = tokio::spawn(async move {
            let appended = this.inner.log.append(batch).await?;
            let at = Timestamp(appended.time_ms);
            let after = apply(before, version, id, at, &draft)?;
            this.publish(id, after.as_ref(), version, &draft, kept);
            drop(turn);
            Ok(after)
        });
        written.await.unwrap_or(Err(StoreError::ShuttingDown))
    }

    fn publish(
        &self,
        id: EndpointId,
        after: Option<&Endpoint>,
        version: Version,
        draft: &Draft,
        kept: Kept,
    ) {
        let version = version + draft.events.len() as u64;
        let mut endpoints = self.write();
        let Some(endpoint) = after.cloned() else {
            endpoints.remove(&id);
            return;
        };
        if let Some(entry) = endpoints.get_mut(&id) {
            let mut endpoint = endpoint;
            let passed = entry.endpoint.place;
            if passed.epoch == endpoint.place.epoch && endpoint.place.through < passed.through {
                // What was passed over while this was being written.
                endpoint.place.through = passed.through;
            }
            (entry.endpoint, entry.version, entry.kept) = (endpoint, version, kept);
            if !draft.events.is_empty() || draft.by != ENGINE {
                entry.changed.send_modify(|count| *count += 1);
            }
            return;
        }
        endpoints.insert(id, Entry::new((endpoint, version, kept)));
        drop(endpoints);
        self.inner.created.send_modify(|count| *count += 1);
    }

    pub(super) fn has_room(&self) -> bool {
        self.read().len() < WEBHOOK_ENDPOINTS_MAX
    }
}

/// Whom the history names for what the engine does by itself.
pub(super) const ENGINE: &str = "engine";

impl Entry {
    fn new((endpoint, version, kept): Loaded) -> Self {
        Self {
            endpoint,
            version,
            turn: Arc::default(),
            changed: watch::Sender::new(0),
            kept,
        }
    }
}

fn apply(
    before: Option<Endpoint>,
    version: Version,
    id: EndpointId,
    at: Timestamp,
    draft: &Draft,
) -> Result<Option<Endpoint>, StoreError> {
    let mut state = before.map(|mut endpoint| {
        endpoint.place = draft.place.unwrap_or(endpoint.place);
        endpoint
    });
    for (version, event) in (version + 1..).zip(&draft.events) {
        state = evolve(state, id, version, at, event)
            .map_err(|reason| damaged(&id.to_string(), reason))?;
    }
    Ok(state)
}

fn batch(
    id: EndpointId,
    version: Version,
    after: Option<&Endpoint>,
    draft: &Draft,
    kept: &mut Kept,
) -> Result<Batch, StoreError> {
    let mut batch = Batch::default();
    if !draft.events.is_empty() {
        let records = draft
            .events
            .iter()
            .map(|event| event.record(&draft.by, draft.at))
            .collect::<Result<_, _>>()
            .map_err(|error| damaged(&id.to_string(), error.0))?;
        batch.streams.push(StreamAppend {
            stream: stream_of(id)?,
            expected: version,
            records,
        });
    }
    let key = id.as_bytes().to_vec();
    let Some(endpoint) = after else {
        batch.deletes = [(ENDPOINTS, key.clone()), (PLACES, key)].into();
        batch
            .deletes
            .extend(kept.keys().map(|message| (DELIVERIES, message.key())));
        return Ok(batch);
    };
    let mut put = |index, key, value| batch.puts.push(IndexPut { index, key, value });
    if version == 0 {
        put(ENDPOINTS, key.clone(), Vec::new());
    }
    put(PLACES, key, encode(&endpoint.place)?);
    for delivery in &draft.deliveries {
        put(DELIVERIES, delivery.id.key(), encode(delivery)?);
    }
    let gone = make_room(kept, &draft.deliveries);
    let gone = gone.iter().map(|message| (DELIVERIES, message.key()));
    batch.deletes.extend(gone);
    Ok(batch)
}

//! Schedules in the log, and in memory: there are few, and they are looked at all the time.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use holdpoint_storage::{
    Batch, Claim, IndexPut, NewRecord, Record, StreamAppend, StreamId, Version,
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, watch};

use super::cron::Timetable;
use super::event::{Event, Planned, Schedule, evolve};
use super::id::ScheduleId;
use crate::limits::REPLAY_PAGE;
use crate::run::RunError;
use crate::store::codec::{self, CodecError};
use crate::store::{CommitError, Store, fatal, pages};
use crate::time::Timestamp;

/// Index 75: id of every schedule that is not deleted → nothing. Tells which streams to read.
pub(crate) const SCHEDULES: u8 = 75;

const FORMAT: u8 = 1;
const STREAM_PREFIX: &str = "schedule/";

/// The schedules of one log.
pub(crate) struct Schedules {
    store: Arc<Store>,
    all: RwLock<BTreeMap<ScheduleId, Entry>>,
    /// Held while something is decided and written.
    turn: Mutex<()>,
    changed: watch::Sender<u64>,
}

#[derive(Clone)]
struct Entry {
    schedule: Schedule,
    table: Timetable,
    version: Version,
}

/// The right to change schedules.
pub(crate) struct Turn<'a> {
    _alone: MutexGuard<'a, ()>,
}

impl Schedules {
    /// Those of a log.
    pub(crate) fn load(store: Arc<Store>) -> Result<Self, RunError> {
        let mut all = BTreeMap::new();
        for entries in pages(store.log.as_ref(), SCHEDULES, &[]) {
            for (key, _) in entries.map_err(unavailable)? {
                let id = key.try_into().map(ScheduleId::from_bytes);
                let id = id.map_err(|_| damaged("a key of the index is no id"))?;
                // An index that was built again also holds those that were deleted.
                if let Some(entry) = replay(&store, id)? {
                    all.insert(id, entry);
                }
            }
        }
        Ok(Self {
            store,
            all: RwLock::new(all),
            turn: Mutex::default(),
            changed: watch::Sender::new(0),
        })
    }

    /// All of them, by id: in the order in which they were made.
    pub(crate) fn list(&self) -> Vec<(Schedule, Timetable)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let pair = |entry: &Entry| (entry.schedule.clone(), entry.table.clone());
        all.values().map(pair).collect()
    }

    /// One of them.
    pub(crate) fn get(&self, id: ScheduleId) -> Option<(Schedule, Timetable)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get(&id)?;
        Some((entry.schedule.clone(), entry.table.clone()))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.len()
    }

    /// Learns of changes, and of moments at which the clock must be looked at.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Makes whoever waits for a moment look at the clock.
    pub(crate) fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Waits until nobody else changes a schedule.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        Turn {
            _alone: self.turn.lock().await,
        }
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.values().filter_map(Entry::next).min()
    }

    /// Those that are due, each with the last moment at which it was: what was missed is made up for by
    /// one run.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<(Schedule, Timestamp)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.values()
            .filter(|entry| entry.next().is_some_and(|next| next <= now))
            .filter_map(|entry| Some((entry.schedule.clone(), entry.table.last_until(now)?)))
            .collect()
    }

    /// Writes a fact, and applies it once it is durable. `turn` is what it was decided under.
    pub(crate) async fn commit(
        &self,
        turn: &Turn<'_>,
        id: ScheduleId,
        actor: &str,
        event: Event,
    ) -> Result<Option<Schedule>, RunError> {
        self.commit_with(turn, id, actor, event, None).await
    }

    /// The same in one write with a claim, which nobody may hold.
    pub(crate) async fn commit_with(
        &self,
        _turn: &Turn<'_>,
        id: ScheduleId,
        actor: &str,
        event: Event,
        claim: Option<Claim>,
    ) -> Result<Option<Schedule>, RunError> {
        let before = {
            let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
            all.get(&id).cloned()
        };
        let at = self.store.time.now();
        let version = before.as_ref().map_or(0, |entry| entry.version);
        let after = evolve(before.map(|entry| entry.schedule), id, at, &event);
        let after = after.map_err(|_| RunError::NotFound)?;
        let entry = after
            .map(|schedule| Entry::new(schedule, version + 1))
            .transpose()?;
        let batch = batch(id, version, entry.is_some(), actor, at, &event);
        let mut batch = batch.map_err(|error| RunError::Invalid(error.0))?;
        batch.claims.extend(claim);
        self.store
            .append(batch)
            .await
            .map_err(|error| match error {
                CommitError::ClaimTaken { .. } => RunError::KeyReused { first: None },
                CommitError::TooLarge(message) => RunError::Invalid(message),
                other => RunError::from(other),
            })?;
        let schedule = entry.as_ref().map(|entry| entry.schedule.clone());
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        match entry {
            Some(entry) => all.insert(id, entry),
            None => all.remove(&id),
        };
        drop(all);
        self.wake();
        Ok(schedule)
    }
}

impl Entry {
    fn new(schedule: Schedule, version: Version) -> Result<Self, RunError> {
        let (cron, zone) = (&schedule.plan.cron, &schedule.plan.zone);
        let table = Timetable::parse(cron, zone).map_err(RunError::Invalid)?;
        Ok(Self {
            schedule,
            table,
            version,
        })
    }

    fn next(&self) -> Option<Timestamp> {
        let runs = self.schedule.paused.is_none();
        let next = || self.table.next_after(self.schedule.since);
        runs.then(next).flatten()
    }
}

fn batch(
    id: ScheduleId,
    version: Version,
    is_there: bool,
    actor: &str,
    at: Timestamp,
    event: &Event,
) -> Result<Batch, CodecError> {
    let record = NewRecord {
        time_ms: at.0,
        actor: actor.to_owned(),
        kind: event.kind().to_owned(),
        body: codec::encode(FORMAT, event)?,
    };
    let mut batch = Batch {
        streams: vec![StreamAppend {
            stream: stream_of(id),
            expected: version,
            records: vec![record],
        }],
        ..Batch::default()
    };
    let key = id.as_bytes().to_vec();
    if !is_there {
        batch.deletes.push((SCHEDULES, key));
    } else if version == 0 {
        batch.puts.push(IndexPut {
            index: SCHEDULES,
            key,
            value: Vec::new(),
        });
    }
    Ok(batch)
}

fn replay(store: &Store, id: ScheduleId) -> Result<Option<Entry>, RunError> {
    let stream = stream_of(id);
    let (mut state, mut version) = (None, 0);
    loop {
        let records = store.log.read_stream(&stream, version, REPLAY_PAGE);
        let records = records.map_err(unavailable)?;
        let Some(last) = records.last() else {
            break;
        };
        version = last.version;
        for record in &records {
            let event = event_of(record).map_err(|error| damaged(&error.0))?;
            state = evolve(state, id, Timestamp(record.time_ms), &event)
                .map_err(|reason| damaged(&reason))?;
        }
    }
    state
        .map(|schedule| Entry::new(schedule, version))
        .transpose()
}

fn stream_of(id: ScheduleId) -> StreamId {
    match StreamId::new(format!("{STREAM_PREFIX}{}", id.hex())) {
        Some(stream) => stream,
        None => fatal("the name of a schedule's stream is out of bounds"),
    }
}

/// The schedule that a stream belongs to; none for streams of anything else.
pub(crate) fn of_stream(stream: &StreamId) -> Option<ScheduleId> {
    let hex = stream.as_str().strip_prefix(STREAM_PREFIX)?;
    format!("sch_{hex}").parse().ok()
}

fn event_of(record: &Record) -> Result<Event, CodecError> {
    let event: Event = codec::decode(FORMAT, &record.body)?;
    if event.kind() == record.kind {
        return Ok(event);
    }
    let (said, is) = (&record.kind, event.kind());
    Err(CodecError(format!(
        "the record says {said}, its body is {is}"
    )))
}

/// A record of a schedule as JSON, for the history; none where it is of another stream.
pub(crate) fn describe(record: &Record) -> Option<Value> {
    of_stream(&record.stream)?;
    Some(match event_of(record).ok()? {
        Event::Created { plan } => {
            let what = match &plan.what {
                Planned::Skill { text, inputs, .. } => {
                    let digest = crate::canon::Digest::of(text.as_bytes());
                    json!({ "skill": digest.to_string(), "inputs": inputs.value() })
                }
                Planned::Code {
                    name,
                    version,
                    input,
                } => json!({ "workflow": name, "version": version, "input": input.value() }),
            };
            let flags = plan.flags;
            json!({
                "name": plan.name, "what": what, "cron": plan.cron, "zone": plan.zone,
                "overlap": plan.overlap, "caller": plan.caller.id,
                "flags": { "allow_writes": flags.allow_writes, "yes": flags.yes, "stage": flags.stage },
            })
        }
        Event::Paused { reason } | Event::Deleted { reason } => json!({ "reason": reason }),
        Event::Resumed => json!({}),
        Event::Fired {
            planned,
            run,
            by_hand,
        } => {
            json!({ "planned": planned.rfc3339(), "run": run.to_string(), "by_hand": by_hand })
        }
        Event::Skipped { planned, reason } => {
            json!({ "planned": planned.rfc3339(), "reason": reason })
        }
    })
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Unavailable(Box::new(error))
}

fn damaged(reason: &str) -> RunError {
    RunError::Unavailable(Box::new(CodecError(format!(
        "a schedule is damaged: {reason}"
    ))))
}

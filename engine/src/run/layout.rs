//! Where runs are in the log and its indexes.
//!
//! | index | key | value |
//! |---|---|---|
//! | 70 runs | id (16) | the [`RunSummary`] |
//! | 71 open | id (16) | nothing; there while the run is not over |
//!
//! A run is made from its stream whenever it is looked at, so that the work of a change does not grow
//! with what happened before; lists are made from the summaries, which are all of one size.

use bincode::{Decode, Encode};
use holdpoint_storage::{EventLog, IndexPut, NewRecord, ReadError, Record, StreamId, Version};

use super::event::{Event, Origin, StepOutcome};
use super::evolve::evolve;
use super::id::RunId;
use super::state::{Run, RunStatus, What};
use crate::limits::REPLAY_PAGE;
use crate::store::codec::{self, CodecError};
use crate::store::fatal;
use crate::time::Timestamp;

/// Summaries, by id.
pub(crate) const RUNS: u8 = 70;
/// What is not over.
pub(crate) const OPEN: u8 = 71;

/// The format of stored events.
const EVENT_FORMAT: u8 = 1;

/// The format of summaries. One of another format is made again from its stream when it is read.
const SUMMARY_FORMAT: u8 = 2;

const STREAM_PREFIX: &str = "run/";

/// What lists show of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// The name of the skill file or function.
    pub name: String,
    /// Whether it carries out a skill file.
    pub is_skill: bool,
    /// Who started it: the id.
    pub caller: String,
    /// Who started it: the owner of the key, where it is one.
    pub owner: Option<String>,
    /// Who started it: the name.
    pub caller_name: String,
    /// The schedule that started it.
    pub schedule: Option<String>,
    /// Whether a server goes on with it by itself.
    pub unattended: bool,
    /// How many steps passed.
    pub passed: u32,
    /// How many steps were made or left out.
    pub made: u32,
    /// How many steps the skill file has; none for code, which nobody knows beforehand.
    pub planned: Option<u32>,
    /// Why it did not pass, cut to a line.
    pub message: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened.
    pub updated_at: Timestamp,
}

/// The longest message of a summary, in characters: a line of a list.
const MESSAGE_CHARS_MAX: usize = 200;

#[derive(Encode, Decode)]
struct Stored {
    status: u8,
    name: String,
    is_skill: bool,
    caller: String,
    owner: Option<String>,
    caller_name: String,
    schedule: Option<String>,
    unattended: bool,
    passed: u32,
    made: u32,
    planned: Option<u32>,
    message: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl RunSummary {
    /// That of a run.
    pub fn of(run: &Run) -> Self {
        let is_passed = |what: &What| match what {
            What::Made(made) => made
                .settled()
                .is_some_and(|report| report.outcome == StepOutcome::Passed),
            What::Skipped { .. } => false,
        };
        let passed = run.steps.iter().filter(|step| is_passed(&step.what));
        let ended = run.ended.as_ref();
        let message = ended.and_then(|ended| ended.message.as_ref());
        Self {
            id: run.id,
            status: run.status(),
            name: run.start.origin.name().to_owned(),
            is_skill: match run.start.origin {
                Origin::Skill { .. } => true,
                Origin::Code { .. } => false,
            },
            caller: run.start.caller.id.clone(),
            owner: run.start.caller.owner.clone(),
            caller_name: run.start.caller.name.clone(),
            schedule: run.start.schedule.clone(),
            unattended: run.start.unattended,
            passed: count(passed.count()),
            made: count(run.steps.len()),
            planned: run.planned,
            message: message.map(|text| text.chars().take(MESSAGE_CHARS_MAX).collect()),
            created_at: run.created_at,
            updated_at: run.updated_at,
        }
    }

    fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let place = RunStatus::ALL
            .iter()
            .position(|status| *status == self.status);
        let stored = Stored {
            status: place
                .and_then(|place| u8::try_from(place).ok())
                .unwrap_or(0),
            name: self.name.clone(),
            is_skill: self.is_skill,
            caller: self.caller.clone(),
            owner: self.owner.clone(),
            caller_name: self.caller_name.clone(),
            schedule: self.schedule.clone(),
            unattended: self.unattended,
            passed: self.passed,
            made: self.made,
            planned: self.planned,
            message: self.message.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        codec::encode(SUMMARY_FORMAT, stored)
    }

    fn decode(id: RunId, bytes: &[u8]) -> Result<Self, CodecError> {
        let stored: Stored = codec::decode(SUMMARY_FORMAT, bytes)?;
        let status = RunStatus::ALL.get(usize::from(stored.status)).copied();
        Ok(Self {
            id,
            status: status.ok_or_else(|| CodecError("no such status".to_owned()))?,
            name: stored.name,
            is_skill: stored.is_skill,
            caller: stored.caller,
            owner: stored.owner,
            caller_name: stored.caller_name,
            schedule: stored.schedule,
            unattended: stored.unattended,
            passed: stored.passed,
            made: stored.made,
            planned: stored.planned,
            message: stored.message,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        })
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadRunError {
    /// The store failed.
    #[error("the log cannot be read")]
    Read(#[from] ReadError),
    /// What is stored is damaged.
    #[error("{place} is damaged: {reason}")]
    Damaged {
        /// What.
        place: String,
        /// Why.
        reason: String,
    },
}

/// The stream of a run.
pub(crate) fn stream_of(id: RunId) -> StreamId {
    match StreamId::new(format!("{STREAM_PREFIX}{}", id.hex())) {
        Some(stream) => stream,
        None => fatal("the name of a run's stream is out of bounds"),
    }
}

/// The run that a stream belongs to; none for streams of anything else.
pub(crate) fn of_stream(stream: &StreamId) -> Option<RunId> {
    let hex = stream.as_str().strip_prefix(STREAM_PREFIX)?;
    format!("run_{hex}").parse().ok()
}

/// An event as a record.
pub(crate) fn record(event: &Event, actor: &str, at: Timestamp) -> Result<NewRecord, CodecError> {
    Ok(NewRecord {
        time_ms: at.0,
        actor: actor.to_owned(),
        kind: event.kind().to_owned(),
        body: codec::encode(EVENT_FORMAT, event)?,
    })
}

/// The event of a record of a run's stream.
pub(crate) fn event_of(record: &Record) -> Result<Event, CodecError> {
    let event: Event = codec::decode(EVENT_FORMAT, &record.body)?;
    if event.kind() != record.kind {
        return Err(CodecError(format!(
            "the record says {}, its body is {}",
            record.kind,
            event.kind()
        )));
    }
    Ok(event)
}

/// A run, made from its stream; none where there is no such run.
pub(crate) fn load(log: &dyn EventLog, id: RunId) -> Result<Option<(Run, Version)>, LoadRunError> {
    let stream = stream_of(id);
    let (mut state, mut version) = (None, 0);
    loop {
        let records = log.read_stream(&stream, version, REPLAY_PAGE)?;
        let Some(last) = records.last() else {
            return Ok(state.map(|run| (run, version)));
        };
        version = last.version;
        for record in &records {
            let damaged = |reason| LoadRunError::Damaged {
                place: format!("record {} of {id}", record.version),
                reason,
            };
            let event = event_of(record).map_err(|error| damaged(error.0))?;
            let at = Timestamp(record.time_ms);
            state = Some(evolve(state, id, at, &event).map_err(damaged)?);
        }
    }
}

/// What is put into the indexes, and what is deleted from them.
pub(crate) type Entries = (Vec<IndexPut>, Vec<(u8, Vec<u8>)>);

/// What stands in the indexes for a run: what is put there, and what is deleted.
pub(crate) fn entries(run: &Run) -> Result<Entries, CodecError> {
    let key = run.id.as_bytes().to_vec();
    let mut puts = vec![IndexPut {
        index: RUNS,
        key: key.clone(),
        value: RunSummary::of(run).encode()?,
    }];
    if run.ended.is_some() {
        return Ok((puts, vec![(OPEN, key)]));
    }
    puts.push(IndexPut {
        index: OPEN,
        key,
        value: Vec::new(),
    });
    Ok((puts, Vec::new()))
}

/// A summary as the index has it; made from the stream where it is of another format.
pub(crate) fn summary(
    log: &dyn EventLog,
    key: &[u8],
    value: &[u8],
) -> Result<RunSummary, LoadRunError> {
    let damaged = |reason: &str| LoadRunError::Damaged {
        place: "the index of runs".to_owned(),
        reason: reason.to_owned(),
    };
    let id = key.try_into().map_err(|_| damaged("a key is no id"))?;
    let id = RunId::from_bytes(id);
    if let Ok(summary) = RunSummary::decode(id, value) {
        return Ok(summary);
    }
    let loaded = load(log, id)?;
    let (run, _) = loaded.ok_or_else(|| damaged("it names a run without events"))?;
    Ok(RunSummary::of(&run))
}

//! The indexes, made from the log alone (invariant I6).

use holdpoint_storage::log::BATCH_BYTES_MAX;
use holdpoint_storage::{
    AppendError, Batch, Direction, EventLog, IndexPut, Position, ReadError, Record, ScanRange,
};

use super::codec::{self, VIEW_FORMAT};
use super::index::{self, Entries};
use super::{LoadError, commit};
use crate::action::{Action, ActionId, evolve};
use crate::engine::{OpenError, Versioned};
use crate::run::RunId;
use crate::run::layout::{self as run, LoadRunError};
use crate::schedule;
use crate::webhook;

const PAGE: usize = 512;

/// Why the indexes could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RebuildError {
    /// A record cannot be understood, or cannot be where it is.
    #[error("the log cannot be read at position {position}: {reason}")]
    Unreadable {
        /// Which record.
        position: Position,
        /// What is wrong.
        reason: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A view is damaged.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl RebuildError {
    pub(crate) fn unreadable(position: Position, reason: impl Into<String>) -> Self {
        Self::Unreadable {
            position,
            reason: reason.into(),
        }
    }
}

impl From<RebuildError> for OpenError {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Unreadable { position, reason } => Self::Unreadable { position, reason },
            RebuildError::Read(error) => Self::Store(Box::new(error)),
            RebuildError::Load(error) => Self::Store(Box::new(error)),
            RebuildError::Append(error) => Self::Store(Box::new(error)),
        }
    }
}

/// Makes sure that the indexes are those of this version; builds them from the log where they are
/// missing or of another format. Answers whether it did.
pub(crate) async fn ensure(log: &dyn EventLog) -> Result<bool, RebuildError> {
    if is_current(log)? {
        return Ok(false);
    }
    rebuild(log).await?;
    Ok(true)
}

/// Whether the indexes are there and of this version.
pub(crate) fn is_current(log: &dyn EventLog) -> Result<bool, ReadError> {
    let marker = log.get(index::META, index::META_VIEWS)?;
    Ok(marker.as_deref() == Some(&[VIEW_FORMAT]))
}

/// Deletes every index of the engine and builds it from the log. A stop in the middle is safe: the
/// marker is written last.
pub(crate) async fn rebuild(log: &dyn EventLog) -> Result<(), RebuildError> {
    let indexes = [
        index::META,
        index::VIEW,
        index::OPEN,
        index::WORK,
        index::CLAIMED,
        index::ALARM,
        index::REMIND,
        webhook::ENDPOINTS,
        run::RUNS,
        run::OPEN,
        schedule::shell::SCHEDULES,
    ];
    for index in indexes {
        clear(log, index).await?;
    }
    let mut position = 0;
    let mut pending = Pending::default();
    loop {
        let records = log.read_all(position, PAGE)?;
        let Some(last) = records.last() else {
            break;
        };
        position = last.position;
        for record in records.iter().filter(|record| record.version == 1) {
            if let Some(id) = codec::action_of(&record.stream) {
                let view = replay(log, id)?;
                pending.add(puts_of(&view, record.position)?);
                if pending.is_full() {
                    pending.write(log).await?;
                }
            } else if let Some(id) = webhook::endpoint_of(&record.stream) {
                pending.add(vec![IndexPut {
                    index: webhook::ENDPOINTS,
                    key: id.as_bytes().to_vec(),
                    value: Vec::new(),
                }]);
            } else if let Some(id) = run::of_stream(&record.stream) {
                pending.add(run_puts(log, id, record.position)?);
                if pending.is_full() {
                    pending.write(log).await?;
                }
            } else if let Some(id) = schedule::shell::of_stream(&record.stream) {
                pending.add(vec![IndexPut {
                    index: schedule::shell::SCHEDULES,
                    key: id.as_bytes().to_vec(),
                    value: Vec::new(),
                }]);
            } else if record.kind.starts_with(codec::KIND_PREFIX) {
                let reason = format!("{} in the stream {}", record.kind, record.stream);
                return Err(RebuildError::unreadable(record.position, reason));
            }
        }
    }
    pending.write(log).await?;
    let marker = IndexPut {
        index: index::META,
        key: index::META_VIEWS.to_vec(),
        value: vec![VIEW_FORMAT],
    };
    log.append(Batch {
        puts: vec![marker],
        ..Batch::default()
    })
    .await?;
    Ok(())
}

/// What the indexes hold of a run.
fn run_puts(
    log: &dyn EventLog,
    id: RunId,
    position: Position,
) -> Result<Vec<IndexPut>, RebuildError> {
    let loaded = match run::load(log, id) {
        Ok(loaded) => loaded,
        Err(LoadRunError::Read(error)) => return Err(error.into()),
        Err(error @ LoadRunError::Damaged { .. }) => {
            return Err(RebuildError::unreadable(position, error.to_string()));
        }
    };
    let Some((run, _)) = loaded else {
        return Ok(Vec::new());
    };
    let entries = run::entries(&run);
    let (puts, _) = entries.map_err(|error| RebuildError::unreadable(position, error.0))?;
    Ok(puts)
}

/// An action from its events.
fn replay(log: &dyn EventLog, id: ActionId) -> Result<Versioned, RebuildError> {
    let stream = codec::stream_of(id);
    let mut state: Option<Action> = None;
    let mut version = 0;
    loop {
        let records = log.read_stream(&stream, version, PAGE)?;
        let Some(last) = records.last() else {
            break;
        };
        version = last.version;
        for record in &records {
            state = Some(apply(state, id, record)?);
        }
    }
    match state {
        Some(action) => Ok(Versioned { action, version }),
        None => Err(RebuildError::unreadable(0, format!("{id} has no events"))),
    }
}

fn apply(state: Option<Action>, id: ActionId, record: &Record) -> Result<Action, RebuildError> {
    let event = codec::decode_event(record)
        .map_err(|error| RebuildError::unreadable(record.position, error.0))?;
    evolve(state, id, &event)
        .map_err(|error| RebuildError::unreadable(record.position, error.to_string()))
}

fn puts_of(view: &Versioned, position: Position) -> Result<Vec<IndexPut>, RebuildError> {
    commit::puts_of(view, &Entries::default())
        .map_err(|error| RebuildError::unreadable(position, error.0))
}

/// Entries on their way into the index: many in one write, for each write waits for the device.
#[derive(Default)]
struct Pending {
    puts: Vec<IndexPut>,
    bytes: usize,
}

impl Pending {
    fn add(&mut self, puts: Vec<IndexPut>) {
        self.bytes += puts.iter().map(|put| put.value.len()).sum::<usize>();
        self.puts.extend(puts);
    }

    fn is_full(&self) -> bool {
        PAGE <= self.puts.len() || BATCH_BYTES_MAX / 4 <= self.bytes
    }

    async fn write(&mut self, log: &dyn EventLog) -> Result<(), AppendError> {
        let Self { puts, .. } = std::mem::take(self);
        if !puts.is_empty() {
            log.append(Batch {
                puts,
                ..Batch::default()
            })
            .await?;
        }
        Ok(())
    }
}

async fn clear(log: &dyn EventLog, index: u8) -> Result<(), RebuildError> {
    loop {
        let entries = log.scan(index, ScanRange::default(), PAGE, Direction::Forward)?;
        if entries.is_empty() {
            return Ok(());
        }
        let deletes = entries.into_iter().map(|(key, _)| (index, key)).collect();
        log.append(Batch {
            deletes,
            ..Batch::default()
        })
        .await?;
    }
}

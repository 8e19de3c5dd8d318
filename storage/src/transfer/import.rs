//! Filling an empty log from the file.

use std::io::BufRead;

use super::read::{FileError, Item, LogFile};
use crate::batch::{Batch, Claim};
use crate::claims::Claims;
use crate::log::{AppendError, EventLog, ReadError};
use crate::record::{Hash, Position, Record};

/// How many records or claims are written at once.
const GROUP: usize = 256;

/// How many bytes of bodies are written at once, the last record aside.
const GROUP_BYTES: usize = 1024 * 1024;

/// What was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// How many records.
    pub records: u64,
    /// Its claims.
    pub claims: Claims,
    /// The hash of the last record.
    pub last_hash: Hash,
}

/// Why the file was not taken over. What was written by then must be thrown away.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The log is not empty.
    #[error("the log holds {0} records already; an import needs an empty one")]
    NotEmpty(u64),
    /// The file holds only a part of a log.
    #[error(
        "the file holds records {from} to {to} of a longer log, without its claims; export the \
         whole log to import it"
    )]
    Part {
        /// The first.
        from: Position,
        /// The last.
        to: Position,
    },
    /// The file is damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// What stands on a line cannot be stored.
    #[error("line {line} or one shortly before it")]
    Append {
        /// Which line, from 1.
        line: u64,
        /// Why not.
        #[source]
        source: AppendError,
    },
    /// The log could not be read.
    #[error("the log could not be read")]
    Read(#[from] ReadError),
}

/// Takes everything in the file over into an empty log: the same positions, times and hashes, and the
/// same claims. `progress` is told the position reached, and the last one.
///
/// Reads in the thread that polls it.
pub async fn import<R: BufRead>(
    file: &mut LogFile<R>,
    log: &dyn EventLog,
    progress: &mut (dyn FnMut(Position, Position) + Send),
) -> Result<Imported, ImportError> {
    let held = log.stats()?.records;
    if held != 0 || !log.claims(None, 1)?.is_empty() {
        return Err(ImportError::NotEmpty(held));
    }
    let header = file.header();
    if !header.whole {
        let (from, to) = (header.from, header.to);
        return Err(ImportError::Part { from, to });
    }
    let mut pending = Pending::default();
    while let Some(item) = file.next_item()? {
        match item {
            Item::Record(record) => pending.add(record),
            Item::Claim(key, value) => pending.claims.push(Claim { key, value }),
        }
        if pending.is_full() {
            pending.write(log, file.line()).await?;
            progress(file.head().position, header.to);
        }
    }
    pending.write(log, file.line()).await?;
    progress(header.to, header.to);
    let stats = log.stats()?;
    assert_eq!(
        (stats.last_position, stats.last_hash),
        (file.head().position, file.head().hash),
        "a restored log ends as the file does"
    );
    Ok(Imported {
        records: stats.records,
        claims: file.claims(),
        last_hash: stats.last_hash,
    })
}

#[derive(Default)]
struct Pending {
    records: Vec<Record>,
    bytes: usize,
    claims: Vec<Claim>,
}

impl Pending {
    fn add(&mut self, record: Record) {
        self.bytes += record.body.len();
        self.records.push(record);
    }

    fn is_full(&self) -> bool {
        GROUP <= self.records.len() + self.claims.len() || GROUP_BYTES <= self.bytes
    }

    async fn write(&mut self, log: &dyn EventLog, line: u64) -> Result<(), ImportError> {
        let failed = |source| ImportError::Append { line, source };
        let Self {
            records, claims, ..
        } = std::mem::take(self);
        if !records.is_empty() {
            log.restore(records).await.map_err(failed)?;
        }
        if !claims.is_empty() {
            let batch = Batch {
                claims,
                ..Batch::default()
            };
            log.append(batch).await.map_err(failed)?;
        }
        Ok(())
    }
}

//! Writing the file.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use super::FORMAT;
use super::lines::{ClaimLine, EndLine, HeaderLine, RecordLine};
use crate::chain::Head;
use crate::claims::{self, Claims, Summed};
use crate::log::{EventLog, ReadError};
use crate::record::{Hash, Position};

/// How many records are read at once.
const PAGE: usize = 64;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// How many records.
    pub records: u64,
    /// Its claims; none where the file does not hold the whole log.
    pub claims: Option<Claims>,
    /// The position of the last record.
    pub last_position: Position,
    /// Its hash.
    pub last_hash: Hash,
}

/// Why the file could not be written to its end. What there is of it has no last line, so that
/// nobody takes it for whole.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There are no such records.
    #[error("there are no records {from} to {to}: the log ends at record {last}")]
    Range {
        /// The first asked for.
        from: Position,
        /// The last asked for.
        to: Position,
        /// The last there is.
        last: Position,
    },
    /// The chain breaks.
    #[error("the log breaks at record {position}: {reason}")]
    Broken {
        /// The first record that is not what it should be.
        position: Position,
        /// What is wrong with it.
        reason: String,
    },
    /// The log could not be read.
    #[error("the log could not be read")]
    Read(#[from] ReadError),
    /// The file could not be written.
    #[error("the file could not be written")]
    Write(#[from] io::Error),
}

/// Writes the records `from` to `to` (the last where there is none given), and where that is the
/// whole log its claims, to `out`. `progress` is told the position reached.
///
/// Each record is checked against the one before: a damaged log is not exported.
pub fn export(
    log: &dyn EventLog,
    from: Position,
    to: Option<Position>,
    incarnation: u64,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(Position),
) -> Result<Exported, ExportError> {
    let last = log.stats()?.last_position;
    let to = to.unwrap_or(last);
    // An empty log is a whole one, too.
    let is_range = 0 < from && from <= to.saturating_add(u64::from(last == 0));
    if !is_range || last < to {
        return Err(ExportError::Range { from, to, last });
    }
    let mut head = Head::default();
    if 1 < from {
        let before = log.read_all(from - 2, 1)?.pop();
        head = before.as_ref().map(Head::after).unwrap_or_default();
    }
    let whole = from == 1 && to == last;
    let mut lines = Lines {
        out,
        digest: Sha256::new(),
    };
    lines.write(&HeaderLine {
        holdpoint_log: FORMAT,
        from,
        to,
        prev: head.hash.to_string(),
        whole,
        incarnation,
    })?;
    while head.position < to {
        let left = usize::try_from(to - head.position).unwrap_or(usize::MAX);
        let records = log.read_all(head.position, left.min(PAGE))?;
        let broken = |reason: &str| ExportError::Broken {
            position: head.position + 1,
            reason: reason.to_owned(),
        };
        if records.is_empty() {
            return Err(broken("it is missing"));
        }
        for record in &records {
            if let Some(reason) = head.refuse(record) {
                let (position, reason) = (head.position + 1, reason.to_owned());
                return Err(ExportError::Broken { position, reason });
            }
            lines.write(&RecordLine::of(record))?;
            head = Head::after(record);
        }
        progress(head.position);
    }
    let claims = if whole {
        Some(lines.claims(log)?)
    } else {
        None
    };
    lines.end(head, claims.map_or(0, |claims| claims.count))?;
    Ok(Exported {
        records: (to + 1) - from,
        claims,
        last_position: head.position,
        last_hash: head.hash,
    })
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    digest: Sha256,
}

impl Lines<'_> {
    fn write(&mut self, line: &impl serde::Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.digest.update(&bytes);
        self.out.write_all(&bytes)
    }

    fn claims(&mut self, log: &dyn EventLog) -> Result<Claims, ExportError> {
        let mut seen = Summed::default();
        claims::each(log, |key, value| {
            seen.add(key, value);
            self.write(&ClaimLine::of(key, value))
                .map_err(ExportError::from)
        })?;
        Ok(seen.claims())
    }

    fn end(mut self, head: Head, claims: u64) -> io::Result<()> {
        let digest = Hash(std::mem::take(&mut self.digest).finalize().into());
        self.write(&EndLine {
            end: head.position,
            last_hash: head.hash.to_string(),
            claims,
            sha256: digest.to_string(),
        })?;
        self.out.flush()
    }
}

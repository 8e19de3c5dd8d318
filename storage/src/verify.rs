//! Checking the whole log: every hash, every link (invariant I7).

use crate::chain::Head;
use crate::log::{EventLog, ReadError};
use crate::record::{Hash, Position};

/// How many records are read at once.
const PAGE: usize = 256;

/// A stretch of the log that was found whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records were checked.
    pub records: u64,
    /// The position of the last record checked; the one before the stretch where none was.
    pub last_position: Position,
    /// The hash of that record: to be compared with one that was kept elsewhere.
    pub last_hash: Hash,
}

/// Why a stretch of the log is not whole.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The chain breaks. What comes before `position` is whole.
    #[error("the log breaks at record {position}: {reason}")]
    Broken {
        /// The first record that is not what it should be.
        position: Position,
        /// What is wrong with it.
        reason: String,
    },
    /// A record could not be read.
    #[error("the log could not be read to its end")]
    Read(#[source] ReadError),
}

/// Reads the records above `after` up to `to` (or the end, if that comes first) and checks that
/// their positions are dense, that each hash is that of its content and that each carries the hash
/// of the one before, and that time does not go back. Answers with the first break.
pub fn verify_chain(
    log: &dyn EventLog,
    after: Position,
    to: Position,
) -> Result<Verified, VerifyError> {
    let end = log
        .stats()
        .map_err(VerifyError::Read)?
        .last_position
        .min(to);
    let mut head = Head::default();
    if 0 < after {
        let before = page(log, after, 1)?;
        let broken = || missing(after);
        head = before.first().map(Head::after).ok_or_else(broken)?;
    }
    while head.position < end {
        let left = usize::try_from(end - head.position).unwrap_or(usize::MAX);
        let records = page(log, head.position + 1, left.min(PAGE))?;
        if records.is_empty() {
            return Err(missing(head.position + 1));
        }
        for record in &records {
            if let Some(reason) = head.refuse(record) {
                let (position, reason) = (head.position + 1, reason.to_owned());
                return Err(VerifyError::Broken { position, reason });
            }
            head = Head::after(record);
        }
    }
    let records = head.position.saturating_sub(after);
    Ok(Verified {
        records,
        last_position: head.position,
        last_hash: head.hash,
    })
}

/// Records from `from` on; where one of them is damaged, those before it.
fn page(
    log: &dyn EventLog,
    from: Position,
    limit: usize,
) -> Result<Vec<crate::record::Record>, VerifyError> {
    match log.read_all(from - 1, limit) {
        Ok(records) => Ok(records),
        // The page as a whole cannot be read: go on one by one, to name the record.
        Err(ReadError::Corrupt { .. }) if 1 < limit => page(log, from, 1),
        Err(ReadError::Corrupt { reason, .. }) => Err(VerifyError::Broken {
            position: from,
            reason,
        }),
        Err(error @ ReadError::Io(_)) => Err(VerifyError::Read(error)),
    }
}

fn missing(position: Position) -> VerifyError {
    VerifyError::Broken {
        position,
        reason: "it is missing".to_owned(),
    }
}

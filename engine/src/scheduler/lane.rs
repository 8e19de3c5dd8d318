//! Where what is due is read: the lanes of the open index, and the reminders.

use holdpoint_storage::{Direction, EventLog, ReadError, ScanRange};

use super::inbox::{Job, Urgency};
use crate::action::Status;
use crate::store::index::{self, NEVER, OpenKey, RemindKey};
use crate::time::Timestamp;

/// How many entries of a lane are read at once: the work of one turn.
const PAGE: usize = 256;

/// What the scheduler moves, the most urgent first.
const SOURCES: [Source; 6] = [
    Source::Open(Status::Approved),
    Source::Open(Status::Unknown),
    Source::Open(Status::Accepted),
    Source::Open(Status::Staged),
    // Leases that ran out.
    Source::Open(Status::Executing),
    Source::Remind,
];

/// Which entries.
#[derive(Clone, Copy)]
enum Source {
    Open(Status),
    Remind,
}

/// One lane, and how far it has been read.
pub(super) struct Lane {
    source: Source,
    /// Whether there may be more that is due.
    pub(super) more: bool,
    /// The last key that was read; none to start at the beginning.
    above: Option<Vec<u8>>,
}

/// What one page of a lane holds.
pub(super) struct Due {
    pub(super) jobs: Vec<Job>,
    /// When the next entry is due, where the end of what is due was reached.
    pub(super) next: Option<Timestamp>,
}

/// Every lane, at its start.
pub(super) fn all() -> Vec<Lane> {
    let from_start = |source| Lane {
        source,
        more: true,
        above: None,
    };
    SOURCES.map(from_start).into()
}

impl Lane {
    /// Reads the next page of what is due.
    pub(super) fn read(&mut self, log: &dyn EventLog, now: Timestamp) -> Result<Due, ReadError> {
        let (prefix, end) = match self.source {
            Source::Open(status) => (
                index::lane(status).into_iter().collect(),
                index::after(status, now),
            ),
            Source::Remind => (Vec::new(), RemindKey::after(now)),
        };
        let range = ScanRange {
            prefix: &prefix,
            above: self.above.as_deref(),
            below: Some(&end),
        };
        let entries = log.scan(self.index(), range, PAGE, Direction::Forward)?;
        self.more = entries.len() == PAGE;
        self.above = entries.last().map(|(key, _)| key.clone());
        let jobs = entries
            .iter()
            .filter_map(|(key, tool)| self.job(key, &String::from_utf8_lossy(tool)))
            .collect();
        if self.more {
            return Ok(Due { jobs, next: None });
        }
        self.above = None;
        // The end key itself belongs to no entry, so what follows it is the next to be due.
        let next = ScanRange {
            prefix: &prefix,
            above: Some(&end),
            below: None,
        };
        let first = log.scan(self.index(), next, 1, Direction::Forward)?;
        let next = first.first().and_then(|(key, _)| self.due(key));
        Ok(Due { jobs, next })
    }

    fn index(&self) -> u8 {
        match self.source {
            Source::Open(_) => index::OPEN,
            Source::Remind => index::REMIND,
        }
    }

    fn job(&self, key: &[u8], tool: &str) -> Option<Job> {
        match self.source {
            Source::Open(status) => Some(Job::new(
                OpenKey::parse(key)?.id,
                tool,
                Urgency::of(status)?,
            )),
            Source::Remind => Some(Job::new(RemindKey::parse(key)?.id, tool, Urgency::Deadline)),
        }
    }

    fn due(&self, key: &[u8]) -> Option<Timestamp> {
        let due = match self.source {
            Source::Open(_) => OpenKey::parse(key)?.due,
            Source::Remind => RemindKey::parse(key)?.due,
        };
        (due != NEVER).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::index::LANES;

    #[test]
    fn i27_no_lane_of_the_open_index_is_left_unread() {
        for status in LANES {
            let is_read = SOURCES
                .iter()
                .any(|source| matches!(source, Source::Open(read) if *read == status));
            assert!(is_read, "nobody looks at what is {}", status.name());
        }
    }
}

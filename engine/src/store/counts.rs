//! How many actions are in each status, in memory.
//!
//! Open statuses are counted from the open index at start. Final ones would need a look at every
//! action there ever was, so their totals are kept in the meta index, exact up to a position, and
//! whatever came after that position is added at start.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use holdpoint_storage::{Batch, EventLog, IndexPut, Position};

use super::codec::{self, CodecError};
use super::index::{self, OpenKey};
use super::pages::pages;
use super::rebuild::RebuildError;
use crate::action::{ActionId, Event, Status};
use crate::engine::Counts;
use crate::time::Timestamp;

const TOTALS_FORMAT: u8 = 1;
const PAGE: usize = 1024;

/// The numbers.
#[derive(Default)]
pub(crate) struct Tally {
    by_status: [AtomicI64; Status::ALL.len()],
    /// The ids of staged actions, which sort by the time of submission. One that has moved on while
    /// it was being added is found and removed by [`Tally::oldest_staged`].
    staged: Mutex<BTreeSet<ActionId>>,
}

fn place(status: Status) -> usize {
    status as usize
}

impl Tally {
    /// One action went from one status to another.
    pub(crate) fn moved(&self, id: ActionId, from: Option<Status>, to: Status) {
        if from == Some(to) {
            return;
        }
        if let Some(from) = from {
            self.by_status[place(from)].fetch_sub(1, Ordering::Relaxed);
            self.publish(from);
        }
        self.by_status[place(to)].fetch_add(1, Ordering::Relaxed);
        self.publish(to);
        if to == Status::Staged {
            self.staged().insert(id);
        } else if from == Some(Status::Staged) {
            self.staged().remove(&id);
        }
    }

    /// The numbers now.
    pub(crate) fn counts(&self, still_staged: impl Fn(ActionId) -> bool) -> Counts {
        let by_status = Status::ALL
            .into_iter()
            .map(|status| (status, self.get(status)))
            .filter(|(_, count)| 0 < *count)
            .collect();
        Counts {
            by_status,
            oldest_staged: self.oldest_staged(still_staged).map(created_at),
        }
    }

    /// How many actions are not final.
    pub(crate) fn open(&self) -> u64 {
        index::LANES
            .into_iter()
            .map(|status| self.get(status))
            .sum()
    }

    fn oldest_staged(&self, still_staged: impl Fn(ActionId) -> bool) -> Option<ActionId> {
        loop {
            let first = self.staged().first().copied()?;
            if still_staged(first) {
                return Some(first);
            }
            self.staged().remove(&first);
        }
    }

    fn get(&self, status: Status) -> u64 {
        let count = self.by_status[place(status)].load(Ordering::Relaxed);
        u64::try_from(count).unwrap_or(0)
    }

    fn publish(&self, status: Status) {
        if !status.is_final() {
            #[expect(clippy::cast_precision_loss, reason = "gauges are floating point")]
            let depth = self.get(status) as f64;
            metrics::gauge!("holdpoint_queue_depth", "status" => status.name()).set(depth);
        }
    }

    fn staged(&self) -> std::sync::MutexGuard<'_, BTreeSet<ActionId>> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts everything at start. Answers with the position that the stored totals go up to.
    pub(crate) fn start(&self, log: &dyn EventLog) -> Result<Position, RebuildError> {
        self.count_open(log)?;
        let (position, totals) = read_totals(log)?;
        for status in Status::ALL.into_iter().filter(|status| status.is_final()) {
            let total = i64::try_from(totals[place(status)]).unwrap_or(i64::MAX);
            self.by_status[place(status)].store(total, Ordering::Relaxed);
        }
        for id in touched_after(log, position)? {
            if let Some(view) = super::load(log, id)?
                && view.action.status().is_final()
            {
                self.by_status[place(view.action.status())].fetch_add(1, Ordering::Relaxed);
            }
        }
        for status in index::LANES {
            self.publish(status);
        }
        Ok(position)
    }

    fn count_open(&self, log: &dyn EventLog) -> Result<(), RebuildError> {
        for entries in pages(log, index::OPEN, &[]) {
            for (key, _) in entries? {
                let Some(open) = OpenKey::parse(&key) else {
                    continue;
                };
                self.by_status[place(open.status)].fetch_add(1, Ordering::Relaxed);
                if open.status == Status::Staged {
                    self.staged().insert(open.id);
                }
            }
        }
        Ok(())
    }

    /// The totals as a batch. Only exact while no append is on its way.
    pub(crate) fn checkpoint(&self, position: Position) -> Result<Batch, CodecError> {
        let totals: Vec<u64> = Status::ALL
            .into_iter()
            .map(|status| {
                if status.is_final() {
                    self.get(status)
                } else {
                    0
                }
            })
            .collect();
        Ok(Batch {
            puts: vec![IndexPut {
                index: index::META,
                key: index::META_TOTALS.to_vec(),
                value: codec::encode(TOTALS_FORMAT, (position, totals))?,
            }],
            ..Batch::default()
        })
    }
}

fn read_totals(log: &dyn EventLog) -> Result<(Position, Vec<u64>), RebuildError> {
    let none = (0, vec![0; Status::ALL.len()]);
    let Some(bytes) = log.get(index::META, index::META_TOTALS)? else {
        return Ok(none);
    };
    // Totals that cannot be read are counted again from the start of the log.
    Ok(
        match codec::decode::<(Position, Vec<u64>)>(TOTALS_FORMAT, &bytes) {
            Ok(totals) if totals.1.len() == Status::ALL.len() => totals,
            Ok(_) | Err(_) => none,
        },
    )
}

/// Every action with an event after `position` that is not merely a late answer to a final one.
fn touched_after(
    log: &dyn EventLog,
    mut position: Position,
) -> Result<HashSet<ActionId>, RebuildError> {
    let mut touched = HashSet::new();
    loop {
        let records = log.read_all(position, PAGE)?;
        let Some(last) = records.last() else {
            return Ok(touched);
        };
        position = last.position;
        for record in &records {
            let Some(id) = codec::action_of(&record.stream) else {
                continue;
            };
            let event = codec::decode_event(record)
                .map_err(|error| RebuildError::unreadable(record.position, error.0))?;
            if !matches!(event, Event::LateAnswer { .. }) {
                touched.insert(id);
            }
        }
    }
}

/// When an action was submitted, from its id.
fn created_at(id: ActionId) -> Timestamp {
    let mut millis = [0; 8];
    millis[2..].copy_from_slice(&id.as_bytes()[..6]);
    Timestamp(i64::from_be_bytes(millis))
}

//! Reading the whole log at the start: every entry, every hash, every link.
//!
//! Nothing less would do. sled can come back from damage with an older page and say nothing, also after
//! a clean stop; only what was read is known to be there. So the work is not cut short but shared: the
//! keys are parted among threads, each part of the records checks its own stretch of the chain and the
//! link to the record before it, and the sums are added.

use std::ops::Bound;
use std::thread;

use super::fault::{Fault, OPENING_THREAD};
use super::keys;
use super::store::Store;
use super::values;
use super::view::decode;
use crate::chain::Head;
use crate::record::{Position, Record};

/// A part of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The records after the first position, up to the second.
    Records(Position, Position),
    /// Everything from one key to before another; `None` for the end of the tree.
    Others(&'static [u8], Option<&'static [u8]>),
}

/// The sum of all entries, as in [`keys::Tip`], of a log with `records` records; names a record that
/// breaks the chain. Shared by about `threads` threads.
pub(super) fn sum(store: &Store, records: Position, threads: usize) -> Result<u64, Fault> {
    thread::scope(|scope| {
        let workers = parts(records, threads).into_iter().map(|part| {
            let thread = thread::Builder::new().name(OPENING_THREAD.to_owned());
            thread.spawn_scoped(scope, move || sum_of(store, &part))
        });
        // All of them are begun before the first is waited for.
        let workers: Vec<_> = workers.collect();
        let mut sum = 0_u64;
        for worker in workers {
            match worker.map_err(Fault::Io)?.join() {
                Ok(part) => sum = sum.wrapping_add(part?),
                // sled panics on some kinds of damage; whoever opens tells of it.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(sum)
    })
}

/// Parts that together are the whole tree, in the order of keys, so that the first damage is named.
fn parts(records: Position, threads: usize) -> Vec<Part> {
    let count = u64::try_from(threads.max(1)).unwrap_or(1);
    let mut parts = vec![Part::Others(b"", Some(b"r"))];
    let edge = |number: u64| {
        let place = u128::from(records) * u128::from(number) / u128::from(count);
        Position::try_from(place).unwrap_or(records)
    };
    for number in 0..count {
        let (after, to) = (edge(number), edge(number + 1));
        if after < to {
            parts.push(Part::Records(after, to));
        }
    }
    parts.push(Part::Others(b"s", None));
    parts
}

fn sum_of(store: &Store, part: &Part) -> Result<u64, Fault> {
    match part {
        Part::Records(after, to) => sum_of_records(store, *after, *to),
        Part::Others(from, to) => sum_of_others(store, from, *to),
    }
}

fn sum_of_records(store: &Store, after: Position, to: Position) -> Result<u64, Fault> {
    let mut before = match after {
        0 => Head::default(),
        after => Head::after(&read(store, after)?),
    };
    let mut sum = 0_u64;
    let from = match after {
        // Whatever else may stand before the first record.
        0 => b"r".to_vec(),
        after => keys::record(after + 1),
    };
    for entry in store.db.range(from..=keys::record(to)) {
        let (key, first) = entry?;
        let position = keys::record_position(&key)
            .ok_or_else(|| Fault::Corrupt("a record has no position".to_owned()))?;
        let record = decode_at(store, &key, &first, position)?;
        if let Some(reason) = before.refuse(&record) {
            let reason = format!("record {position} breaks the chain: {reason}");
            return Err(Fault::Corrupt(reason));
        }
        before = Head::after(&record);
        sum = sum.wrapping_add(keys::weigh(&key, &record.hash.0));
    }
    if before.position != to {
        let position = before.position + 1;
        return Err(Fault::Corrupt(format!(
            "record {position}: a record is missing"
        )));
    }
    Ok(sum)
}

fn sum_of_others(store: &Store, from: &[u8], to: Option<&[u8]>) -> Result<u64, Fault> {
    let mut sum = 0_u64;
    let to = to.map_or(Bound::Unbounded, Bound::Excluded);
    for entry in store.db.range::<&[u8], _>((Bound::Included(from), to)) {
        let (key, first) = entry?;
        let weight = match key.first() {
            Some(b's') => keys::weigh(&key, &first),
            Some(b'i' | b'u') => {
                let whole = values::assemble(&store.db, &key, &first)?;
                keys::weigh(&key, &whole)
            }
            // The tip itself, and pieces, which were weighed with their value.
            _ => 0,
        };
        sum = sum.wrapping_add(weight);
    }
    Ok(sum)
}

/// The record at a position, which must be there.
pub(super) fn read(store: &Store, position: Position) -> Result<Record, Fault> {
    let key = keys::record(position);
    let missing = || Fault::Corrupt(format!("record {position}: it is missing"));
    let first = store.db.get(&key)?.ok_or_else(missing)?;
    decode_at(store, &key, &first, position)
}

/// The record under a key whose first piece is at hand; an error names the record.
fn decode_at(
    store: &Store,
    key: &[u8],
    first: &sled::IVec,
    position: Position,
) -> Result<Record, Fault> {
    decode(store, key, first, position).map_err(|fault| match fault {
        Fault::Io(error) => Fault::Io(error),
        Fault::Corrupt(reason) => Fault::Corrupt(format!("record {position}: {reason}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole_for_any_number_of_threads() {
        for records in [0, 1, 2, 7, 600, u64::MAX] {
            for threads in [0, 1, 2, 3, 8] {
                let mut after = 0;
                for part in parts(records, threads) {
                    if let Part::Records(from, to) = part {
                        assert_eq!(from, after);
                        assert!(from < to);
                        after = to;
                    }
                }
                assert_eq!(after, records, "{threads} threads");
            }
        }
    }
}

//! Ranges of entries as readers see them: the tree, with the overlay laid over it.

use std::cmp::Ordering;
use std::ops::Bound;

use super::fault::Fault;
use super::keys;
use super::values;
use super::view::Overlay;
use crate::log::{Direction, Entries, ScanRange};

/// A range of keys of the tree, and how much of each belongs to the tree alone.
pub(super) struct Bounds {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    strip: usize,
}

/// The bounds of a scan of an index; `None` where nothing can lie between them.
pub(super) fn of_index(index: u8, range: ScanRange<'_>) -> Option<Bounds> {
    let prefix = keys::entry(index, range.prefix);
    // Never empty: an index key starts with a letter that has keys above it.
    let end = keys::after_prefix(&prefix)?;
    let lower = match range.above.map(|above| keys::entry(index, above)) {
        Some(above) if prefix <= above => Bound::Excluded(above),
        Some(_) | None => Bound::Included(prefix),
    };
    let upper = match range.below.map(|below| keys::entry(index, below)) {
        Some(below) if below < end => below,
        Some(_) | None => end,
    };
    let (Bound::Included(start) | Bound::Excluded(start)) = &lower else {
        return None;
    };
    (*start < upper).then_some(Bounds {
        lower,
        upper: Bound::Excluded(upper),
        strip: 2,
    })
}

/// The bounds of all claims above one.
pub(super) fn of_claims(above: Option<&[u8]>) -> Bounds {
    let all = keys::claim(b"");
    Bounds {
        upper: keys::after_prefix(&all).map_or(Bound::Unbounded, Bound::Excluded),
        lower: match above {
            Some(above) => Bound::Excluded(keys::claim(above)),
            None => Bound::Included(all),
        },
        strip: 1,
    }
}

/// The entries between the bounds; of a key that is in both, the overlay holds.
pub(super) fn merge(
    tree: &sled::Tree,
    overlay: &Overlay,
    bounds: &Bounds,
    limit: usize,
    direction: Direction,
) -> Result<Entries, Fault> {
    let Bounds {
        lower,
        upper,
        strip,
    } = bounds;
    let mut stored = tree.range::<&[u8], _>((as_slice(lower), as_slice(upper)));
    let mut hidden = overlay.range::<[u8], _>((as_slice(lower), as_slice(upper)));
    let mut next_stored = || match direction {
        Direction::Forward => stored.next().transpose(),
        Direction::Backward => stored.next_back().transpose(),
    };
    let mut next_hidden = || match direction {
        Direction::Forward => hidden.next(),
        Direction::Backward => hidden.next_back(),
    };
    let mut entries = Vec::new();
    let (mut in_tree, mut in_overlay) = (next_stored()?, next_hidden());
    while entries.len() < limit {
        // Which of the two has the next key.
        let order = match (&in_tree, in_overlay) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((key, _)), Some((hidden, _))) => match direction {
                Direction::Forward => key.as_ref().cmp(hidden),
                Direction::Backward => hidden.as_slice().cmp(key),
            },
        };
        if order.is_lt() {
            if let Some((key, first)) = &in_tree {
                let value = values::assemble(tree, key, first)?.into_owned();
                entries.push((key[*strip..].to_vec(), value));
            }
            in_tree = next_stored()?;
            continue;
        }
        if let Some((key, Some(value))) = in_overlay {
            entries.push((key[*strip..].to_vec(), value.clone()));
        }
        in_overlay = next_hidden();
        if order.is_eq() {
            in_tree = next_stored()?;
        }
    }
    Ok(entries)
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

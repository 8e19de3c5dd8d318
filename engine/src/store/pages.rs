//! An index from its beginning to its end.

use holdpoint_storage::{Direction, Entries, EventLog, ReadError, ScanRange};

use super::index;
use crate::action::Status;

/// Entries read at once.
const PAGE: usize = 256;

/// The entries of an index under a prefix, in order, page by page: never more of them than a page is in
/// memory, and what is written meanwhile behind the page is found.
pub(crate) fn pages<'a>(
    log: &'a dyn EventLog,
    index: u8,
    prefix: &'a [u8],
) -> impl Iterator<Item = Result<Entries, ReadError>> + Send + 'a {
    let mut above: Option<Vec<u8>> = None;
    std::iter::from_fn(move || {
        let range = ScanRange {
            prefix,
            above: above.as_deref(),
            below: None,
        };
        match log.scan(index, range, PAGE, Direction::Forward) {
            Ok(entries) => {
                above = Some(entries.last()?.0.clone());
                Some(Ok(entries))
            }
            Err(error) => Some(Err(error)),
        }
    })
}

/// How many actions have an open status.
pub(crate) fn open_of(log: &dyn EventLog, status: Status) -> Result<u64, ReadError> {
    let prefix: Vec<u8> = index::lane(status).into_iter().collect();
    let mut sizes = pages(log, index::OPEN, &prefix).map(|page| Ok(page?.len() as u64));
    sizes.try_fold(0, |sum, size: Result<u64, ReadError>| Ok(sum + size?))
}

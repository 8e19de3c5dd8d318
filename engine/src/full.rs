//! A full disk, told from other failures of the store: it passes once somebody makes room.

use std::error::Error;

use holdpoint_storage::AppendError;

use crate::identity::StoreError;

/// What whoever asks is told; which disk it is, is for the log of the server.
pub const WORDS: &str = "the disk of the server is full: nothing new is taken until there is room there; \
                         nothing was acknowledged, and what was before is safe";

/// Whether an error means that there was no room.
pub fn is_full(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let append = match error.downcast_ref::<StoreError>() {
            Some(StoreError::Append(append)) => Some(append),
            Some(_) | None => error.downcast_ref::<AppendError>(),
        };
        if matches!(append, Some(AppendError::Full { .. })) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Box<dyn Error + Send + Sync>);

    #[test]
    fn a_full_disk_is_found_wherever_it_stands_in_the_causes() {
        let full = || AppendError::Full {
            reason: "no room".to_owned(),
        };
        let failed = AppendError::Stopped {
            reason: "it failed".to_owned(),
        };
        assert!(is_full(&full()));
        assert!(is_full(&StoreError::Append(full())));
        assert!(is_full(&Outer(Box::new(StoreError::Append(full())))));
        assert!(!is_full(&Outer(Box::new(failed))));
    }
}

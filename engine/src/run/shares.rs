//! How many runs each caller has under way, so that none of them takes the room of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The runs under way, by the id of their caller.
#[derive(Default)]
pub(crate) struct Shares(Mutex<HashMap<String, usize>>);

/// One run under way, until it is dropped: also where its task panics.
pub(crate) struct Share {
    all: Arc<Shares>,
    caller: String,
}

impl Shares {
    /// How many a caller has.
    pub(crate) fn of(&self, caller: &str) -> usize {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(caller).copied().unwrap_or(0)
    }

    /// Counts one more.
    pub(crate) fn take(self: &Arc<Self>, caller: &str) -> Share {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(caller.to_owned()).or_default() += 1;
        Share {
            all: Arc::clone(self),
            caller: caller.to_owned(),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = all
            .get(&self.caller)
            .map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            all.remove(&self.caller);
        } else {
            all.insert(self.caller.clone(), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_counts_for_its_caller_until_it_is_dropped() {
        let all = Arc::new(Shares::default());
        let shares = [all.take("a"), all.take("a"), all.take("b")];
        assert_eq!((all.of("a"), all.of("b"), all.of("c")), (2, 1, 0));
        drop(shares);
        assert!(all.0.lock().expect("no panic").is_empty());
    }
}

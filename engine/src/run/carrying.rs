//! Who carries a run on: one at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether a run is carried on.
#[derive(Default)]
pub(crate) struct Carrying(Arc<Mutex<State>>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nobody does.
    #[default]
    Off,
    /// Somebody does.
    On,
    /// Somebody does, and looks once more before ending: more was wished in the meantime.
    Again,
}

/// Says that a run is carried on, until it is dropped: also where its task panics.
pub(crate) struct Carried(Option<Arc<Mutex<State>>>);

impl Carrying {
    /// Begins; none where somebody is at it already, who then looks once more before ending.
    pub(crate) fn begin(&self) -> Option<Carried> {
        let mut state = lock(&self.0);
        let is_free = *state == State::Off;
        *state = if is_free { State::On } else { State::Again };
        is_free.then(|| Carried(Some(Arc::clone(&self.0))))
    }

    /// Whether somebody is at it.
    pub(crate) fn is_on(&self) -> bool {
        *lock(&self.0) != State::Off
    }
}

impl Carried {
    /// Ends it; answers itself where more was wished in the meantime.
    pub(crate) fn ended(mut self) -> Option<Self> {
        let all = self.0.take()?;
        let mut state = lock(&all);
        let is_wished = *state == State::Again;
        *state = if is_wished { State::On } else { State::Off };
        drop(state);
        is_wished.then_some(Self(Some(all)))
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if let Some(all) = &self.0 {
            *lock(all) = State::Off;
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

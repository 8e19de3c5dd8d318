//! Who waits for work of which tools. Whoever has waited longest is woken first, and one for each
//! thing that may be had: a crowd that waits costs nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::action::{Action, ActionId};
use crate::limits::CLAIMS_WAITING_MAX;
use crate::store::index::WorkKey;

/// Everybody who asks for work.
#[derive(Default)]
pub(crate) struct Board {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The next place in the row.
    next: u64,
    /// How many ask at this moment, awake or asleep.
    asking: usize,
    /// Who sleeps, in the order of their coming.
    asleep: BTreeMap<u64, Asleep>,
    /// The same, by tool.
    by_tool: HashMap<String, BTreeSet<u64>>,
    /// What somebody looks at in this moment, so that nobody else does for nothing.
    in_hand: HashSet<ActionId>,
}

struct Asleep {
    tools: Arc<[String]>,
    wake: Arc<Notify>,
}

impl State {
    fn remove(&mut self, place: u64) -> Option<Asleep> {
        let asleep = self.asleep.remove(&place)?;
        for tool in asleep.tools.iter() {
            if let Some(row) = self.by_tool.get_mut(tool) {
                row.remove(&place);
                if row.is_empty() {
                    self.by_tool.remove(tool);
                }
            }
        }
        Some(asleep)
    }

    fn wake(&mut self, tool: &str) {
        let first = self.by_tool.get(tool).and_then(|row| row.first().copied());
        if let Some(asleep) = first.and_then(|place| self.remove(place)) {
            asleep.wake.notify_one();
        }
    }
}

/// One who asks, with a place in the row; gives it back when dropped, and lets the next one look.
pub(crate) struct Turn<'a> {
    board: &'a Board,
    place: u64,
    tools: Arc<[String]>,
    wake: Arc<Notify>,
}

/// Something that one who asks looks at.
pub(crate) struct InHand<'a> {
    board: &'a Board,
    id: ActionId,
    tool: &'a str,
    is_done: bool,
}

impl Board {
    /// A place at the end of the row; none where too many ask already.
    pub(crate) fn join(&self, tools: Arc<[String]>) -> Option<Turn<'_>> {
        let mut state = self.state();
        if CLAIMS_WAITING_MAX <= state.asking {
            return None;
        }
        state.asking += 1;
        state.next += 1;
        Some(Turn {
            board: self,
            place: state.next,
            tools,
            wake: Arc::new(Notify::new()),
        })
    }

    /// Something changed that a worker may be able to pull, now or later.
    pub(crate) fn offer(&self, action: &Action) {
        if WorkKey::of(action).is_some() {
            self.state().wake(&action.proposal.tool);
        }
    }

    /// Lets everybody look again: the clock was set, or work may be given out again.
    pub(crate) fn wake_all(&self) {
        let mut state = self.state();
        while let Some((place, _)) = state.asleep.first_key_value() {
            let place = *place;
            if let Some(asleep) = state.remove(place) {
                asleep.wake.notify_one();
            }
        }
    }

    /// Takes something in hand; none where somebody else has it there.
    pub(crate) fn take<'a>(&'a self, id: ActionId, tool: &'a str) -> Option<InHand<'a>> {
        let is_free = self.state().in_hand.insert(id);
        // Made only where it was free: dropping one gives the action back.
        is_free.then(|| InHand {
            board: self,
            id,
            tool,
            is_done: false,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Goes to sleep in the own place. Look for work after this, not before: what comes in between is
    /// not missed.
    pub(crate) fn lie_down(&self) {
        let mut state = self.board.state();
        for tool in self.tools.iter() {
            let row = state.by_tool.entry(tool.clone()).or_default();
            row.insert(self.place);
        }
        let asleep = Asleep {
            tools: Arc::clone(&self.tools),
            wake: Arc::clone(&self.wake),
        };
        state.asleep.insert(self.place, asleep);
    }

    /// Waits to be woken.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.board.state();
        state.asking -= 1;
        state.remove(self.place);
        // There may be more than this one took, and it may have been woken for what it did not take.
        for tool in self.tools.iter() {
            state.wake(tool);
        }
    }
}

impl InHand<'_> {
    /// It was looked at to the end.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let mut state = self.board.state();
        state.in_hand.remove(&self.id);
        if !self.is_done {
            state.wake(self.tool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i12_what_somebody_has_in_hand_is_given_to_nobody_else() {
        let board = Board::default();
        let id = ActionId::from_bytes([7; 16]);
        let first = board.take(id, "pack");
        assert!(first.is_some());
        // The second try hangs on no lock, and gives nothing back for the first.
        assert!(board.take(id, "pack").is_none());
        assert!(board.take(id, "pack").is_none());
        drop(first);
        assert!(board.take(id, "pack").is_some());
    }
}

//! Who waits for work of which tools. Whoever has waited longest is woken first, and one for each
//! thing that may be had: a crowd that waits costs nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::action::{Action, ActionId};
use crate::canon::Digest;
use crate::limits::CLAIMS_WAITING_MAX;
use crate::store::index::WorkKey;
use crate::tool::Registry;

/// Everybody who asks for work.
#[derive(Default)]
pub(crate) struct Board {
    state: Mutex<State>,
    /// For the one who ends what can never be pulled.
    all: Notify,
    /// The tools as they are defined now.
    defined: HashMap<String, Digest>,
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
    /// How many of a tool are in hand or leased: no more than its definition allows.
    busy: HashMap<String, usize>,
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

    fn begin(&mut self, tool: &str) {
        *self.busy.entry(tool.to_owned()).or_default() += 1;
    }

    fn end(&mut self, tool: &str) {
        if let Some(busy) = self.busy.get_mut(tool) {
            *busy -= 1;
            if *busy == 0 {
                self.busy.remove(tool);
            }
        }
    }

    fn is_busy(&self, tool: &str, limit: usize) -> bool {
        limit <= self.busy.get(tool).copied().unwrap_or(0)
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
    wakes_next: bool,
}

impl Board {
    /// A board for the tools that are defined.
    pub(crate) fn new(registry: &Registry) -> Self {
        let tools = registry.iter();
        Self {
            defined: tools.map(|tool| (tool.name.clone(), tool.digest)).collect(),
            ..Self::default()
        }
    }

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

    /// Whether the tool is still the one that it was proposed with. Else no worker is ever given it.
    pub(crate) fn is_defined(&self, work: &WorkKey) -> bool {
        self.defined.get(&work.tool) == Some(&work.tool_digest)
    }

    /// Something changed that a worker may be able to pull, now or later.
    pub(crate) fn offer(&self, action: &Action) {
        let Some(work) = WorkKey::of(action) else {
            return;
        };
        if !self.is_defined(&work) {
            self.all.notify_one();
        }
        self.state().wake(&work.tool);
    }

    /// Lets everybody look again: the clock was set, or work may be given out again.
    pub(crate) fn wake_all(&self) {
        self.all.notify_one();
        let mut state = self.state();
        while let Some((place, _)) = state.asleep.first_key_value() {
            let place = *place;
            if let Some(asleep) = state.remove(place) {
                asleep.wake.notify_one();
            }
        }
    }

    /// Waits until everybody was woken, or until there is something that can never be pulled; what came
    /// since the last wait is not missed. For one who waits.
    pub(crate) async fn all_woken(&self) {
        self.all.notified().await;
    }

    /// A worker has one more of the tool.
    pub(crate) fn lease_began(&self, tool: &str) {
        self.state().begin(tool);
    }

    /// A worker has one less of the tool; somebody else may have one.
    pub(crate) fn lease_ended(&self, tool: &str) {
        let mut state = self.state();
        state.end(tool);
        state.wake(tool);
    }

    /// Whether workers have as many of the tool as they may.
    pub(crate) fn is_busy(&self, tool: &str, limit: usize) -> bool {
        self.state().is_busy(tool, limit)
    }

    /// Takes something in hand; none where somebody else has it there, or as many of the tool as may
    /// be are under way.
    pub(crate) fn take<'a>(
        &'a self,
        id: ActionId,
        tool: &'a str,
        limit: usize,
    ) -> Option<InHand<'a>> {
        let mut state = self.state();
        if state.is_busy(tool, limit) || !state.in_hand.insert(id) {
            return None;
        }
        state.begin(tool);
        Some(InHand {
            board: self,
            id,
            tool,
            wakes_next: true,
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
    /// It was looked at to the end. Where nothing came of it, nobody else would find more there.
    pub(crate) fn done(mut self, given: bool) {
        self.wakes_next = given;
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let mut state = self.board.state();
        state.in_hand.remove(&self.id);
        state.end(self.tool);
        if self.wakes_next {
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
        let first = board.take(id, "pack", 9);
        assert!(first.is_some());
        // The second try hangs on no lock, and gives nothing back for the first.
        assert!(board.take(id, "pack", 9).is_none());
        assert!(board.take(id, "pack", 9).is_none());
        drop(first);
        assert!(board.take(id, "pack", 9).is_some());
    }

    fn tools(names: &[&str]) -> Arc<[String]> {
        names.iter().map(ToString::to_string).collect()
    }

    fn wake(board: &Board, tool: &str) {
        board.state().wake(tool);
    }

    #[tokio::test]
    async fn whoever_has_waited_longest_is_woken_first_and_alone() {
        let board = Board::default();
        let first = board.join(tools(&["a", "b"])).expect("room");
        let second = board.join(tools(&["b"])).expect("room");
        for turn in [&second, &first] {
            turn.lie_down();
        }
        wake(&board, "b");
        first.woken().await;
        assert!(second.is_asleep());
        wake(&board, "b");
        second.woken().await;
        // Who found nothing keeps the place in the row.
        second.lie_down();
        first.lie_down();
        wake(&board, "b");
        first.woken().await;
        assert!(second.is_asleep());
    }

    #[tokio::test]
    async fn whoever_leaves_lets_the_next_one_look() {
        let board = Board::default();
        let first = board.join(tools(&["a"])).expect("room");
        let second = board.join(tools(&["a"])).expect("room");
        first.lie_down();
        second.lie_down();
        wake(&board, "a");
        drop(first);
        second.woken().await;
    }

    #[test]
    fn no_more_of_a_tool_are_given_out_than_it_allows() {
        let board = Board::default();
        let id = |number| ActionId::from_bytes([number; 16]);
        let hand = board.take(id(1), "a", 2).expect("free");
        assert!(board.take(id(1), "a", 2).is_none(), "in somebody's hand");
        board.lease_began("a");
        assert!(board.take(id(2), "a", 2).is_none() && board.is_busy("a", 2));
        assert!(board.take(id(3), "b", 2).is_some());
        hand.done(true);
        assert!(board.take(id(2), "a", 2).is_some());
        board.lease_ended("a");
        assert!(board.state().busy.is_empty(), "nothing is left behind");
    }

    #[test]
    fn i21_only_so_many_wait() {
        let board = Board::default();
        let turns: Vec<_> = (0..CLAIMS_WAITING_MAX)
            .map(|_| board.join(tools(&["a"])).expect("room"))
            .collect();
        assert!(board.join(tools(&["a"])).is_none());
        drop(turns);
        assert!(board.join(tools(&["a"])).is_some());
        assert!(board.state().by_tool.is_empty(), "nothing is left behind");
    }

    impl Turn<'_> {
        fn is_asleep(&self) -> bool {
            self.board.state().asleep.contains_key(&self.place)
        }
    }
}

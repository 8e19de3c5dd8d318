//! Kills at each call to the disk: of the first start, of later ones, of appends and of closing, and
//! again in the start that follows.
//!
//! A kill at a random moment seldom hits the few calls of an opening that can hurt. Here each is hit.
//! `HOLDPOINT_PAIRS=all` tries each pair of a kill and a second one in the start that follows; without
//! it a sample is spread over all.

use std::path::Path;

use crate::child::{Acknowledged, check};
use crate::library::Act;
use crate::library::workshop;
use crate::life::{Lived, Place, live};

/// Enough for groups of several batches and values that are split.
const BATCHES: u64 = 10;

/// A log that was left in some way, and what had been acknowledged in it.
struct Left {
    place: Place,
    acknowledged: Acknowledged,
}

impl Left {
    /// Nothing there yet.
    fn fresh(root: &Path) -> Self {
        Self {
            place: Place::new(root, "left"),
            acknowledged: Acknowledged::new(),
        }
    }

    /// Written to and closed.
    fn closed(root: &Path) -> Self {
        let mut left = Self::fresh(root);
        left.live(Act::Watch);
        left
    }

    /// Killed while it was written to.
    fn killed(root: &Path) -> Self {
        let mut left = Self::closed(root);
        let lived = left.live(Act::KillBefore(90));
        assert!(lived.was_killed(), "the life has 90 calls");
        left
    }

    fn copy(&self, root: &Path, name: &str) -> Self {
        Self {
            place: self.place.copy(root, name),
            acknowledged: self.acknowledged.clone(),
        }
    }

    fn live(&mut self, act: Act) -> Lived {
        let lived = live(&self.place.log(), BATCHES, &self.place.watch().act(act));
        lived.note(&mut self.acknowledged);
        lived
    }

    /// The next start needs no hand, and everything that was acknowledged is there.
    fn check(self) {
        check(&self.place.log(), &self.acknowledged);
        self.place.remove();
    }
}

/// Kills at every call, the first time `from`, until a life ends by itself; returns how many kills
/// there were.
fn kill_at_each_call(root: &Path, left: &Left, when: fn(u64) -> Act) -> u64 {
    for call in 1.. {
        let mut copy = left.copy(root, &format!("at-{call}"));
        let lived = copy.live(when(call));
        copy.check();
        if !lived.was_killed() {
            assert!(lived.status.success(), "{:?}", lived.status);
            return call - 1;
        }
    }
    unreachable!("a life ends")
}

/// A kill at each call of a life, and at each call of the life after.
fn kill_twice(root: &Path, left: &Left) -> u64 {
    let all = std::env::var("HOLDPOINT_PAIRS").is_ok_and(|value| value == "all");
    let (first_step, second_step) = if all { (1, 1) } else { (7, 11) };
    let mut pairs = 0;
    for first in 0.. {
        let mut once = left.copy(root, "once");
        if !once
            .live(Act::KillBefore(1 + first * first_step))
            .was_killed()
        {
            break;
        }
        for second in 0.. {
            let mut twice = once.copy(root, "twice");
            // Another offset each time, so that the sample is spread over all.
            let call = 1 + (first % second_step) + second * second_step;
            let killed = twice.live(Act::KillBefore(call)).was_killed();
            twice.check();
            if !killed {
                break;
            }
            pairs += 1;
        }
        once.place.remove();
    }
    pairs
}

#[expect(clippy::print_stdout, reason = "the figures of a run")]
fn each_call(left: fn(&Path) -> Left) {
    let root = workshop();
    let left = left(root.path());
    let before = kill_at_each_call(root.path(), &left, Act::KillBefore);
    let after = kill_at_each_call(root.path(), &left, Act::KillAfter);
    println!("killed before each of {before} calls, and after each of {after}");
    assert!(60 < before && 60 < after, "that is no whole life");
}

#[expect(clippy::print_stdout, reason = "the figures of a run")]
fn each_pair(left: fn(&Path) -> Left) {
    let root = workshop();
    let left = left(root.path());
    let pairs = kill_twice(root.path(), &left);
    println!("killed at {pairs} pairs of calls");
    assert!(60 < pairs, "that is no whole life");
}

#[test]
fn i23_killed_at_each_call_of_the_first_start_the_next_one_needs_no_hand() {
    each_call(Left::fresh);
}

#[test]
fn i23_killed_at_each_call_after_a_clean_stop_nothing_acknowledged_is_lost() {
    each_call(Left::closed);
}

#[test]
fn i23_killed_at_each_call_after_a_kill_nothing_acknowledged_is_lost() {
    each_call(Left::killed);
}

#[test]
fn i23_killed_in_the_first_start_and_again_in_the_next_it_needs_no_hand() {
    each_pair(Left::fresh);
}

#[test]
fn i23_killed_in_recovery_and_again_in_the_next_nothing_acknowledged_is_lost() {
    each_pair(Left::killed);
}

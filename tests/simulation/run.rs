//! Many seeds, on every core, each in a thread of its own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::life::{Lived, live};
use crate::reach::{self, Missed};
use crate::weather::Fault;
use crate::world::Broken;

thread_local! {
    /// The first panic of this thread since it was last asked for.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What many seeds came to.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) seeds: u64,
    pub(crate) steps: u64,
    pub(crate) simulated_ms: u128,
    pub(crate) actions: u64,
    pub(crate) starts: u64,
    /// What endpoints were told.
    pub(crate) messages: u64,
    pub(crate) fired: Vec<u64>,
    /// Event, status before, status after: how many seeds took it.
    pub(crate) transitions: BTreeMap<(String, String, String), u64>,
    /// Seed, and what did not hold.
    pub(crate) wrong: Vec<(u64, String, Vec<String>)>,
}

impl Sum {
    fn add(&mut self, seed: u64, lived: Lived) {
        self.seeds += 1;
        self.steps += lived.steps;
        self.simulated_ms += u128::from(lived.simulated_ms);
        self.actions += lived.actions;
        self.starts += lived.starts;
        self.messages += lived.messages;
        self.fired.resize(Fault::ALL.len(), 0);
        for (sum, fired) in self.fired.iter_mut().zip(lived.fired) {
            *sum += fired;
        }
        for transition in lived.transitions {
            *self.transitions.entry(transition).or_default() += 1;
        }
        if let Some(what) = lived.wrong {
            self.wrong.push((seed, what, lived.trace));
        }
    }

    /// What no seed took of what could be.
    pub(crate) fn missed(&self) -> Missed {
        reach::missed(|transition| self.transitions.contains_key(transition))
    }

    /// The faults that struck in no seed.
    pub(crate) fn never_struck(&self) -> Vec<String> {
        let faults = Fault::ALL.iter().zip(&self.fired);
        // A cut within a group needs two batches on their way at once, which is seldom.
        let must = |fault: Fault| fault != Fault::WriteTorn;
        let never = faults.filter(|(fault, fired)| **fired == 0 && must(**fault));
        never
            .map(|(fault, _)| format!("no seed had this fault: {}", fault.text()))
            .collect()
    }

    /// The figures, as they stand in the documentation.
    pub(crate) fn report(&self) -> String {
        let days = self.simulated_ms / 86_400_000;
        let mut text = format!(
            "{} seeds, {} steps, {} actions, {} messages to endpoints, {} starts, {days} simulated days\n\n\
             faults:\n",
            self.seeds, self.steps, self.actions, self.messages, self.starts
        );
        for (fault, fired) in Fault::ALL.iter().zip(&self.fired) {
            let line = format!("  {fired:>9}  {}\n", fault.text());
            text.push_str(&line);
        }
        text.push_str("\ntransitions, and the seeds that took them:\n");
        for ((kind, before, after), seeds) in &self.transitions {
            let line = format!("  {seeds:>9}  {kind}: {before} -> {after}\n");
            text.push_str(&line);
        }
        text.push_str("\ntransitions that no seed took:\n");
        let missed = self.missed();
        for line in missed.lines.iter().chain(&missed.wrong) {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// Remembers what panics, on the thread on which it does: the engine turns a panic into an answer.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANIC.with(|slot| {
                slot.borrow_mut().get_or_insert_with(|| info.to_string());
            });
            before(info);
        }));
    });
}

/// Lives through one seed; what panics is what does not hold.
pub(crate) fn one(seed: u64, broken: Broken) -> Lived {
    watch_panics();
    PANIC.with(|slot| slot.borrow_mut().take());
    let lived = std::panic::catch_unwind(AssertUnwindSafe(|| live(seed, broken)));
    let panic = PANIC.with(|slot| slot.borrow_mut().take());
    let mut lived = lived.unwrap_or_else(|_| Lived::nothing());
    if let Some(panic) = panic {
        lived.wrong.get_or_insert(panic);
    }
    lived
}

/// Lives through seeds from `first` on, on every core, until one of them is wrong or `count` are done.
pub(crate) fn many(first: u64, count: u64, broken: Broken) -> Sum {
    let next = AtomicU64::new(first);
    let sum = Mutex::new(Sum::default());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if first + count <= seed {
                        return;
                    }
                    let lived = one(seed, broken);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    sum.add(seed, lived);
                    if !sum.wrong.is_empty() {
                        return;
                    }
                }
            });
        }
    });
    sum.into_inner().unwrap_or_else(PoisonError::into_inner)
}

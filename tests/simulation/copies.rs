//! An older copy of the log takes its place (K4, I29).
//!
//! The copy knows nothing of what was done after it was made. It must not be started before somebody
//! confirms it; then, before anything else, what was on its way in it becomes unknown. What waits in it is
//! sent, under the same keys: what was sent after the copy was made may happen twice, and nothing else may.
//! The bank, the endpoints, the programs, the workers and the people forget nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdpoint_engine::action::Event;
use holdpoint_storage::{EventLog as _, MemoryLog, Record, Stats};

use crate::model::{Model, must};
use crate::people::APPROVERS;
use crate::watch::Watch;
use crate::weather::Fault;
use crate::world::World;

/// What must stand in the error of a start that is refused.
const REFUSAL: &str = "sends nothing before that was confirmed";

/// A copy of the log, and what was known of it when it was made.
struct Backup {
    log: MemoryLog,
    watch: Watch,
}

/// The copy that a seed may have, and whether the log is one.
#[derive(Default)]
pub(crate) struct Copies {
    backup: Mutex<Option<Backup>>,
    /// The files of the log are copies, and nobody has confirmed that they are the ones to be used.
    is_unconfirmed: AtomicBool,
}

impl Copies {
    fn backup(&self) -> MutexGuard<'_, Option<Backup>> {
        self.backup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.is_unconfirmed.load(Ordering::Relaxed)
    }

    pub(crate) fn confirm(&self) {
        self.is_unconfirmed.store(false, Ordering::Relaxed);
    }
}

/// What a log must hold first that was a copy when its process began.
#[derive(Clone, Default)]
pub(crate) struct Restored {
    is_unconfirmed: bool,
    /// What was on its way in the copy, and is not unknown yet.
    in_flight: BTreeSet<String>,
}

impl Restored {
    /// A process begins, over a copy or not.
    pub(crate) fn begin(&mut self, is_unconfirmed: bool) {
        self.is_unconfirmed = is_unconfirmed;
    }

    /// A durable record of anything.
    pub(crate) fn record(&mut self, record: &Record) -> Result<(), String> {
        let is_word = record.stream.as_str() == "incarnation";
        must!(
            is_word == self.is_unconfirmed,
            "I29: {} {}",
            record.kind,
            if is_word {
                "of a log that is no copy"
            } else {
                "in a copy that nobody has confirmed"
            }
        );
        self.is_unconfirmed = false;
        Ok(())
    }

    /// A durable event of an action.
    pub(crate) fn allows(&mut self, id: &str, event: &Event) -> Result<(), String> {
        let is_unknown = matches!(event, Event::AttemptUnknown { .. });
        must!(
            self.in_flight.is_empty() || is_unknown && self.in_flight.remove(id),
            "I29: {} before all that was on its way in the copy is unknown",
            event.kind()
        );
        Ok(())
    }

    /// Whether anything may be sent.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_unconfirmed && self.in_flight.is_empty()
    }
}

/// All that shows whether anything was written or sent.
#[derive(PartialEq)]
struct Traces {
    log: Option<Stats>,
    calls: u64,
    messages: u64,
}

impl World {
    /// Somebody copies the log, once in a seed: mostly while something waits to be sent, or is.
    pub(crate) async fn back_up(&self) {
        if self.copies.backup().is_some() {
            return;
        }
        let waits = |model: &Model| matches!(model.status, "approved" | "accepted");
        let chances = if self.one_of_those(waits).is_some() {
            6
        } else {
            1
        };
        if !(0..chances).any(|_| self.strikes(Fault::Copied)) {
            return;
        }
        tokio::time::sleep(Duration::from_micros(self.dice.below(12_000))).await;
        for _ in 0..self.dice.below(60) {
            tokio::task::yield_now().await;
        }
        self.pull();
        let log = self.disk().durable().copy();
        let watch = self.watch().copy();
        *self.copies.backup() = Some(Backup { log, watch });
        self.note("the log is copied");
    }

    /// Whether somebody puts the copy in the place of the log now.
    pub(crate) fn is_put_back(&self) -> bool {
        self.copies.backup().is_some() && self.strikes(Fault::Restored)
    }

    /// Puts the copy in the place of the log. No process runs.
    pub(crate) fn restore(&self) {
        let backup = self.copies.backup();
        let Some(Backup { log, watch }) = &*backup else {
            return;
        };
        self.note("the copy takes the place of the log");
        self.put(log.copy());
        self.copies.is_unconfirmed.store(true, Ordering::Relaxed);
        let mut now = self.watch();
        now.forget(watch.clone());
        self.bank
            .books()
            .lose(|key, attempt| now.knows(key, attempt));
        let mut people = self.people();
        for hand in &mut people.hands {
            hand.is_lost |= now.lease_of(&hand.key, hand.number) != Some(hand.epoch);
        }
        for sent in &mut people.sent {
            let id = sent.id.as_deref().and_then(|id| id.strip_prefix("act_"));
            if id.is_some_and(|id| !now.models.contains_key(id)) {
                sent.id = None;
            }
        }
        let gone = APPROVERS.into_iter().filter(|name| {
            let id = people.ids.get(name);
            id.is_some_and(|id| now.people.is_gone(id))
        });
        people.gone = gone.collect();
    }

    fn traces(&self) -> Traces {
        Traces {
            log: self.disk().durable().stats().ok(),
            calls: self.bank.calls.load(Ordering::Relaxed),
            messages: self.watch().ears.messages,
        }
    }

    /// Starts a copy that nobody has confirmed: nothing may come of it.
    pub(crate) async fn must_not_start(self: &Arc<Self>, tools: usize) {
        if !self.copies.is_unconfirmed() {
            return;
        }
        self.weather.count(Fault::Unconfirmed);
        let (before, unread) = (self.traces(), self.weather.struck(Fault::ReadFails));
        let started = self.start(tools, false).await;
        let could_read = self.weather.struck(Fault::ReadFails) == unread;
        match started {
            Ok(()) => self.fail("I29: a copy that nobody has confirmed is started".to_owned()),
            Err(why) if could_read && !why.contains(REFUSAL) => {
                self.fail(format!("I29: a copy is refused with other words: {why}"));
            }
            Err(_) => {}
        }
        if self.traces() != before {
            self.fail("I29: a copy that nobody has confirmed writes, or sends".to_owned());
        }
    }

    /// A copy was confirmed and started: whatever was on its way in it is unknown.
    pub(crate) fn must_be_confirmed(&self) {
        self.pull();
        let mut watch = self.watch();
        if !watch.restored.is_over() || self.copies.is_unconfirmed() {
            let left = watch.restored.in_flight.clone();
            watch.fail(format!(
                "I29: a copy is started, and not confirmed, or these are still on their way: {left:?}"
            ));
        }
    }
}

impl Watch {
    /// What is known of the log at this moment, without what only tells of the way there.
    fn copy(&mut self) -> Self {
        let trace = std::mem::take(&mut self.trace);
        let transitions = std::mem::take(&mut self.transitions);
        let copy = self.clone();
        (self.trace, self.transitions) = (trace, transitions);
        copy
    }

    /// Nothing is known of the log but what was known then.
    fn forget(&mut self, then: Self) {
        let now = std::mem::replace(self, then);
        (self.trace, self.transitions) = (now.trace, now.transitions);
        self.wrong = now.wrong;
        // Whoever asked for something, or was told of it, knows of it still.
        (self.asked, self.claims) = (now.asked, now.claims);
        self.ears.remember(now.ears);
        self.ears.bury();
        self.people.bury();
        self.switch.bury();
        let open = self.models.iter();
        let in_flight = open.filter(|(_, model)| model.status == "executing");
        self.restored.in_flight = in_flight.map(|(id, _)| id.clone()).collect();
    }

    fn of_key(&self, key: &str) -> Option<&Model> {
        self.models.get(self.by_key.get(key)?)
    }

    /// Whether the log knows of an attempt of the action with this key.
    fn knows(&self, key: &str, attempt: usize) -> bool {
        let model = self.of_key(key);
        model.is_some_and(|model| attempt <= model.attempts.len())
    }

    /// The epoch of the lease of an attempt.
    fn lease_of(&self, key: &str, attempt: usize) -> Option<u64> {
        let place = attempt.checked_sub(1)?;
        self.of_key(key)?.attempts.get(place)?.epoch()
    }
}

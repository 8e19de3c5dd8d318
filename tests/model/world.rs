//! The world of one action: the log and the process around it, the target, the messages between them.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use holdpoint_engine::action::{Action, Event, Phase, Status};
use holdpoint_engine::time::Timestamp;

use crate::kept::Kept;
use crate::wishes::{DEADLINE, KEPT, LAG, moment, state_of};

/// What was decided and is to be appended, if nothing else was since `base`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) base: u8,
    pub(crate) events: Arc<Vec<Event>>,
    pub(crate) next: Kept,
    /// What may be sent once it is durable, where it is a commit record.
    pub(crate) permit: Option<Permit>,
}

impl Hash for Draft {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The events follow from what they were decided on and what they lead to.
        (self.base, &self.next, self.permit).hash(state);
    }
}

/// That one call may leave, with the state that was read for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Permit {
    pub(crate) attempt: u32,
    pub(crate) read: u8,
    pub(crate) until: u8,
    pub(crate) is_resend: bool,
}

/// A question to the source of truth that was answered, and is not recorded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(crate) at: u8,
    /// Whether it saw the effect; none where it gave no answer.
    pub(crate) saw: Option<bool>,
}

/// A request on its way: it arrives late, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) attempt: u32,
    pub(crate) until: u8,
    pub(crate) is_resend: bool,
}

/// An answer on its way: it arrives never, late, or more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) attempt: u32,
    pub(crate) is_done: bool,
    pub(crate) until: u8,
}

/// What the target can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) keeps_keys: bool,
    pub(crate) can_be_asked: bool,
    /// Whether a state that moved puts the action back before its approvers.
    pub(crate) restages: bool,
}

/// What must never come to be, noticed at the step that did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Wrong {
    CountedLate,
    CountedOldPage,
    LeftItsEnd,
    SentTwice,
    SentForAnotherState,
    Illegal,
}

/// Everything there is, at one moment.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct World {
    pub(crate) kind: Kind,
    pub(crate) now: u8,
    /// The state that the action was approved for, and that may move.
    pub(crate) state: u8,

    /// The log on the disk, as the action that follows from it, and how many appends it holds.
    pub(crate) log: Kept,
    pub(crate) version: u8,
    /// Written, and not yet known to be on the disk.
    pub(crate) written: Option<Draft>,
    /// How much of the log somebody was told of.
    pub(crate) told: u8,
    /// The state that the page of each revision shows.
    pub(crate) pages: Vec<u8>,

    /// In memory, gone with the process: what the engine decided on, and what it knows of the world.
    pub(crate) engine: Option<Draft>,
    pub(crate) permit: Option<Permit>,
    pub(crate) waits: bool,
    pub(crate) asked: Option<Asked>,

    pub(crate) calls: Vec<Call>,
    pub(crate) answers: Vec<Answer>,
    /// When the call took effect, each time that it did.
    pub(crate) effects: Vec<u8>,
    /// The key as the target knows it: since when, and whether it answers with a yes.
    pub(crate) key: Option<(u8, bool)>,

    /// The number of the attempt that left last.
    pub(crate) sent: u32,
    pub(crate) wrong: BTreeSet<Wrong>,
    pub(crate) crashes: u8,
    pub(crate) doubles: u8,
    pub(crate) silences: u8,
    pub(crate) refusals: u8,
}

impl World {
    /// A new action for a target of this kind, and nothing else yet.
    pub(crate) fn new(kind: Kind, action: Action) -> Self {
        Self {
            kind,
            now: 0,
            state: 0,
            log: Kept::of(action),
            version: 0,
            written: None,
            told: 0,
            pages: vec![0],
            engine: None,
            permit: None,
            waits: false,
            asked: None,
            calls: Vec::new(),
            answers: Vec::new(),
            effects: Vec::new(),
            key: None,
            sent: 0,
            wrong: BTreeSet::new(),
            crashes: 0,
            doubles: 0,
            silences: 0,
            refusals: 0,
        }
    }

    pub(crate) fn at(&self) -> Timestamp {
        moment(self.now)
    }

    pub(crate) fn status(&self) -> Status {
        self.log.action.status()
    }

    pub(crate) fn note(&mut self, wrong: Wrong, is_so: bool) {
        self.wrong.extend(is_so.then_some(wrong));
    }

    /// Whether all is over, or nothing but a person can go on.
    pub(crate) fn is_at_an_end(&self) -> bool {
        match &self.log.action.phase {
            Phase::Unknown {
                next_check,
                next_resend,
                ..
            } => next_check.is_none() && next_resend.is_none(),
            _ => self.status().is_final(),
        }
    }

    /// Whether a call on its way could still take effect.
    pub(crate) fn may_still_happen(&self) -> bool {
        let is_refused = matches!(self.key, Some((_, false)));
        !self.calls.is_empty() && !is_refused
    }

    /// Whether the process has anything to lose.
    pub(crate) fn remembers(&self) -> bool {
        let is_on_its_way = self.permit.is_some() || self.waits || self.asked.is_some();
        self.written.is_some() || is_on_its_way
    }

    /// Time goes on: what waited for too long on its way is gone. While people alone are waited for, only
    /// the last moment before the deadline differs from any before it.
    pub(crate) fn tick(&mut self) {
        let waits_for_people = self.status() == Status::Staged && self.calls.is_empty();
        let next = self.now + 1;
        self.now = if waits_for_people {
            next.max(DEADLINE - 1)
        } else {
            next
        };
        self.silences += u8::from(self.asked.is_some());
        let now = self.now;
        self.calls.retain(|call| now <= call.until);
        self.answers.retain(|answer| now <= answer.until);
    }

    /// A call reaches the target, which answers to a key that it knows as it did before.
    pub(crate) fn arrive(&mut self, call: Call, accepts: bool) {
        let known = self.key.filter(|(since, _)| self.now <= since + KEPT);
        let is_done = known.map_or(accepts, |(_, is_done)| is_done);
        if known.is_none() && is_done {
            self.effects.push(self.now);
        }
        // It may turn a repeat away only because the first call is still at work: that is not kept.
        if self.kind.keeps_keys && known.is_none() && (is_done || !call.is_resend) {
            self.key = Some((self.now, is_done));
        }
        let answer = Answer {
            attempt: call.attempt,
            is_done,
            until: self.now,
        };
        if !self.answers.contains(&answer) {
            self.answers.push(answer);
        }
    }

    /// Whether the source of truth must see the effect by now; before that it may.
    pub(crate) fn shows(&self) -> bool {
        self.effects.iter().any(|at| at + LAG <= self.now)
    }

    /// What was written is on the disk.
    pub(crate) fn make_durable(&mut self, draft: Draft) {
        let was_final = self.status().is_final();
        let leaves = was_final && self.log.action.phase != draft.next.action.phase;
        self.note(Wrong::LeftItsEnd, leaves);
        self.log = draft.next;
        self.version += 1;
        let shown = usize::try_from(self.log.action.revision).unwrap_or(usize::MAX);
        if self.pages.len() < shown {
            self.pages.push(state_of(&self.log.action));
        }
        if self.log.action.phase != Phase::Executing {
            (self.permit, self.waits) = (None, false);
        }
    }

    /// The process dies, and another one starts.
    pub(crate) fn crash(&mut self, keeps_written: bool) {
        self.crashes += 1;
        let written = self.written.take().filter(|_| keeps_written);
        if let Some(draft) = written {
            self.make_durable(draft);
        }
        (self.engine, self.asked) = (None, None);
        (self.permit, self.waits) = (None, false);
    }
}

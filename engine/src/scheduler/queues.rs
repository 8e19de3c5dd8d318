//! What is due, in memory: bounded, by urgency and tool. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use super::inbox::{Job, Urgency};
use crate::action::ActionId;

/// What one tool may have queued in one lane; the rest stays in the index.
const QUEUE_MAX: usize = 256;

/// What all of it together may come to.
const KNOWN_MAX: usize = 8192;

type Key = (Urgency, String);

/// The queues.
pub(super) struct Queues {
    /// Queued or running.
    known: HashSet<ActionId>,
    running: HashSet<ActionId>,
    /// Running, and due again: looked at once more when it ends.
    again: HashMap<ActionId, Job>,
    waiting: HashMap<Key, VecDeque<Job>>,
    /// Keys with something waiting, in turn, by urgency.
    turns: [VecDeque<String>; 3],
    spilled: HashSet<Key>,
    running_by_tool: HashMap<String, usize>,
    tool_limits: HashMap<String, usize>,
    running_not_approved: usize,
    limits: Limits,
}

/// How much may run at once.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// In all.
    pub(super) all: usize,
    /// Of what is not approved; the difference is kept for what people have decided.
    pub(super) not_approved: usize,
    /// Of one tool that is not in the registry (any more), and of deadlines.
    pub(super) tool: usize,
}

fn turn(urgency: Urgency) -> usize {
    urgency as usize
}

impl Queues {
    pub(super) fn new(limits: Limits, tool_limits: HashMap<String, usize>) -> Self {
        assert!(0 < limits.not_approved && limits.not_approved <= limits.all);
        Self {
            known: HashSet::new(),
            running: HashSet::new(),
            again: HashMap::new(),
            waiting: HashMap::new(),
            turns: Default::default(),
            spilled: HashSet::new(),
            running_by_tool: HashMap::new(),
            tool_limits,
            running_not_approved: 0,
            limits,
        }
    }

    /// Whether there is room to read more from the index.
    pub(super) fn has_room(&self) -> bool {
        self.known.len() < KNOWN_MAX
    }

    /// Takes a job, unless it is known or its queue is full; it then stays in the index only.
    pub(super) fn push(&mut self, job: Job) {
        if self.running.contains(&job.id) {
            self.again.insert(job.id, job);
            return;
        }
        if self.known.contains(&job.id) {
            return;
        }
        let key = (job.urgency, job.tool.clone());
        let queue = self.waiting.entry(key.clone()).or_default();
        if QUEUE_MAX <= queue.len() {
            self.spilled.insert(key);
            return;
        }
        if queue.is_empty() {
            self.turns[turn(job.urgency)].push_back(job.tool.clone());
        }
        self.known.insert(job.id);
        queue.push_back(job);
    }

    /// The next job that may start: what is approved first, tools in turn.
    pub(super) fn start(&mut self) -> Option<Job> {
        if self.limits.all <= self.running.len() {
            return None;
        }
        for urgency in [Urgency::Approved, Urgency::Ordinary, Urgency::Deadline] {
            if urgency != Urgency::Approved && self.limits.not_approved <= self.running_not_approved
            {
                return None;
            }
            for _ in 0..self.turns[turn(urgency)].len() {
                let Some(tool) = self.turns[turn(urgency)].pop_front() else {
                    break;
                };
                if let Some(job) = self.take(urgency, &tool) {
                    return Some(job);
                }
            }
        }
        None
    }

    /// The next job of a queue, whose tool has just been taken off the ring.
    fn take(&mut self, urgency: Urgency, tool: &str) -> Option<Job> {
        let key = (urgency, tool.to_owned());
        let limit = self
            .tool_limits
            .get(tool)
            .copied()
            .unwrap_or(self.limits.tool);
        let free = self.running_by_tool.get(tool).copied().unwrap_or(0) < limit;
        let queue = self.waiting.get_mut(&key)?;
        let job = if free { queue.pop_front() } else { None };
        if queue.is_empty() {
            self.waiting.remove(&key);
        } else {
            self.turns[turn(urgency)].push_back(tool.to_owned());
        }
        let job = job?;
        self.running.insert(job.id);
        *self.running_by_tool.entry(tool.to_owned()).or_default() += 1;
        if urgency != Urgency::Approved {
            self.running_not_approved += 1;
        }
        Some(job)
    }

    /// A job has ended.
    pub(super) fn finish(&mut self, job: &Job) {
        let was_running = self.running.remove(&job.id);
        assert!(was_running, "only what runs can end");
        self.known.remove(&job.id);
        if let Some(count) = self.running_by_tool.get_mut(&job.tool) {
            *count -= 1;
            if *count == 0 {
                self.running_by_tool.remove(&job.tool);
            }
        }
        if job.urgency != Urgency::Approved {
            self.running_not_approved -= 1;
        }
        if let Some(again) = self.again.remove(&job.id) {
            self.push(again);
        }
    }

    /// Whether a queue that had to leave something in the index has room again.
    pub(super) fn take_refill(&mut self) -> bool {
        let waiting = &self.waiting;
        let before = self.spilled.len();
        self.spilled.retain(|key| {
            waiting
                .get(key)
                .is_some_and(|queue| QUEUE_MAX / 2 < queue.len())
        });
        self.spilled.len() < before
    }

    /// Whether nothing is queued or running.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        self.known.is_empty() && self.running.is_empty() && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        all: 4,
        not_approved: 3,
        tool: 2,
    };

    fn job(number: u16, tool: &str, urgency: Urgency) -> Job {
        let mut id = [0; 16];
        id[..2].copy_from_slice(&number.to_be_bytes());
        Job {
            id: ActionId::from_bytes(id),
            tool: tool.to_owned(),
            urgency,
        }
    }

    #[test]
    fn what_is_approved_starts_before_what_was_submitted_earlier() {
        let mut queues = Queues::new(LIMITS, HashMap::new());
        for number in 0..200 {
            queues.push(job(number, "mail", Urgency::Ordinary));
        }
        queues.push(job(1000, "refund", Urgency::Approved));
        assert_eq!(queues.start(), Some(job(1000, "refund", Urgency::Approved)));
    }

    #[test]
    fn slow_submissions_leave_room_for_what_is_approved() {
        let mut queues = Queues::new(LIMITS, HashMap::new());
        for number in 0..9 {
            queues.push(job(number, &format!("tool{number}"), Urgency::Ordinary));
        }
        while queues.start().is_some() {}
        assert_eq!(queues.running.len(), LIMITS.not_approved);
        queues.push(job(1000, "refund", Urgency::Approved));
        assert!(queues.start().is_some());
    }

    #[test]
    fn one_tool_never_runs_more_than_its_bound() {
        let mut queues = Queues::new(LIMITS, HashMap::new());
        for number in 0..5 {
            queues.push(job(number, "refund", Urgency::Approved));
        }
        let first = queues.start().expect("one may start");
        assert!(queues.start().is_some());
        assert_eq!(queues.start(), None);
        queues.finish(&first);
        assert!(queues.start().is_some());
    }

    #[test]
    fn a_job_that_is_due_again_while_it_runs_is_not_lost() {
        let mut queues = Queues::new(LIMITS, HashMap::new());
        let first = job(1, "refund", Urgency::Approved);
        queues.push(first.clone());
        queues.push(first.clone());
        assert_eq!(queues.start(), Some(first.clone()));
        queues.push(job(1, "refund", Urgency::Ordinary));
        assert_eq!(queues.start(), None, "it runs once at a time");
        queues.finish(&first);
        let again = queues.start().expect("it is looked at again");
        assert_eq!(again.urgency, Urgency::Ordinary);
        queues.finish(&again);
        assert!(queues.is_idle());
    }

    #[test]
    fn a_full_queue_asks_for_a_refill_once_it_has_room() {
        let mut queues = Queues::new(LIMITS, HashMap::new());
        for number in 0..300 {
            queues.push(job(number, "refund", Urgency::Approved));
        }
        assert!(!queues.take_refill());
        let mut refills = 0;
        while let Some(next) = queues.start() {
            queues.finish(&next);
            refills += usize::from(queues.take_refill());
        }
        assert_eq!(refills, 1);
        assert!(queues.is_idle());
    }
}

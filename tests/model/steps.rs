//! The steps: what anybody, or anything, may do next in a world.

use holdpoint_engine::action::{Phase, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::time::Timestamp;

use crate::wishes::{DEADLINE, VOTERS, moment};
use crate::world::World;

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A moment passes.
    Tick,
    /// The state is no longer the one that was approved.
    Move,
    /// Voter, vote, and the revision of the page in front of them, which may be an older one.
    Vote(usize, Vote, u32),
    Cancel,
    /// A person looks at the target, and settles a doubt.
    Settle,
    /// The engine, by its clock: it expires; it reads the state and commits, or sends again.
    Expire,
    Commit,
    Resend,
    /// The call leaves; or not one byte of it does.
    Send(bool),
    /// No answer came in time, or the process that waited for it is gone.
    GiveUp,
    /// An answer comes.
    Receive(usize),
    /// The source of truth is asked, and sees it, or not, or says nothing.
    Ask(Option<bool>),
    /// What it said is decided on.
    Conclude,
    /// What the engine decided on is appended.
    Write,
    /// What was written is on the disk.
    Sync,
    /// A call arrives: the target does it, or refuses. Or the network makes it two.
    Arrive(usize, bool),
    Double(usize),
    /// The process dies and starts: what was written and not synced is there, or not.
    Crash(bool),
}

/// A mistake in what is around the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    SendsBeforeSync,
    TellsBeforeSync,
    WritesWithoutComparing,
    SendsAgainOnTimeout,
    SkipsReading,
    VotesByThePageOfNow,
    DatesAnswersByTheirArrival,
    ForgetsDoubts,
}

/// How far is looked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) crashes: u8,
    pub(crate) doubles: u8,
    pub(crate) silences: u8,
    pub(crate) refusals: u8,
    /// Whether each kind of target is looked at with both ways to meet a state that moved.
    pub(crate) all_kinds: bool,
    /// From here on nobody who can act lets time pass.
    pub(crate) lazy_until: u8,
}

fn is_due(world: &World, when: Option<Timestamp>) -> bool {
    when.is_some_and(|when| when <= world.at())
}

/// What the engine has to do by itself.
fn of_engine(world: &World, bounds: Bounds, mistake: Option<Mistake>, steps: &mut Vec<Step>) {
    let action = &world.log.action;
    if mistake == Some(Mistake::SendsBeforeSync) && world.permit.is_some() {
        steps.push(Step::Send(true));
        return;
    }
    if world.engine.is_some() || world.written.is_some() {
        return;
    }
    match &action.phase {
        Phase::Approved { run_at, .. } if is_due(world, Some(*run_at)) => steps.push(Step::Commit),
        Phase::Staged | Phase::Approved { .. } if moment(DEADLINE) <= world.at() => {
            steps.push(Step::Expire);
        }
        Phase::Executing => match world.permit {
            Some(permit) => {
                steps.extend((world.now <= permit.until).then_some(Step::Send(true)));
                steps.push(Step::Send(false));
            }
            None if !world.waits || is_due(world, action.due_at()) => steps.push(Step::GiveUp),
            None => {}
        },
        Phase::Unknown { .. } if mistake == Some(Mistake::ForgetsDoubts) => {}
        Phase::Unknown { .. } if world.asked.is_some() => {}
        Phase::Unknown {
            next_check,
            next_resend,
            ..
        } => {
            if is_due(world, *next_check) {
                if !world.effects.is_empty() {
                    steps.push(Step::Ask(Some(true)));
                }
                if !world.shows() {
                    steps.push(Step::Ask(Some(false)));
                }
                if world.silences < bounds.silences {
                    steps.push(Step::Ask(None));
                }
            } else if is_due(world, *next_resend) {
                steps.push(Step::Resend);
            }
        }
        _ => {}
    }
}

/// Everything that may happen next.
pub(crate) fn all(world: &World, bounds: Bounds, mistake: Option<Mistake>, steps: &mut Vec<Step>) {
    let ends = world.status().is_final();
    of_engine(world, bounds, mistake, steps);
    if world.written.is_some() {
        steps.push(Step::Sync);
    } else {
        steps.extend(world.engine.iter().map(|_| Step::Write));
    }
    let is_busy = !steps.is_empty();
    for (place, call) in world.calls.iter().enumerate() {
        steps.push(Step::Arrive(place, true));
        if world.refusals < bounds.refusals {
            steps.push(Step::Arrive(place, false));
        }
        // What keeps no keys would do it twice, whoever sent it; and nobody but the first send is held
        // to the time for which keys are kept.
        if world.kind.keeps_keys && world.doubles < bounds.doubles && call.attempt == 1 {
            steps.push(Step::Double(place));
        }
    }
    if world.engine.is_none() && world.written.is_none() {
        steps.extend(world.asked.iter().map(|_| Step::Conclude));
        steps.extend((0..world.answers.len()).map(Step::Receive));
    }
    let is_lazy = world.now < bounds.lazy_until;
    let is_awaited = !ends || may_come(world);
    // An answer to a question may be a while on its way, which is as rare as that it never comes.
    let is_busy = is_busy || (world.asked.is_some() && bounds.silences <= world.silences);
    if is_awaited && (is_lazy || !is_busy) && (is_lazy || !stands_still(world)) {
        steps.push(Step::Tick);
    }
    if world.crashes < bounds.crashes && world.remembers() {
        steps.extend(world.written.iter().map(|_| Step::Crash(true)));
        steps.push(Step::Crash(false));
    }
    if !ends && world.written.is_none() {
        if may_move(world) {
            steps.push(Step::Move);
        }
        steps.push(Step::Cancel);
        for revision in 1..=world.log.action.revision {
            let votes = (0..VOTERS.len()).map(|who| Step::Vote(who, Vote::Approve, revision));
            steps.extend(votes);
            steps.push(Step::Vote(1, Vote::Reject, revision));
        }
        if world.status() == Status::Unknown && world.is_at_an_end() {
            steps.push(Step::Settle);
        }
    }
}

/// Whether a state that moves would be seen: somebody will read it.
fn may_move(world: &World) -> bool {
    let will_be_read = match &world.log.action.phase {
        Phase::Staged | Phase::Approved { .. } => true,
        Phase::Unknown { next_resend, .. } => next_resend.is_some(),
        _ => false,
    };
    world.state == 0 && world.engine.is_none() && will_be_read
}

fn may_come(world: &World) -> bool {
    !world.calls.is_empty() || !world.answers.is_empty()
}

/// Whether only a person can change anything, so that nothing comes of waiting.
fn stands_still(world: &World) -> bool {
    world.is_at_an_end() && !may_come(world)
}

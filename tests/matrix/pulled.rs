//! The steps of a call that is scheduled, held up by the pause switch, and then carried out by a
//! worker that pulls it.

use crate::hooks::{Ask, Fact, Moment, Role, Site};
use crate::steps::Fault;

/// How many steps there are.
pub(crate) const STEPS: u8 = 25;

/// Their names.
pub(crate) const NAMES: [&str; STEPS as usize] = [
    "append the pause",
    "sync",
    "tell the operator",
    "wait for its moment",
    "stand still while paused",
    "append the resume",
    "sync",
    "tell the operator",
    "a worker claims",
    "read the claim",
    "read the state again",
    "compare",
    "append commit and lease",
    "sync",
    "give it to the worker",
    "take it up",
    "append the heartbeat",
    "sync",
    "tell the worker",
    "do the work",
    "the worker reports",
    "read the report",
    "append the result",
    "sync",
    "tell the worker",
];

/// Where a step is reached.
pub(crate) fn site(step: u8) -> Site {
    let state = |moment| Site::Target(Ask::State, Role::Engine, moment);
    match step {
        1..=3 => Site::append(Fact::Pause, step - 1),
        4 => Site::Scheduled,
        5 => Site::Paused,
        6..=8 => Site::append(Fact::Resume, step - 6),
        9 => Site::Arrives(Role::Claim),
        10 => Site::HalfBody(Role::Claim),
        11 => state(Moment::Before),
        12 => state(Moment::Answered),
        13..=15 => Site::append(Fact::Commit, step - 13),
        16 => Site::Given,
        17..=19 => Site::append(Fact::Heartbeat, step - 17),
        20 => Site::Working,
        21 => Site::Arrives(Role::Report),
        22 => Site::HalfBody(Role::Report),
        23..=25 => Site::append(Fact::Result, step - 23),
        other => panic!("there is no step {other}"),
    }
}

/// Why a fault cannot strike at a step; none where it can.
pub(crate) fn impossible(step: u8, fault: Fault) -> Option<&'static str> {
    match (step, fault) {
        (4 | 5 | 16 | 20, Fault::Error) => Some("nothing is done that could fail"),
        _ => None,
    }
}

/// Whether there is a durable commit record when a fault strikes here.
pub(crate) fn is_committed(step: u8) -> bool {
    15 <= step
}

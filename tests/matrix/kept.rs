//! The steps of a call that is sent again, with the same key, to a target that keeps keys and that
//! nobody can ask: from the doubt about the first send to the answer to the second one.

use crate::hooks::{Ask, Fact, Moment, Role, Site};
use crate::steps::Fault;

/// How many steps there are.
pub(crate) const STEPS: u8 = 19;

/// Their names.
pub(crate) const NAMES: [&str; STEPS as usize] = [
    "append the doubt and the plan",
    "sync",
    "wake who waits",
    "wait for the moment",
    "read the state again",
    "compare",
    "append the record of the second send",
    "sync",
    "take it up",
    "resolve",
    "connect",
    "first byte",
    "last byte",
    "first byte of the answer",
    "last byte of the answer",
    "class the outcome",
    "append the result",
    "sync",
    "wake who waits",
];

/// Where a step is reached.
pub(crate) fn site(step: u8) -> Site {
    let state = |moment| Site::Target(Ask::State, Role::Engine, moment);
    let call = |moment| Site::Target(Ask::Call, Role::Engine, moment);
    match step {
        1..=3 => Site::append(Fact::Plan, step - 1),
        4 => Site::Quiet,
        5 => state(Moment::Before),
        6 => state(Moment::Answered),
        7..=9 => Site::append(Fact::Resend, step - 7),
        10 => call(Moment::Before),
        11 => call(Moment::Connect),
        12 => call(Moment::FirstByte),
        13 => call(Moment::LastByte),
        14 => call(Moment::FirstAnswerByte),
        15 => call(Moment::LastAnswerByte),
        16 => call(Moment::Answered),
        17..=19 => Site::append(Fact::Result, step - 17),
        other => panic!("there is no step {other}"),
    }
}

/// The so-many-th time that its site is come to: the first send has been at some of them before.
pub(crate) fn time(step: u8) -> u8 {
    match step {
        5 | 6 | 10..=19 => 2,
        _ => 1,
    }
}

/// Why a fault cannot strike at a step; none where it can.
pub(crate) fn impossible(step: u8, fault: Fault) -> Option<&'static str> {
    match (step, fault) {
        (4, Fault::Error) => Some("nothing is done that could fail"),
        _ => None,
    }
}

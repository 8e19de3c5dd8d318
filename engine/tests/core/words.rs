//! What people are told of an action.

use holdpoint_engine::action::{AttemptOutcome, Command, Phase, Reminder, SafetyClass, explain};

use crate::given::{Case, at, commit};

/// An action whose call was lost, at a target that keeps its key and cannot be asked.
fn to_be_resent() -> Case {
    let mut case = Case::accepted(SafetyClass::WriteOnceCheckable);
    case.action.proposal.terms.can_check = false;
    let outcome = AttemptOutcome::Unknown {
        http_status: None,
        message: "the answer was lost".to_owned(),
    };
    case.keyed(600_000)
        .then(commit(at(2)))
        .then(Command::Record {
            attempt: 1,
            outcome,
            at: at(1_000),
        })
}

#[test]
fn i27_a_resend_that_waits_for_the_pause_to_end_says_so() {
    let case = to_be_resent();
    let Phase::Unknown {
        next_resend: Some(resend),
        ..
    } = case.action.phase
    else {
        unreachable!("a resend is planned: {:?}", case.action.phase)
    };
    let next = |paused| {
        let why = explain(&case.action, &case.events, paused, at(1_001));
        why.expect("a doubt").next
    };
    assert!(next(true).contains("the engine is paused"));
    let planned = format!("is sent again with the same key at {resend}");
    assert!(next(false).contains(&planned), "{}", next(false));
}

#[test]
fn a_reminder_says_how_much_of_the_time_is_over() {
    assert!(Reminder::Half.words().starts_with("half of the time"));
    assert!(Reminder::NineTenths.words().starts_with("nine tenths"));
}

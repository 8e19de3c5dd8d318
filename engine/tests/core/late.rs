//! What a worker says that does not count: evidence, a few times.

use holdpoint_engine::action::{AttemptOutcome, Command, Event, Holder, Refusal, Status};
use holdpoint_engine::limits::LATE_ANSWERS_MAX;

use super::work::{LEASE_END, claimed, done, holder, report, said};
use crate::given::at;

#[test]
fn i10_a_word_that_does_not_count_is_kept_whatever_it_says() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let outcome = AttemptOutcome::Unknown {
        http_status: None,
        message: "the bank did not answer".to_owned(),
    };
    let unsure = said("unknown", outcome);
    let kept = Ok(vec!["action.late_answer"]);
    // In time it is the outcome, and says all of it.
    let unknown = case.clone().then(report(&anton, unsure.clone(), at(2)));
    let first = case.kinds(report(&anton, unsure.clone(), at(2)));
    let whole = Ok(vec!["action.work_reported", "action.attempt_unknown"]);
    assert_eq!(first, whole);
    // The bank answered after all: it changes nothing, and whoever settles it reads of it.
    assert_eq!(unknown.kinds(report(&anton, done(), at(3))), kept);
    let heard = unknown.then(report(&anton, done(), at(3)));
    assert_eq!(heard.action.status(), Status::Unknown);
    let again = heard.when(report(&anton, done(), at(4)));
    assert_eq!(again, Err(Refusal::AlreadyReported), "once");
    // Late, or of another epoch, it tells why nobody knows.
    let late = case
        .clone()
        .then(Command::ReachLeaseEnd { at: at(LEASE_END) });
    let late = late.kinds(report(&anton, unsure.clone(), at(LEASE_END + 1)));
    assert_eq!(late, kept);
    let other = Holder {
        epoch: anton.epoch - 1,
        ..anton
    };
    assert_eq!(case.kinds(report(&other, unsure, at(2))), kept);
}

#[test]
fn i21_late_answers_are_kept_a_few_times_only() {
    let mut case = claimed();
    let anton = holder(&case, "anton");
    case = case.then(Command::ReachLeaseEnd { at: at(LEASE_END) });
    for number in 0..10 {
        let word = said(&number.to_string(), done().outcome);
        case = case.perhaps(report(&anton, word, at(20_000)));
    }
    let is_late = |event: &&Event| matches!(event, Event::LateAnswer { .. });
    assert_eq!(case.events.iter().filter(is_late).count(), LATE_ANSWERS_MAX);
}

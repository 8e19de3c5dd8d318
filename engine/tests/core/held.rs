//! What is held back: until a moment that the caller chose, and in the hold window, by whatever clock.

use std::time::Duration;

use holdpoint_engine::action::{
    Arrangement, Command, Refusal, SafetyClass, Status, Trouble, explain,
};
use holdpoint_engine::approval::Requirement;
use holdpoint_engine::limits::HOLD_ANEW_MS_MAX;
use holdpoint_engine::time::{Elapsed, Timestamp};

use crate::given::{
    Case, DEADLINE, HOUR, T0, approve, at, claim, commit, need, proposal, reject, requirement,
};

fn scheduled(case: Case, moment: Timestamp) -> Case {
    case.arranged(Arrangement {
        not_before: Some(moment),
        ..Arrangement::default()
    })
}

#[test]
fn a_scheduled_action_is_not_called_before_its_moment() {
    let moment = at(HOUR);
    for case in [
        scheduled(Case::accepted(SafetyClass::Irreversible), moment),
        scheduled(Case::staged(), moment).then(approve("ana", at(1))),
    ] {
        assert_eq!(
            case.when(commit(at(HOUR - 1))),
            Err(Refusal::NotDue { run_at: moment })
        );
        assert_eq!(
            case.kinds(commit(moment)),
            Ok(vec!["action.commit_recorded"])
        );
    }
}

#[test]
fn an_approver_can_take_it_back_until_a_scheduled_action_runs() {
    let case = scheduled(Case::staged(), at(HOUR)).then(approve("ana", at(1)));
    let withdraw = |moment: i64| Command::Withdraw {
        by: "per_ana".to_owned(),
        reason: None,
        at: at(moment),
        elapsed: Elapsed::by_clock(at(moment)),
    };
    assert!(case.when(withdraw(HOUR)).is_err());
    assert_eq!(
        case.then(withdraw(HOUR - 1)).action.status(),
        Status::Staged
    );
}

#[test]
fn i09_a_scheduled_action_still_expires() {
    let case = scheduled(Case::staged(), Timestamp(DEADLINE.0 - 1)).then(approve("ana", at(1)));
    assert_eq!(case.kinds(commit(DEADLINE)), Ok(vec!["action.expired"]));
}

/// Approved at 1 ms, and held back for so long.
fn on_hold(hold_ms: u64) -> Case {
    let requirement = Requirement {
        hold_ms,
        ..requirement(vec![need(1, &[])])
    };
    Case::staged_with(proposal(SafetyClass::ApprovalBound), requirement).then(approve("ana", at(1)))
}

fn commit_knowing(elapsed: Elapsed) -> Command {
    let mut wish = commit(elapsed.now());
    let Command::Commit { elapsed: known, .. } = &mut wish else {
        unreachable!("a commit is a commit")
    };
    *known = elapsed;
    wish
}

fn withdraw_knowing(elapsed: Elapsed) -> Command {
    Command::Withdraw {
        by: "per_ana".to_owned(),
        reason: None,
        at: elapsed.now(),
        elapsed,
    }
}

/// At `now`, in a process that began before all and whose clock was set forward an hour at 10 ms.
fn stepped(now: i64) -> Elapsed {
    let step = (at(10), Duration::from_hours(1));
    Elapsed::new(at(now), Some(T0), vec![step])
}

/// At `now`, in a process that began at `began`.
fn restarted(began: i64, now: i64) -> Elapsed {
    Elapsed::new(at(now), Some(at(began)), Vec::new())
}

#[test]
fn i09_a_clock_that_is_set_forward_ends_no_hold_window_and_no_wait() {
    let held = on_hold(30_000);
    let moment = at(HOUR / 2);
    let waiting = scheduled(Case::accepted(SafetyClass::Irreversible), moment);
    let both = scheduled(Case::staged(), moment).then(approve("ana", at(1)));
    for (case, over) in [(&held, 30_001), (&waiting, HOUR / 2), (&both, HOUR / 2)] {
        let early = case.when(commit_knowing(stepped(HOUR + over - 1)));
        let run_at = at(HOUR + over);
        assert_eq!(early, Err(Refusal::NotDue { run_at }));
        let sent = case.kinds(commit_knowing(stepped(HOUR + over)));
        assert_eq!(sent, Ok(vec!["action.commit_recorded"]));
    }
    // Nor for a worker that asks for it.
    let pulled = scheduled(Case::pulled(SafetyClass::WriteOnceCheckable), moment);
    let mut wish = claim("anton", at(HOUR));
    if let Command::Claim { elapsed, .. } = &mut wish {
        *elapsed = stepped(HOUR);
    }
    let run_at = at(HOUR + HOUR / 2);
    assert_eq!(pulled.when(wish), Err(Refusal::NotDue { run_at }));
    // As long as it has not left, the approval can be taken back.
    let taken = held.kinds(withdraw_knowing(stepped(HOUR + 30_000)));
    assert_eq!(taken, Ok(vec!["action.withdrawn"]));
    let late = held.when(withdraw_knowing(stepped(HOUR + 30_001)));
    assert_eq!(late, Err(Refusal::NotWithdrawable));
    // It only ever ends earlier by that.
    let expired = held.kinds(commit_knowing(stepped(DEADLINE.0 - T0.0)));
    assert_eq!(expired, Ok(vec!["action.expired"]));
}

#[test]
fn i09_a_process_that_was_not_there_gives_people_the_hold_window_again() {
    let long = i64::try_from(HOLD_ANEW_MS_MAX).expect("minutes");
    for (hold_ms, began, over) in [
        // A day by the clock, in which nobody counted.
        (30_000, 20 * HOUR, 20 * HOUR + 30_000),
        (30_000, 20_000, 50_000),
        // A long one is not waited for again as a whole, or a restart would end what is held for a day.
        (2 * HOUR, HOUR, 2 * HOUR + 1),
        (2 * HOUR, 2 * HOUR, 2 * HOUR + long),
        (2 * HOUR, 20 * HOUR, 20 * HOUR + long),
    ] {
        let case = on_hold(u64::try_from(hold_ms).expect("a time"));
        let early = case.when(commit_knowing(restarted(began, over - 1)));
        assert_eq!(early, Err(Refusal::NotDue { run_at: at(over) }), "{began}");
        let sent = case.kinds(commit_knowing(restarted(began, over)));
        assert_eq!(sent, Ok(vec!["action.commit_recorded"]), "{began}");
    }
    // A moment that the caller chose is that moment, however many processes there were.
    let case = scheduled(Case::accepted(SafetyClass::Irreversible), at(HOUR));
    let sent = case.kinds(commit_knowing(restarted(HOUR, HOUR)));
    assert_eq!(sent, Ok(vec!["action.commit_recorded"]));
}

#[test]
fn i27_an_approval_that_could_never_be_used_is_not_taken() {
    let hold_ms = 30_000;
    let case = on_hold(hold_ms);
    let back = case.then(withdraw_knowing(Elapsed::by_clock(at(2))));
    let too_late = Timestamp(DEADLINE.0 - 30_000);
    let refused = Err(Refusal::NoTimeLeft {
        deadline: DEADLINE,
        hold_ms,
    });
    assert_eq!(back.when(approve("ben", too_late)), refused);
    assert!(back.when(reject("ben", too_late)).is_ok());
    let in_time = back.then(approve("ben", Timestamp(too_late.0 - 1)));
    let sent = in_time.kinds(commit(Timestamp(DEADLINE.0 - 1)));
    assert_eq!(sent, Ok(vec!["action.commit_recorded"]));
}

#[test]
fn i27_what_waits_for_its_time_though_the_clock_says_otherwise_is_explained() {
    let case = on_hold(3_600_000);
    let why = explain(&case.action, &[], false, &stepped(HOUR + HOUR / 2)).expect("overdue");
    assert_eq!(why.trouble, Trouble::Stuck);
    assert!(why.next.contains("clock was set forward"), "{}", why.next);
    assert!(why.help.contains("clock of the machine"), "{}", why.help);
}

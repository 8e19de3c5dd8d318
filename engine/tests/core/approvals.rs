//! Votes, and everything that competes with them.

mod sides;

use holdpoint_engine::action::{Command, Phase, Refusal, SafetyClass, Status};
use holdpoint_engine::approval::{Ineligible, Requirement, Vote, Voter};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::{Elapsed, Timestamp};

use crate::given::{
    Case, DEADLINE, HOUR, T0, approve, at, ballot, commit, found, need, person, proposal, reject,
    requirement, snapshot,
};

fn two_needed() -> Case {
    let needs = vec![need(1, &["finance"]), need(2, &["finance"])];
    Case::staged_with(proposal(SafetyClass::ApprovalBound), requirement(needs))
}

fn on_hold() -> Case {
    let requirement = Requirement {
        hold_ms: 30_000,
        ..requirement(vec![need(1, &[])])
    };
    Case::staged_with(proposal(SafetyClass::ApprovalBound), requirement).then(approve("ana", at(1)))
}

fn vote_by(voter: Voter) -> Command {
    let Command::Vote {
        vote,
        reason,
        revision,
        digest,
        snapshot_digest,
        at,
        ..
    } = approve("ana", at(1))
    else {
        unreachable!("approve makes a vote")
    };
    Command::Vote {
        voter,
        vote,
        reason,
        revision,
        digest,
        snapshot_digest,
        at,
    }
}

#[test]
fn one_approval_is_enough_where_one_is_needed() {
    let kinds = Case::staged().kinds(approve("ana", at(1)));
    assert_eq!(kinds, Ok(vec!["action.vote_recorded", "action.approved"]));
}

#[test]
fn incident_61_the_highest_requirement_of_all_rules_holds_and_counts_distinct_people() {
    let once = two_needed().then(approve("ana", at(1)));
    assert_eq!(once.action.status(), Status::Staged);
    // A second click of the same person is a repeat and changes nothing.
    assert_eq!(once.when(approve("ana", at(2))), Ok(Vec::new()));
    assert_eq!(
        once.then(approve("ben", at(3))).action.status(),
        Status::Approved
    );
}

#[test]
fn needs_of_different_groups_must_each_be_met() {
    let needs = vec![need(1, &["finance"]), need(1, &["legal"])];
    let case = Case::staged_with(proposal(SafetyClass::ApprovalBound), requirement(needs))
        .then(approve("ana", at(1)))
        .then(approve("ben", at(2)));
    assert_eq!(
        case.action.status(),
        Status::Staged,
        "two people of finance are not one of legal"
    );
    let mut lea = person("lea");
    lea.groups = ["legal".to_owned()].into();
    assert_eq!(case.then(vote_by(lea)).action.status(), Status::Approved);
}

#[test]
fn a_rejection_needs_a_reason_and_ends_it() {
    let case = Case::staged();
    for silent in ["  ", "\u{200b}\u{2060}", "\u{3164}", "\u{202e}.", "--"] {
        let silent = ballot("ana", Vote::Reject, Some(silent), at(1));
        assert_eq!(case.when(silent), Err(Refusal::ReasonRequired));
    }
    let case = case.then(reject("ana", at(1)));
    assert_eq!(case.action.status(), Status::Rejected);
    let late = case.when(approve("ben", at(2)));
    assert_eq!(
        late,
        Err(Refusal::AlreadyDecided {
            status: Status::Rejected
        })
    );
}

#[test]
fn incident_51_services_and_agents_never_vote() {
    let agent = Voter {
        is_person: false,
        ..person("bot")
    };
    let refused = Case::staged().when(vote_by(agent));
    assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::NotAPerson)));
}

#[test]
fn a_person_without_the_role_or_the_group_is_no_approver() {
    let role = Voter {
        is_approver: false,
        ..person("ana")
    };
    let group = Voter {
        groups: ["sales".to_owned()].into(),
        ..person("ana")
    };
    for voter in [role, group] {
        let refused = Case::staged().when(vote_by(voter));
        assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::NotAnApprover)));
    }
}

#[test]
fn a_vote_on_another_revision_digest_or_snapshot_is_refused_as_stale() {
    let base = || approve("ana", at(1));
    let with = |change: fn(&mut Command)| {
        let mut command = base();
        change(&mut command);
        Case::staged().when(command)
    };
    let stale = Err(Refusal::StaleDigest { revision: 1 });
    let revision = with(|command| {
        if let Command::Vote { revision, .. } = command {
            *revision = 2;
        }
    });
    let digest = with(|command| {
        if let Command::Vote { digest, .. } = command {
            *digest = Digest::of(b"other");
        }
    });
    let snapshot = with(|command| {
        if let Command::Vote {
            snapshot_digest, ..
        } = command
        {
            *snapshot_digest = None;
        }
    });
    assert_eq!((revision, digest), (stale.clone(), stale));
    assert_eq!(snapshot, Err(Refusal::StaleSnapshot));
}

#[test]
fn i09_whoever_comes_first_after_the_deadline_finds_it_expired() {
    let commands = [
        approve("ana", DEADLINE),
        reject("ana", DEADLINE),
        Command::ReachDeadline { at: DEADLINE },
        Command::Cancel {
            by: "key_checkout".to_owned(),
            reason: None,
            at: DEADLINE,
        },
    ];
    for command in commands {
        assert_eq!(Case::staged().kinds(command), Ok(vec!["action.expired"]));
    }
    let early = Command::ReachDeadline {
        at: at(24 * HOUR - 1),
    };
    assert_eq!(
        Case::staged().when(early),
        Ok(Vec::new()),
        "the timer came early"
    );
}

#[test]
fn i09_an_approval_used_at_its_deadline_does_not_count() {
    assert_eq!(
        Case::approved().kinds(commit(DEADLINE)),
        Ok(vec!["action.expired"])
    );
}

#[test]
fn incident_65_an_expiry_is_neither_an_approval_nor_a_rejection() {
    let case = Case::staged().then(Command::ReachDeadline { at: DEADLINE });
    assert_eq!(case.action.phase, Phase::Expired);
    let late = case.when(approve("ana", DEADLINE));
    assert_eq!(
        late,
        Err(Refusal::AlreadyDecided {
            status: Status::Expired
        })
    );
}

#[test]
fn nothing_is_called_before_the_hold_window_ends() {
    let case = on_hold();
    let refused = case.when(commit(at(30_000)));
    assert_eq!(refused, Err(Refusal::NotDue { run_at: at(30_001) }));
    assert_eq!(
        case.kinds(commit(at(30_001))),
        Ok(vec!["action.commit_recorded"])
    );
}

#[test]
fn a_withdrawal_in_the_hold_window_puts_the_action_back_in_the_queue() {
    let take_back = |name: &str, moment| Command::Withdraw {
        by: format!("per_{name}"),
        reason: None,
        at: moment,
        elapsed: Elapsed::by_clock(moment),
    };
    let case = on_hold();
    assert_eq!(
        case.when(take_back("ben", at(2))),
        Err(Refusal::NotWithdrawable)
    );
    assert_eq!(
        case.when(take_back("ana", at(30_001))),
        Err(Refusal::NotWithdrawable)
    );
    let case = case.then(take_back("ana", at(2)));
    assert_eq!(case.action.status(), Status::Staged);
    assert_eq!(
        case.when(take_back("ana", at(3))),
        Ok(Vec::new()),
        "the same wish again is fulfilled already"
    );
    assert_eq!(
        case.when(take_back("ben", at(3))),
        Err(Refusal::NotWithdrawable)
    );
    // The vote is gone, so the same person may vote again.
    assert_eq!(
        case.then(approve("ana", at(3))).action.status(),
        Status::Approved
    );
}

#[test]
fn i11_a_cancel_after_the_commit_record_never_claims_that_the_call_was_stopped() {
    let cancel = Command::Cancel {
        by: "key_checkout".to_owned(),
        reason: None,
        at: at(5),
    };
    let refused = Case::executing().when(cancel.clone());
    assert_eq!(
        refused,
        Err(Refusal::TooLate {
            status: Status::Executing
        })
    );
    let case = Case::approved().then(cancel.clone());
    assert_eq!(case.action.status(), Status::Cancelled);
    assert_eq!(
        case.when(cancel),
        Ok(Vec::new()),
        "the same wish again is fulfilled already"
    );
}

#[test]
fn incident_27_the_first_decision_wins_and_a_repeat_of_it_gets_its_answer() {
    let case = Case::staged().then(approve("ana", at(1)));
    assert_eq!(case.when(approve("ana", at(2))), Ok(Vec::new()));
    let other = case.when(reject("ben", at(2)));
    assert_eq!(
        other,
        Err(Refusal::AlreadyDecided {
            status: Status::Approved
        })
    );
}

#[test]
fn incident_45_a_moved_state_makes_a_new_revision_that_old_votes_do_not_reach() {
    let mut restaging = proposal(SafetyClass::ApprovalBound);
    restaging.terms.restage = true;
    let mut moved = found();
    moved.snapshot = Some(snapshot(2_000));
    let case = Case::staged_with(restaging, requirement(vec![need(1, &["finance"])]))
        .then(approve("ana", at(1)))
        .then(Command::Commit {
            revalidation: moved,
            at: at(2),
            elapsed: Elapsed::by_clock(at(2)),
        });
    assert_eq!(
        (case.action.status(), case.action.revision),
        (Status::Staged, 2)
    );
    assert_eq!(case.action.diff.len(), 1);
    assert_eq!(
        case.action.deadline(),
        Some(DEADLINE),
        "staging again lengthens nothing"
    );
    let stale = case.when(approve("ben", at(3)));
    assert_eq!(stale, Err(Refusal::StaleDigest { revision: 2 }));
    assert!(T0 < case.action.updated_at);
}

#[test]
fn incident_42_a_state_that_asks_for_more_people_ends_the_approval() {
    let case = Case::staged().then(approve("ana", at(1)));
    let mut more = found();
    more.requirement = Some(requirement(vec![need(1, &[]), need(2, &["finance"])]));
    let outgrown = case.then(commit_on(more.clone(), at(2)));
    assert_eq!(outgrown.action.status(), Status::ReplanRequired);
    let two = two_needed()
        .then(approve("ana", at(1)))
        .then(approve("ben", at(2)));
    assert_eq!(
        two.then(commit_on(more, at(3))).action.status(),
        Status::Executing,
        "whoever agreed suffices for the new rules too"
    );
}

fn commit_on(revalidation: holdpoint_engine::action::Revalidation, at: Timestamp) -> Command {
    Command::Commit {
        revalidation,
        at,
        elapsed: Elapsed::by_clock(at),
    }
}

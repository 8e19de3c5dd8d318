//! Who is on the asking side, and never votes (invariant I8).

use holdpoint_engine::action::{
    Arrangement, AttemptOutcome, Command, Refusal, SafetyClass, Status,
};
use holdpoint_engine::approval::{Ineligible, Voter};
use holdpoint_engine::time::Elapsed;

use super::{on_hold, two_needed, vote_by};
use crate::given::{Case, T0, approve, at, instigator, person, reject};

#[test]
fn i08_the_requester_and_the_owner_of_the_credential_never_vote() {
    let refused = Case::staged().when(approve("owner", at(1)));
    assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::SelfApproval)));
    let mut requester = person("x");
    requester.id = "key_checkout".to_owned();
    let refused = Case::staged().when(vote_by(requester));
    assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::SelfApproval)));
}

#[test]
fn i08_whoever_made_the_run_go_on_and_the_owner_of_their_key_never_vote() {
    let case = Case::staged().arranged(Arrangement {
        instigators: vec![instigator("opa", None), instigator("key", Some("ben"))],
        ..Arrangement::default()
    });
    for name in ["opa", "ben"] {
        let refused = case.when(approve(name, at(1)));
        assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::Instigated)));
    }
    let case = case.then(approve("ana", at(1)));
    assert_eq!(case.action.status(), Status::Approved);
}

#[test]
fn i08_whoever_changed_who_may_do_what_since_it_was_asked_does_not_vote() {
    let before = Voter {
        changed_access_at: Some(at(-1)),
        ..person("ana")
    };
    let after = Voter {
        changed_access_at: Some(T0),
        ..person("ana")
    };
    let refused = Case::staged().when(vote_by(after));
    assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::ChangedAccess)));
    assert!(Case::staged().when(vote_by(before)).is_ok());
}

fn instigate(name: &str, owner: Option<&str>, may_have_approved: bool) -> Command {
    Command::Instigate {
        by: vec![instigator(name, owner)],
        may_have_approved,
        at: at(2),
    }
}

#[test]
fn i08_whoever_makes_the_run_go_on_while_an_action_is_open_joins_those_who_did_before() {
    let unknown = Case::executing().then(Command::Record {
        attempt: 1,
        outcome: AttemptOutcome::Unknown {
            http_status: None,
            message: "lost".to_owned(),
        },
        answer: None,
        at: at(3),
    });
    for case in [
        Case::staged(),
        Case::approved(),
        Case::accepted(SafetyClass::Irreversible),
        Case::executing(),
        unknown,
    ] {
        let case = case.then(instigate("opa", None, false));
        let case = case.then(instigate("key", Some("ben"), false));
        let ids: Vec<_> = case
            .action
            .instigators
            .iter()
            .map(|by| by.name.as_str())
            .collect();
        assert_eq!(ids, ["opa", "key"], "{}", case.action.status().name());
        assert_eq!(
            case.when(instigate("opa", None, false)),
            Ok(Vec::new()),
            "it is known"
        );
    }
    let case = Case::staged().then(instigate("opa", None, false));
    let case = case.then(instigate("key", Some("ben"), false));
    for name in ["opa", "ben"] {
        let refused = case.when(approve(name, at(4)));
        assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::Instigated)));
    }
    assert_eq!(
        case.then(approve("ana", at(4))).action.status(),
        Status::Approved
    );

    let mut caller = instigator("x", None);
    caller.id = "key_checkout".to_owned();
    let asks = Command::Instigate {
        by: vec![caller],
        may_have_approved: false,
        at: at(2),
    };
    assert_eq!(Case::staged().when(asks), Ok(Vec::new()), "it asked anyway");
    let over = Case::staged().then(reject("ana", at(1)));
    assert_eq!(
        over.when(instigate("opa", None, false)),
        Ok(Vec::new()),
        "nothing is decided any more"
    );
}

#[test]
fn i08_whoever_has_approved_an_open_action_does_not_make_its_run_go_on() {
    for case in [
        two_needed().then(approve("ana", at(1))),
        Case::approved(),
        Case::executing(),
    ] {
        for by in [("ana", None), ("key", Some("ana"))] {
            let refused = case.when(instigate(by.0, by.1, false));
            assert_eq!(refused, Err(Refusal::OwnApproval));
        }
        let known = case.clone().then(instigate("ana", None, true));
        assert_eq!(
            known.when(instigate("ana", None, false)),
            Err(Refusal::OwnApproval)
        );
    }
    let back = on_hold().then(Command::Withdraw {
        by: "per_ana".to_owned(),
        reason: None,
        elapsed: Elapsed::by_clock(at(2)),
        at: at(2),
    });
    let back = back.then(instigate("ana", None, false));
    let refused = back.when(approve("ana", at(3)));
    assert_eq!(refused, Err(Refusal::Ineligible(Ineligible::Instigated)));
}

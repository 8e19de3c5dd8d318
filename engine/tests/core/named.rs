//! What a commit record names besides itself: the version of a secret (invariant I16), the key of a claim.

use holdpoint_engine::action::{
    ClaimKey, Command, Event, Refusal, Revalidation, SafetyClass, SecretVersion, Status,
};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::Elapsed;

use crate::given::{Case, T0, approve, at, claim, commit, found};

pub(crate) fn secret(version: &str) -> SecretVersion {
    SecretVersion {
        name: "secrets/shop.token".to_owned(),
        version: version.to_owned(),
        changed_at: Some(T0),
    }
}

pub(crate) fn claim_key(key: &str) -> ClaimKey {
    ClaimKey {
        key: Digest::of(key.as_bytes()),
        fingerprint: Digest::of(b"the claim"),
    }
}

/// A commit with the secret at this version.
fn commit_with(version: &str, now: i64) -> Command {
    Command::Commit {
        revalidation: Revalidation {
            secret: Some(secret(version)),
            ..found()
        },
        elapsed: Elapsed::by_clock(at(now)),
        at: at(now),
    }
}

#[test]
fn i16_the_commit_record_names_the_version_of_the_secret_in_the_same_append() {
    let case = Case::approved();
    let kinds = case.kinds(commit_with("7.1", 2)).expect("committed");
    assert_eq!(kinds, ["action.commit_recorded", "action.secret_named"]);
    let case = case.then(commit_with("7.1", 2));
    let last = case.action.attempts.last().expect("an attempt");
    assert_eq!(last.secret, Some(secret("7.1")));
    let kinds = Case::approved().kinds(commit(at(2))).expect("committed");
    assert_eq!(kinds, ["action.commit_recorded"], "where there is none");
}

#[test]
fn i16_a_secret_that_was_rotated_is_no_reason_to_plan_again() {
    for version in ["7.1", "7.2", "8.1"] {
        let case = Case::staged().then(approve("ana", at(1)));
        let case = case.then(commit_with(version, 2));
        assert_eq!(case.action.status(), Status::Executing, "{version}");
    }
}

#[test]
fn i12_the_key_of_a_claim_stands_with_its_lease_and_changes_nothing_else() {
    let case = Case::pulled(SafetyClass::WriteOnceCheckable);
    let mut wish = claim("anton", at(1));
    let Command::Claim { key, .. } = &mut wish else {
        unreachable!("a claim is a claim")
    };
    *key = Some(claim_key("a"));
    let kinds = case.kinds(wish.clone()).expect("claimed");
    let expected = [
        "action.commit_recorded",
        "action.lease_granted",
        "action.lease_keyed",
    ];
    assert_eq!(kinds, expected);
    let plain = case.clone().then(claim("anton", at(1)));
    let mut keyed = case.then(wish.clone());
    assert_eq!(
        keyed.when(wish),
        Err(Refusal::OutOfPlace {
            status: Status::Executing
        })
    );
    let lease = keyed.action.attempts[0].lease.as_mut().expect("a lease");
    assert_eq!(lease.key.take(), Some(claim_key("a")));
    assert_eq!(keyed.action, plain.action);
}

#[test]
fn i16_a_name_outside_of_a_commit_is_refused() {
    let case = Case::approved();
    let stray = Event::SecretNamed {
        attempt: 1,
        secret: secret("7.1"),
        at: at(3),
    };
    let id = case.action.id;
    assert!(holdpoint_engine::action::evolve(Some(case.action), id, &stray).is_err());
}

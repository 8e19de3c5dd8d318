//! What must never be seen, and incidents of others that must not happen here.

use std::collections::BTreeSet;
use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::{AuthError, ChangeError, NewKey, Role, SessionKind, describe};
use holdpoint_storage::{Direction, EventLog, ScanRange};

use crate::house::*;

#[tokio::test]
async fn i16_a_password_typed_as_an_address_is_not_kept() {
    let house = House::new();
    house.fail_to_sign_in("canary-in-the-wrong-field").await;
    let bodies: Vec<_> = house
        .records()
        .into_iter()
        .map(|record| record.body)
        .collect();
    assert_eq!(house.kinds(), ["sign_in.refused"]);
    assert!(!String::from_utf8_lossy(&bodies.concat()).contains("canary"));
}

#[tokio::test]
async fn incident_50_the_name_and_id_of_who_acts_come_from_the_credential() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[Role::Approver]).await;
    let token = house
        .sign_in(&ann.email, SessionKind::Api)
        .await
        .expect("a session");
    let principal = house
        .identity
        .authenticate_bearer(token.expose())
        .await
        .expect("signed in");
    let voter = principal.voter();
    assert_eq!((voter.id, voter.name), (ann.id.clone(), ann.name));
    // Naming an id proves nothing.
    assert!(house.identity.authenticate_bearer(&ann.id).await.is_err());
}

#[tokio::test]
async fn incident_51_a_key_never_becomes_a_person_who_votes() {
    let house = House::new();
    let ann = house
        .person("ann@example.com", &[Role::Approver, Role::Admin])
        .await;
    for kind in [PrincipalKind::Agent, PrincipalKind::Service] {
        let (id, secret) = house.key(&ann, kind).await;
        let bearer = secret.expose();
        let principal = house
            .identity
            .authenticate_bearer(bearer)
            .await
            .expect("a key");
        assert_eq!((&principal.id, principal.kind), (&id, kind));
        assert_eq!(principal.owner.as_ref(), Some(&ann.id));
        assert!(!principal.voter().is_person && !principal.voter().is_approver);
        assert!(principal.roles.is_empty() && principal.groups.is_empty());
    }
    let posing = NewKey {
        name: "posing".to_owned(),
        kind: PrincipalKind::Person,
        owner: ann.id,
        scopes: BTreeSet::new(),
        attributes: std::collections::BTreeMap::new(),
        expires_at: None,
    };
    let refused = house.identity.create_key("cli", posing).await;
    assert!(
        matches!(refused, Err(ChangeError::Invalid { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn incident_53_a_session_that_cannot_be_read_is_refused_and_not_anonymous() {
    let house = House::new();
    house.person("ann@example.com", &[Role::Approver]).await;
    let token = house
        .sign_in("ann@example.com", SessionKind::Browser)
        .await
        .expect("a session");
    house.log.fail_gets(None, u64::MAX);
    let unread = house.identity.authenticate_session(token.expose()).await;
    assert!(matches!(unread, Err(AuthError::Store(_))), "{unread:?}");
    house.log.heal();
    assert!(
        house
            .identity
            .authenticate_session(token.expose())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn incident_58_each_credential_speaks_for_its_own_person_alone() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[Role::Approver]).await;
    let bob = house.person("bob@example.com", &[Role::Requester]).await;
    let anns = house
        .sign_in(&ann.email, SessionKind::Browser)
        .await
        .expect("a session");
    let bobs = house
        .sign_in(&bob.email, SessionKind::Browser)
        .await
        .expect("a session");
    for (token, person, votes) in [(&anns, &ann, true), (&bobs, &bob, false)] {
        let found = house.identity.authenticate_session(token.expose()).await;
        let (session, principal) = found.expect("signed in");
        assert_eq!((&session.person, &principal.id), (&person.id, &person.id));
        assert_eq!(principal.voter().is_approver, votes);
    }
    assert_eq!(
        house
            .identity
            .end_all_sessions("cli", &bob.id)
            .await
            .expect("ended"),
        1
    );
    assert!(
        house
            .identity
            .authenticate_session(anns.expose())
            .await
            .is_ok()
    );
    assert!(
        house
            .identity
            .authenticate_session(bobs.expose())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn i16_no_secret_is_stored_described_or_printed() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let (_, key) = house.key(&ann, PrincipalKind::Service).await;
    let token = house
        .sign_in(&ann.email, SessionKind::Browser)
        .await
        .expect("a session");
    let ttl = Duration::from_mins(1);
    let link = house
        .identity
        .create_sign_in_link("cli", &ann.id, ttl)
        .await
        .expect("a link");
    house.fail_to_sign_in(&ann.email).await;
    let signed_in = house
        .identity
        .redeem_sign_in_link(link.expose(), HOME)
        .await;
    let second = signed_in.as_ref().expect("a session").0.clone();

    let mut seen = String::new();
    for record in house.records() {
        seen += &String::from_utf8_lossy(&record.body);
        let fact = describe(&record)
            .expect("every record can be described")
            .to_string();
        assert!(!fact.contains("hash"), "{fact}");
        seen += &fact;
    }
    for index in 20..=39 {
        let range = ScanRange::default();
        let entries = house.log.scan(index, range, 1000, Direction::Forward);
        for (entry, value) in entries.expect("the index can be read") {
            seen += &String::from_utf8_lossy(&entry);
            seen += &String::from_utf8_lossy(&value);
        }
    }
    let printed = format!(
        "{signed_in:?} {key:?} {:?} {:?}",
        house.identity,
        house.identity.keys()
    );
    seen += &printed;
    for secret in [
        PASSWORD,
        key.expose(),
        token.expose(),
        link.expose(),
        second.expose(),
    ] {
        let tail = &secret[secret.len() - 12..];
        assert!(!seen.contains(tail), "a secret is visible");
    }
}

//! People and keys: their whole life, restarts, and who loses what at once.

use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::{
    AuthError, ChangeError, LinkError, NewPerson, PersonChange, Role, Secret, SessionKind,
    SignInError, describe,
};
use holdpoint_engine::limits;
use holdpoint_engine::time::Timestamp;

use crate::house::*;

#[tokio::test]
async fn i24_every_change_of_a_person_is_in_the_history_with_who_and_why() {
    let house = House::new();
    house.person("root@example.com", &[Role::Admin]).await;
    let ann = house.person("Ann@Example.com", &[Role::Requester]).await;
    let identity = &house.identity;
    let change = PersonChange {
        roles: Some([Role::Approver].into()),
        groups: Some(labels(&["finance"])),
        reason: Some("joined finance".to_owned()),
        ..PersonChange::default()
    };
    let changed = identity
        .change_person("per_root", &ann.id, change.clone())
        .await;
    assert_eq!(changed.expect("a change").groups, labels(&["finance"]));
    identity
        .change_person("per_root", &ann.id, change)
        .await
        .expect("a repeat is no error");
    identity
        .disable_person("per_root", &ann.id, "left")
        .await
        .expect("disabled");
    identity
        .enable_person("per_root", &ann.id, "came back")
        .await
        .expect("enabled");
    identity
        .set_password("per_root", &ann.id, &Secret::new("another fine password"))
        .await
        .expect("a password");

    let records = house.records();
    let kinds: Vec<_> = records[2..]
        .iter()
        .map(|record| record.kind.as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "person.changed",
            "person.disabled",
            "person.enabled",
            "person.password_set"
        ]
    );
    assert!(records[2..].iter().all(|record| record.actor == "per_root"));
    let described: Vec<_> = records[2..4].iter().filter_map(describe).collect();
    assert_eq!(described[0]["reason"], "joined finance");
    assert_eq!(described[0]["roles"][0], "approver");
    assert_eq!(
        described[1],
        serde_json::json!({ "person": ann.id, "reason": "left" })
    );
    let came_back = describe(&records[4]).expect("described");
    assert_eq!(came_back["reason"], "came back");

    let (key, _) = house.key(&ann, PrincipalKind::Service).await;
    identity
        .revoke_key("per_root", &key, "lost")
        .await
        .expect("revoked");
    let records = house.records();
    let [created, revoked] = &records[records.len() - 2..] else {
        panic!("two more");
    };
    assert_eq!(
        [
            (&*created.kind, &*created.actor),
            (&*revoked.kind, &*revoked.actor)
        ],
        [("key.created", "cli"), ("key.revoked", "per_root")]
    );
    let (created, revoked) = (describe(created), describe(revoked));
    assert_eq!(created.expect("described")["owner"], ann.id.as_str());
    assert_eq!(revoked.expect("described")["reason"], "lost");
}

#[tokio::test]
async fn one_address_belongs_to_one_person_however_it_is_written() {
    let house = House::new();
    let ann = house.person("Ann@Example.com", &[]).await;
    let again = NewPerson {
        email: " ann@EXAMPLE.com ".to_owned(),
        name: "Other".to_owned(),
        ..NewPerson::default()
    };
    let taken = house.identity.create_person("cli", again).await;
    assert!(matches!(taken, Err(ChangeError::EmailTaken { person }) if person == ann.id));
    assert_eq!(house.identity.people().len(), 1);
}

#[tokio::test]
async fn the_last_administrator_stays_one() {
    let house = House::new();
    let root = house.person("root@example.com", &[Role::Admin]).await;
    let disabled = house.identity.disable_person("cli", &root.id, "left").await;
    assert!(matches!(
        disabled,
        Err(ChangeError::LastAdministrator { .. })
    ));
    house.person("second@example.com", &[Role::Admin]).await;
    let disabled = house.identity.disable_person("cli", &root.id, "left").await;
    assert!(!disabled.expect("there is another one").is_enabled());
}

#[tokio::test]
async fn i26_a_restart_finds_people_keys_and_sessions_as_they_were() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[Role::Approver]).await;
    let (used, secret) = house.key(&ann, PrincipalKind::Service).await;
    let (revoked, _) = house.key(&ann, PrincipalKind::Agent).await;
    house
        .identity
        .revoke_key("cli", &revoked, "leaked")
        .await
        .expect("revoked");
    let principal = house
        .identity
        .authenticate_key(secret.expose())
        .await
        .expect("a key");
    let token = house
        .sign_in("ann@example.com", SessionKind::Browser)
        .await
        .expect("a session");

    let again = house.restart();
    assert_eq!(again.identity.people(), house.identity.people());
    assert_eq!(again.identity.keys(), house.identity.keys());
    let keys = again.identity.keys();
    let last_use = keys
        .iter()
        .find(|key| key.id == used)
        .map(|key| key.last_used_at);
    assert_eq!(last_use, Some(Some(Timestamp(START))));
    let found = again
        .identity
        .authenticate_key(secret.expose())
        .await
        .expect("a key");
    assert_eq!(found, principal);
    let (session, _) = again
        .identity
        .authenticate_session(token.expose())
        .await
        .expect("the session lives on");
    assert_eq!(
        again.identity.sessions(&ann.id).expect("sessions"),
        [session]
    );
}

#[tokio::test]
async fn i18_a_disabled_person_loses_sessions_links_and_keys_at_once() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[Role::Approver]).await;
    let (_, secret) = house.key(&ann, PrincipalKind::Service).await;
    let token = house
        .sign_in("ann@example.com", SessionKind::Browser)
        .await
        .expect("a session");
    let identity = &house.identity;
    let ttl = Duration::from_mins(1);
    let link = identity
        .create_sign_in_link("cli", &ann.id, ttl)
        .await
        .expect("a link");
    identity
        .disable_person("cli", &ann.id, "left")
        .await
        .expect("disabled");

    let by_session = identity.authenticate_session(token.expose()).await;
    assert!(
        matches!(by_session, Err(AuthError::Unknown)),
        "{by_session:?}"
    );
    let by_key = identity.authenticate_key(secret.expose()).await;
    assert!(matches!(by_key, Err(AuthError::Disabled)), "{by_key:?}");
    let by_link = identity.redeem_sign_in_link(link.expose(), HOME).await;
    assert!(matches!(by_link, Err(LinkError::Invalid)), "{by_link:?}");
    let by_password = house.sign_in("ann@example.com", SessionKind::Api).await;
    assert!(
        matches!(by_password, Err(SignInError::Refused)),
        "{by_password:?}"
    );

    identity
        .enable_person("cli", &ann.id, "a mistake")
        .await
        .expect("enabled");
    assert!(identity.authenticate_session(token.expose()).await.is_err());
    assert!(
        identity
            .redeem_sign_in_link(link.expose(), HOME)
            .await
            .is_err()
    );
    assert!(identity.authenticate_key(secret.expose()).await.is_ok());
}

#[tokio::test]
async fn unknown_mistyped_revoked_and_expired_keys_are_refused() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let (id, secret) = house.key(&ann, PrincipalKind::Service).await;
    let elsewhere = House::new();
    let eve = elsewhere.person("eve@example.com", &[]).await;
    let (_, other) = elsewhere.key(&eve, PrincipalKind::Service).await;
    let identity = &house.identity;
    let unknown = identity.authenticate_key(other.expose()).await;
    assert!(matches!(unknown, Err(AuthError::Unknown)), "{unknown:?}");
    let cut = &secret.expose()[..secret.expose().len() - 1];
    assert!(matches!(
        identity.authenticate_key(cut).await,
        Err(AuthError::Malformed)
    ));
    assert!(matches!(
        identity.authenticate_bearer("").await,
        Err(AuthError::Malformed)
    ));
    assert!(identity.authenticate_bearer(secret.expose()).await.is_ok());

    house.clock.advance(limits::KEY_USE_EVERY_MS * 5);
    let expired = identity.authenticate_key(secret.expose()).await;
    assert!(matches!(expired, Err(AuthError::Expired)), "{expired:?}");
    identity
        .revoke_key("cli", &id, "old")
        .await
        .expect("revoked");
    let revoked = identity.authenticate_key(secret.expose()).await;
    assert!(matches!(revoked, Err(AuthError::Revoked)), "{revoked:?}");
}

#[tokio::test]
async fn a_change_is_finished_though_its_caller_goes_away() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let identity = house.identity.clone();
    let id = ann.id.clone();
    {
        let change = identity.disable_person("cli", &id, "left");
        tokio::pin!(change);
        // One poll hands the write to its task; then the caller is gone.
        let polled = futures_util::poll!(change.as_mut());
        assert!(polled.is_pending());
    }
    while identity
        .person(&id)
        .is_some_and(|person| person.is_enabled())
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.restart().identity.people(), identity.people());
}

#[tokio::test]
async fn i08_it_is_remembered_who_changed_what_people_may_do() {
    let house = House::new();
    let root = house.person("root@example.com", &[Role::Admin]).await;
    let token = house
        .sign_in("root@example.com", SessionKind::Browser)
        .await
        .expect("a session");
    let seen = async |house: &House| {
        let session = house.identity.authenticate_session(token.expose()).await;
        session.expect("the session is good").1.changed_access_at
    };
    assert_eq!(seen(&house).await, None);
    let change = PersonChange {
        roles: Some([Role::Admin, Role::Approver].into()),
        ..PersonChange::default()
    };
    let changed = house.identity.change_person(&root.id, &root.id, change);
    changed.await.expect("an administrator may");
    assert_eq!(seen(&house).await, Some(Timestamp(START)));
    assert_eq!(seen(&house.restart()).await, Some(Timestamp(START)));
}

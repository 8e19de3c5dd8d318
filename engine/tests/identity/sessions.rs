//! Sessions, sign-in, throttling and one-time links.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdpoint_engine::identity::{
    AuthError, ChangeError, LinkError, PersonChange, Role, Secret, SessionKind, SignInError,
    describe,
};
use holdpoint_engine::limits;

use crate::house::*;

#[tokio::test]
async fn sessions_end_by_sign_out_idleness_age_and_a_new_password() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let (identity, email) = (&house.identity, "ann@example.com");
    let token = house
        .sign_in(email, SessionKind::Browser)
        .await
        .expect("a session");
    identity
        .end_session(token.expose())
        .await
        .expect("signed out");
    identity
        .end_session(token.expose())
        .await
        .expect("a repeat is no error");
    let ended = identity.authenticate_session(token.expose()).await;
    assert!(matches!(ended, Err(AuthError::Unknown)), "{ended:?}");

    let token = house
        .sign_in(email, SessionKind::Browser)
        .await
        .expect("a session");
    let half = limits::SESSION_IDLE_MS / 2;
    for _ in 0..limits::BROWSER_SESSION_MS / half - 1 {
        house.clock.advance(half);
        let used = identity.authenticate_session(token.expose()).await;
        assert!(used.is_ok(), "{used:?}");
    }
    house.clock.advance(half);
    let too_old = identity.authenticate_session(token.expose()).await;
    assert!(matches!(too_old, Err(AuthError::Expired)), "{too_old:?}");

    let token = house
        .sign_in(email, SessionKind::Browser)
        .await
        .expect("a session");
    house.clock.advance(limits::SESSION_IDLE_MS);
    let idle = identity.authenticate_session(token.expose()).await;
    assert!(matches!(idle, Err(AuthError::Expired)), "{idle:?}");

    let token = house
        .sign_in(email, SessionKind::Api)
        .await
        .expect("a session");
    assert!(identity.authenticate_bearer(token.expose()).await.is_ok());
    let password = Secret::new("another fine password");
    identity
        .set_password("cli", &ann.id, &password)
        .await
        .expect("a password");
    assert!(identity.authenticate_bearer(token.expose()).await.is_err());
    assert_eq!(identity.sessions(&ann.id).expect("sessions"), []);
}

#[tokio::test]
async fn i19_a_browser_session_is_no_api_token() {
    let house = House::new();
    house.person("ann@example.com", &[]).await;
    let token = house
        .sign_in("ann@example.com", SessionKind::Browser)
        .await
        .expect("a session");
    let bearer = house.identity.authenticate_bearer(token.expose()).await;
    assert!(matches!(bearer, Err(AuthError::Unknown)), "{bearer:?}");
}

#[tokio::test]
async fn i09_a_clock_that_steps_back_lengthens_no_session() {
    let house = House::new();
    house.person("ann@example.com", &[]).await;
    let token = house
        .sign_in("ann@example.com", SessionKind::Browser)
        .await
        .expect("a session");
    house.clock.advance(limits::SESSION_IDLE_MS);
    assert!(
        house
            .identity
            .authenticate_session(token.expose())
            .await
            .is_err()
    );
    house.clock.0.store(START, Ordering::SeqCst);
    assert!(
        house
            .identity
            .authenticate_session(token.expose())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn i18_roles_are_those_of_now_and_not_those_of_the_sign_in() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[Role::Approver]).await;
    let token = house
        .sign_in("ann@example.com", SessionKind::Browser)
        .await
        .expect("a session");
    let seen = house.identity.authenticate_session(token.expose()).await;
    let (_, principal) = seen.expect("signed in");
    assert!(principal.has(Role::Approver));
    let change = PersonChange {
        roles: Some(BTreeSet::new()),
        ..PersonChange::default()
    };
    house
        .identity
        .change_person("cli", &ann.id, change)
        .await
        .expect("a change");
    let (_, principal) = house
        .identity
        .authenticate_session(token.expose())
        .await
        .expect("still signed in");
    assert!(!principal.has(Role::Approver));
}

#[tokio::test]
async fn guesses_are_slowed_down_and_recorded() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    for _ in 0..limits::SIGN_IN_FAILURES_FREE_PER_ACCOUNT {
        let refused = house.fail_to_sign_in("ANN@example.com").await;
        assert!(matches!(refused, SignInError::Refused), "{refused:?}");
    }
    // The right password does not help before the wait is over.
    let throttled = house.sign_in("ann@example.com", SessionKind::Browser).await;
    let Err(SignInError::Throttled { retry_after }) = throttled else {
        panic!("not throttled: {throttled:?}");
    };
    house
        .clock
        .advance(u64::try_from(retry_after.as_millis()).expect("a short wait"));
    assert!(
        house
            .sign_in("ann@example.com", SessionKind::Browser)
            .await
            .is_ok()
    );
    let refused = house.fail_to_sign_in("ann@example.com").await;
    assert!(
        matches!(refused, SignInError::Refused),
        "a success starts afresh: {refused:?}"
    );

    let refusals: Vec<_> = house
        .records()
        .into_iter()
        .filter(|record| record.kind == "sign_in.refused")
        .filter_map(|record| describe(&record))
        .collect();
    assert_eq!(refusals.len(), 7);
    assert_eq!(refusals[0]["person"], ann.id.as_str());
    assert_eq!(refusals[0]["from"], HOME);
    assert_eq!(refusals[5]["cause"], "throttled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i20_a_sign_in_link_is_taken_once_by_ten_at_once() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let ttl = Duration::from_mins(1);
    let link = house
        .identity
        .create_sign_in_link("cli", &ann.id, ttl)
        .await
        .expect("a link");
    let redeemers: Vec<_> = (0..10)
        .map(|_| {
            let (identity, link) = (house.identity.clone(), link.clone());
            tokio::spawn(async move { identity.redeem_sign_in_link(link.expose(), HOME).await })
        })
        .collect();
    let mut taken = 0;
    for redeemer in redeemers {
        match redeemer.await.expect("it does not panic") {
            Ok((_, session, principal)) => {
                taken += 1;
                assert_eq!(
                    (session.person, principal.id),
                    (ann.id.clone(), ann.id.clone())
                );
            }
            Err(error) => assert!(matches!(error, LinkError::Invalid), "{error:?}"),
        }
    }
    assert_eq!(taken, 1);
    let kinds = house.kinds();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "session.started")
            .count(),
        1
    );
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "link.redeemed").count(),
        1
    );
}

#[tokio::test]
async fn a_sign_in_link_expires_and_lives_no_longer_than_allowed() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let longest = Duration::from_millis(limits::LINK_MS_MAX);
    let too_long = longest + Duration::from_millis(1);
    let refused = house
        .identity
        .create_sign_in_link("cli", &ann.id, too_long)
        .await;
    assert!(
        matches!(refused, Err(ChangeError::Invalid { .. })),
        "{refused:?}"
    );
    let link = house
        .identity
        .create_sign_in_link("cli", &ann.id, longest)
        .await
        .expect("a link");
    house.clock.advance(limits::LINK_MS_MAX);
    let late = house
        .identity
        .redeem_sign_in_link(link.expose(), HOME)
        .await;
    assert!(matches!(late, Err(LinkError::Invalid)), "{late:?}");
}

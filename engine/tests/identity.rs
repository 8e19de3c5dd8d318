//! People, keys, sessions and links over a log in memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::{
    AuthError, ChangeError, Identity, LinkError, NewKey, NewPerson, Person, PersonChange, Role,
    Secret, SessionKind, SignInError, describe,
};
use holdpoint_engine::limits;
use holdpoint_engine::time::{Clock, SystemEntropy, Timestamp};
use holdpoint_storage::{
    AppendError, Appended, Batch, Direction, Entries, EventLog, MemoryLog, Position, ReadError,
    Record, ScanRange, Stats, StreamId, Subscription, Version,
};

const PASSWORD: &str = "canary battery staple";
const START: i64 = 1_770_000_000_000;
const HOME: &str = "192.0.2.7";

struct ManualClock(AtomicI64);

impl ManualClock {
    fn advance(&self, ms: u64) {
        let ms = i64::try_from(ms).expect("a short time");
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A log that can stop answering look-ups.
struct FaultyLog {
    log: MemoryLog,
    fails: AtomicBool,
}

#[async_trait]
impl EventLog for FaultyLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.log.append(batch).await
    }
    fn read_stream(&self, s: &StreamId, a: Version, l: usize) -> Result<Vec<Record>, ReadError> {
        self.log.read_stream(s, a, l)
    }
    fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError> {
        self.log.stream_version(stream)
    }
    fn read_all(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.log.read_all(after, limit)
    }
    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(ReadError::Io(std::io::Error::other("the device is gone")));
        }
        self.log.get(index, key)
    }
    fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        self.log.scan(index, range, limit, direction)
    }
    fn claim(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.log.claim(key)
    }
    fn subscribe(&self, after: Position) -> Subscription {
        self.log.subscribe(after)
    }
    fn stats(&self) -> Result<Stats, ReadError> {
        self.log.stats()
    }
    async fn close(&self) {
        self.log.close().await;
    }
}

struct House {
    log: Arc<FaultyLog>,
    clock: Arc<ManualClock>,
    identity: Identity,
}

impl House {
    fn new() -> Self {
        Self::over(
            MemoryLog::new(),
            Arc::new(ManualClock(AtomicI64::new(START))),
        )
    }

    fn over(log: MemoryLog, clock: Arc<ManualClock>) -> Self {
        let fails = AtomicBool::new(false);
        let log = Arc::new(FaultyLog { log, fails });
        let identity =
            Identity::open(log.clone(), clock.clone(), Arc::new(SystemEntropy)).expect("it opens");
        Self {
            log,
            clock,
            identity,
        }
    }

    fn restart(&self) -> Self {
        Self::over(self.log.log.reopen(), self.clock.clone())
    }

    async fn person(&self, email: &str, roles: &[Role]) -> Person {
        let new = NewPerson {
            email: email.to_owned(),
            name: "Ann".to_owned(),
            roles: roles.iter().copied().collect(),
            password: Some(Secret::new(PASSWORD)),
            ..NewPerson::default()
        };
        self.identity
            .create_person("cli", new)
            .await
            .expect("a person")
    }

    async fn key(&self, owner: &Person, kind: PrincipalKind) -> (String, Secret) {
        let new = NewKey {
            name: "checkout".to_owned(),
            kind,
            owner: owner.id.clone(),
            scopes: labels(&["refunds:write"]),
            attributes: [("tenant".to_owned(), "acme".to_owned())].into(),
            expires_at: Some(Timestamp(START).plus_ms(limits::KEY_USE_EVERY_MS * 5)),
        };
        let (key, secret) = self.identity.create_key("cli", new).await.expect("a key");
        (key.id, secret)
    }

    async fn sign_in(&self, email: &str, kind: SessionKind) -> Result<Secret, SignInError> {
        let password = Secret::new(PASSWORD);
        let signed_in = self.identity.sign_in(email, &password, HOME, kind).await;
        signed_in.map(|(token, _, _)| token)
    }

    async fn fail_to_sign_in(&self, email: &str) -> SignInError {
        let wrong = Secret::new("canary wrong password");
        let kind = SessionKind::Browser;
        let refused = self.identity.sign_in(email, &wrong, HOME, kind).await;
        refused.expect_err("the password is wrong")
    }

    fn records(&self) -> Vec<Record> {
        self.log.read_all(0, 10_000).expect("the log can be read")
    }

    fn kinds(&self) -> Vec<String> {
        self.records()
            .into_iter()
            .map(|record| record.kind)
            .collect()
    }
}

fn labels(labels: &[&str]) -> BTreeSet<String> {
    labels.iter().map(|&label| label.to_owned()).collect()
}

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
    let ttl = Duration::from_secs(60);
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
    let (_, other) = House::new().foreign_key().await;
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

impl House {
    async fn foreign_key(&self) -> (String, Secret) {
        let eve = self.person("eve@example.com", &[]).await;
        self.key(&eve, PrincipalKind::Service).await
    }
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i20_a_sign_in_link_is_taken_once_by_ten_at_once() {
    let house = House::new();
    let ann = house.person("ann@example.com", &[]).await;
    let ttl = Duration::from_secs(60);
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
    house.log.fails.store(true, Ordering::SeqCst);
    let unread = house.identity.authenticate_session(token.expose()).await;
    assert!(matches!(unread, Err(AuthError::Store(_))), "{unread:?}");
    house.log.fails.store(false, Ordering::SeqCst);
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
    let ttl = Duration::from_secs(60);
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
    seen += &format!(
        "{signed_in:?} {key:?} {:?} {:?}",
        house.identity,
        house.identity.keys()
    );
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

//! A house: a log in memory, a clock by hand, and who lives there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::{
    Identity, NewKey, NewPerson, Person, Role, Secret, SessionKind, SignInError,
};
use holdpoint_engine::limits;
use holdpoint_engine::time::{Clock, SystemEntropy, Timestamp};
use holdpoint_storage::faulty::FaultyLog;
use holdpoint_storage::{EventLog as _, MemoryLog, Record};

pub(crate) const PASSWORD: &str = "canary battery staple";
pub(crate) const START: i64 = 1_770_000_000_000;
pub(crate) const HOME: &str = "192.0.2.7";

pub(crate) struct ManualClock(pub(crate) AtomicI64);

impl ManualClock {
    pub(crate) fn advance(&self, ms: u64) {
        let ms = i64::try_from(ms).expect("a short time");
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct House {
    pub(crate) log: Arc<FaultyLog<MemoryLog>>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) identity: Identity,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::over(
            MemoryLog::new(),
            Arc::new(ManualClock(AtomicI64::new(START))),
        )
    }

    pub(crate) fn over(log: MemoryLog, clock: Arc<ManualClock>) -> Self {
        let log = Arc::new(FaultyLog::new(Arc::new(log)));
        let identity =
            Identity::open(log.clone(), clock.clone(), Arc::new(SystemEntropy)).expect("it opens");
        Self {
            log,
            clock,
            identity,
        }
    }

    pub(crate) fn restart(&self) -> Self {
        Self::over(self.log.inner().reopen(), self.clock.clone())
    }

    pub(crate) async fn person(&self, email: &str, roles: &[Role]) -> Person {
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

    pub(crate) async fn key(&self, owner: &Person, kind: PrincipalKind) -> (String, Secret) {
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

    pub(crate) async fn sign_in(
        &self,
        email: &str,
        kind: SessionKind,
    ) -> Result<Secret, SignInError> {
        let password = Secret::new(PASSWORD);
        let signed_in = self.identity.sign_in(email, &password, HOME, kind).await;
        signed_in.map(|(token, _, _)| token)
    }

    pub(crate) async fn fail_to_sign_in(&self, email: &str) -> SignInError {
        let wrong = Secret::new("canary wrong password");
        let kind = SessionKind::Browser;
        let refused = self.identity.sign_in(email, &wrong, HOME, kind).await;
        refused.expect_err("the password is wrong")
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.log.read_all(0, 10_000).expect("the log can be read")
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.records()
            .into_iter()
            .map(|record| record.kind)
            .collect()
    }
}

pub(crate) fn labels(labels: &[&str]) -> BTreeSet<String> {
    labels.iter().map(|&label| label.to_owned()).collect()
}

//! People, a service, and an engine that may tell receivers on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::{Engine, Options, Submission, Submitted, Versioned, WebhookOptions};
use holdpoint_engine::identity::{NewKey, NewPerson, Principal, Role};
use holdpoint_engine::target::{Locals, NetworkOptions};
use holdpoint_engine::time::{Clock, SystemEntropy, Timestamp};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_engine::webhook::{Endpoint, EndpointId, NewEndpoint, SigningKey};
use holdpoint_storage::faulty::FaultyLog;
use holdpoint_storage::{EventLog, MemoryLog, Record};
use serde_json::json;

use crate::receiver::PATIENCE;

const TOOLS: &str = r#"{ "tools": {
    "pay": { "safetyClass": "approval-bound", "summary": "Pay {to}", "labels": ["to"] },
    "note": { "safetyClass": "write-once-checkable", "execute": { "local": "note" } } } }"#;

/// A clock that a test sets.
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).expect("a short time");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct House {
    pub(crate) log: Arc<MemoryLog>,
    /// The same log, as the engine sees it.
    pub(crate) seen: Arc<FaultyLog<MemoryLog>>,
    pub(crate) engine: Engine,
    pub(crate) key: SigningKey,
    clock: Option<Arc<ManualClock>>,
    pub(crate) admin: Principal,
    pub(crate) service: Principal,
    pub(crate) stranger: Principal,
}

impl House {
    /// With a clock that the test sets.
    pub(crate) async fn new() -> Self {
        let clock = ManualClock(AtomicI64::new(1_800_000_000_000));
        Self::with(Some(Arc::new(clock))).await
    }

    pub(crate) async fn with(clock: Option<Arc<ManualClock>>) -> Self {
        let log = Arc::new(MemoryLog::new());
        let key = SigningKey::random(&SystemEntropy).expect("random bytes");
        let seen = Arc::new(FaultyLog::new(Arc::clone(&log)));
        let engine = open(Arc::clone(&seen) as Arc<_>, clock.clone(), key.clone()).await;
        let admin = person(&engine, "admin", Role::Admin).await;
        let owner = person(&engine, "owner", Role::Requester).await;
        let service = key_of(&engine, "checkout", &owner.id).await;
        let stranger = key_of(&engine, "stranger", &admin.id).await;
        Self {
            log,
            seen,
            engine,
            key,
            clock,
            admin,
            service,
            stranger,
        }
    }

    /// The time goes on, and whoever waits for a moment looks at the clock.
    pub(crate) fn pass(&self, time: Duration) {
        self.clock
            .as_ref()
            .expect("a clock of its own")
            .advance(time);
        self.engine.wake();
    }

    /// The process dies and starts again over the same log.
    pub(crate) async fn restart(&mut self) {
        self.restart_with(self.key.clone()).await;
    }

    pub(crate) async fn restart_with(&mut self, key: SigningKey) {
        self.log = Arc::new(self.log.reopen());
        self.engine = open(self.log.clone(), self.clock.clone(), key).await;
    }

    /// An older copy takes the place of the log; somebody confirms it.
    pub(crate) async fn restore(&mut self, copy: MemoryLog) {
        self.log = Arc::new(copy);
        let (log, clock) = (self.log.clone(), self.clock.clone());
        self.engine = open_with(log, clock, self.key.clone(), true).await;
    }

    /// An endpoint of an administrator, and its secret.
    pub(crate) async fn endpoint(&self, url: &str) -> (EndpointId, String) {
        self.endpoint_of(&self.admin, url, &[], &[]).await
    }

    pub(crate) async fn endpoint_of(
        &self,
        by: &Principal,
        url: &str,
        types: &[&str],
        tools: &[&str],
    ) -> (EndpointId, String) {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let new = NewEndpoint {
            name: "receiver".to_owned(),
            url: url.to_owned(),
            types: set(types),
            tools: set(tools),
            ..NewEndpoint::default()
        };
        let made = self.engine.create_webhook(by, new).await;
        let (endpoint, secret) = made.expect("an endpoint");
        (endpoint.id, secret.expose().to_owned())
    }

    /// Stages one payment: one event.
    pub(crate) async fn staged(&self, to: &str) -> Versioned {
        submit(&self.engine, &self.service, "pay", to).await
    }

    pub(crate) async fn stage(&self, count: usize) {
        for number in 0..count {
            self.staged(&format!("p{number}")).await;
        }
    }

    pub(crate) fn get(&self, id: EndpointId) -> Endpoint {
        self.engine.webhook(&self.admin, id).expect("an endpoint")
    }

    /// Waits until something holds for an endpoint.
    pub(crate) async fn until(
        &self,
        id: EndpointId,
        holds: impl Fn(&Endpoint) -> bool,
    ) -> Endpoint {
        let begun = std::time::Instant::now();
        loop {
            let endpoint = self.get(id);
            if holds(&endpoint) {
                return endpoint;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "it never came to that: {endpoint:?}"
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Every record of the log.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.log.read_all(0, 100_000).expect("the log")
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.records()
            .into_iter()
            .map(|record| record.kind)
            .collect()
    }
}

pub(crate) async fn open(
    log: Arc<dyn EventLog>,
    clock: Option<Arc<ManualClock>>,
    key: SigningKey,
) -> Engine {
    open_with(log, clock, key, false).await
}

async fn open_with(
    log: Arc<dyn EventLog>,
    clock: Option<Arc<ManualClock>>,
    key: SigningKey,
    confirm_restore: bool,
) -> Engine {
    let file = ToolsFile::from_str(TOOLS, Format::Json).expect("a tools file");
    let mut options = Options {
        locals: Locals::default().with("note", |_| async { Ok(json!({})) }),
        network: NetworkOptions {
            allow: vec!["127.0.0.0/8".parse().expect("a range")],
        },
        webhooks: WebhookOptions {
            key: Ok(key),
            public_url: Some("https://holdpoint.example".to_owned()),
            notifier: None,
        },
        confirm_restore,
        ..Options::default()
    };
    if let Some(clock) = clock {
        options.clock = clock;
    }
    let engine = Engine::open(log, Arc::new(file.registry), options).await;
    engine.expect("an engine")
}

pub(crate) async fn submit(engine: &Engine, by: &Principal, tool: &str, to: &str) -> Versioned {
    let submission = Submission {
        tool: tool.to_owned(),
        args: json!({ "to": to, "iban": "canary-argument" }),
        reason: Some("canary-reason".to_owned()),
        labels: BTreeMap::new(),
        expires_in: None,
        not_before: None,
        request_key: None,
    };
    match engine.submit(by, submission).await.expect("it is taken") {
        Submitted::Action { action, .. } => *action,
        Submitted::Answered(answered) => panic!("{answered:?}"),
    }
}

async fn person(engine: &Engine, name: &str, role: Role) -> Principal {
    let new = NewPerson {
        email: format!("{name}@example.com"),
        name: name.to_owned(),
        roles: BTreeSet::from([role]),
        ..NewPerson::default()
    };
    let person = engine.identity().create_person("test", new).await;
    let id = person.expect("a person").id;
    engine.identity().principal(&id).expect("enabled")
}

async fn key_of(engine: &Engine, name: &str, owner: &str) -> Principal {
    let new = NewKey {
        name: name.to_owned(),
        kind: PrincipalKind::Service,
        owner: owner.to_owned(),
        scopes: BTreeSet::from(["webhooks:write".to_owned()]),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (key, _) = engine
        .identity()
        .create_key("test", new)
        .await
        .expect("a key");
    engine.identity().principal(&key.id).expect("it works")
}

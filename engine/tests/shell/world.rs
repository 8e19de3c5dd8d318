//! People, and an engine between them and the shop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use holdpoint_engine::action::{ActionId, PrincipalKind, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{
    Ballot, Engine, Options, Submission, SubmitError, Submitted, Versioned,
};
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::time::{Clock, SystemEntropy, Timestamp};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::{Value, json};

pub(crate) use crate::shop::{Mood, Shop, tools};

/// A clock that a test sets.
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1_800_000_000_000)))
    }

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

/// The whole scene.
pub(crate) struct Scene {
    pub(crate) shop: Shop,
    pub(crate) engine: Engine,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) clock: Option<Arc<ManualClock>>,
}

impl Scene {
    pub(crate) async fn open() -> Self {
        let shop = Shop::open().await;
        let log = Arc::new(MemoryLog::new());
        let engine = open(log.clone(), &shop.tools(), None).await;
        Self {
            shop,
            engine,
            log,
            clock: None,
        }
    }

    pub(crate) async fn with_clock() -> Self {
        let shop = Shop::open().await;
        let log = Arc::new(MemoryLog::new());
        let clock = ManualClock::new();
        let engine = open(log.clone(), &shop.tools(), Some(clock.clone())).await;
        Self {
            shop,
            engine,
            log,
            clock: Some(clock),
        }
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock
            .as_ref()
            .expect("a clock of its own")
            .advance(time);
        self.engine.wake();
    }

    /// The process dies and starts again over the same log.
    pub(crate) async fn restart(&mut self) {
        let tools = self.shop.tools();
        self.restart_with(&tools).await;
    }

    pub(crate) async fn restart_with(&mut self, tools: &Value) {
        let log = Arc::new(self.log.reopen());
        self.log = log.clone();
        self.engine = open(log, tools, self.clock.clone()).await;
    }

    pub(crate) async fn submit(&self, tool: &str, args: Value) -> Versioned {
        taken(self.engine.submit(&service(), submission(tool, args)).await)
    }

    /// A refund that the shop makes and never answers, so that it stays on its way.
    pub(crate) async fn on_its_way(&self) -> ActionId {
        self.shop.feels(Mood::DoneThenSilent);
        let view = self.submit("write_once", refund_of(100, "r1")).await;
        self.until(view.action.id, Status::Executing).await;
        self.shop.was_asked().await;
        view.action.id
    }

    /// Stages a refund of the shop's order.
    pub(crate) async fn staged(&self, tool: &str, amount: i64) -> Versioned {
        self.submit(tool, refund_of(amount, "r1")).await
    }

    pub(crate) async fn approve(&self, by: &Principal, view: &Versioned) -> Versioned {
        self.engine
            .vote(by, view.action.id, ballot(view, Vote::Approve))
            .await
            .expect("a vote that counts")
    }

    /// Waits until the action has this status.
    pub(crate) async fn until(&self, id: ActionId, status: Status) -> Versioned {
        self.until_that(id, |view| view.action.status() == status)
            .await
    }

    pub(crate) async fn until_that(
        &self,
        id: ActionId,
        holds: impl Fn(&Versioned) -> bool,
    ) -> Versioned {
        let auditor = auditor();
        let mut known = 0;
        for _ in 0..500 {
            let patience = Duration::from_secs(20);
            let view = self
                .engine
                .wait(&auditor, id, known, patience)
                .await
                .expect("visible");
            if holds(&view) {
                return view;
            }
            assert_ne!(
                view.version, known,
                "nothing happens any more: {:?}",
                view.action.phase
            );
            known = view.version;
        }
        panic!("it never came to that");
    }
}

pub(crate) async fn open(
    log: Arc<dyn EventLog>,
    tools: &Value,
    clock: Option<Arc<ManualClock>>,
) -> Engine {
    open_with(log, tools, clock, Options::default()).await
}

pub(crate) async fn open_with(
    log: Arc<dyn EventLog>,
    tools: &Value,
    clock: Option<Arc<ManualClock>>,
    mut options: Options,
) -> Engine {
    let file = ToolsFile::from_str(&tools.to_string(), Format::Json).expect("a valid tools file");
    options.entropy = Arc::new(SystemEntropy);
    if let Some(clock) = clock {
        options.clock = clock;
    }
    Engine::open(log, Arc::new(file.registry), options)
        .await
        .expect("an engine")
}

pub(crate) fn submission(tool: &str, args: Value) -> Submission {
    Submission {
        tool: tool.to_owned(),
        args,
        reason: Some("the customer sent it back".to_owned()),
        labels: BTreeMap::new(),
        expires_in: None,
        not_before: None,
        request_key: None,
    }
}

pub(crate) fn refund_of(amount: i64, reference: &str) -> Value {
    json!({ "order_id": "8812", "amount_minor": amount, "ref": reference })
}

pub(crate) fn taken(outcome: Result<Submitted, SubmitError>) -> Versioned {
    match outcome.expect("a submission that is taken") {
        Submitted::Action { action, .. } => *action,
        Submitted::Answered(answered) => panic!("answered at once: {answered:?}"),
    }
}

pub(crate) fn ballot(view: &Versioned, vote: Vote) -> Ballot {
    let action = &view.action;
    Ballot {
        vote,
        reason: (vote == Vote::Reject).then(|| "not this one".to_owned()),
        revision: action.revision,
        digest: action.proposal.digest,
        snapshot_digest: action.snapshot.as_ref().map(|snapshot| snapshot.digest),
    }
}

fn person(id: &str, roles: &[Role]) -> Principal {
    Principal {
        id: format!("per_{id}"),
        name: id.to_owned(),
        kind: PrincipalKind::Person,
        owner: None,
        scopes: BTreeSet::new(),
        groups: BTreeSet::from(["finance".to_owned()]),
        roles: roles.iter().copied().collect(),
        attributes: BTreeMap::new(),
        changed_access_at: None,
    }
}

pub(crate) fn alice() -> Principal {
    person("alice", &[Role::Approver])
}

pub(crate) fn approver(name: &str) -> Principal {
    person(name, &[Role::Approver])
}

pub(crate) fn operator() -> Principal {
    person("oscar", &[Role::Operator])
}

pub(crate) fn auditor() -> Principal {
    person("ada", &[Role::Auditor])
}

/// A service whose key belongs to somebody who is nobody else here.
pub(crate) fn service() -> Principal {
    Principal {
        id: "key_checkout".to_owned(),
        name: "checkout".to_owned(),
        kind: PrincipalKind::Service,
        owner: Some("per_otto".to_owned()),
        scopes: BTreeSet::from(["refunds:write".to_owned()]),
        groups: BTreeSet::new(),
        roles: BTreeSet::new(),
        attributes: BTreeMap::from([("tenant".to_owned(), "eu".to_owned())]),
        changed_access_at: None,
    }
}

//! A small real shop on loopback, people, and an engine in between.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
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

/// How the shop answers a refund.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Kind,
    /// Does it, and then answers with this.
    DoneThen(u16),
    /// Does it, and never answers.
    DoneThenSilent,
    /// Does it, and answers with half a body.
    DoneThenCut,
    /// Does nothing, and answers with this.
    Refuses(u16),
    /// Does nothing, and sends the caller elsewhere.
    Redirects,
}

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) mood: Mood,
    pub(crate) state_mood: Option<u16>,
    pub(crate) check_mood: Option<u16>,
    pub(crate) refundable: i64,
    pub(crate) version: u64,
    /// Amounts by idempotency key, one entry for each that took effect.
    pub(crate) refunds: Vec<(String, i64)>,
    /// Every request to `POST /refunds`, done or not.
    pub(crate) posts: Vec<(HeaderMap, Value)>,
    pub(crate) state_reads: u64,
    pub(crate) checks: u64,
    pub(crate) elsewhere: u64,
}

#[derive(Clone)]
pub(crate) struct Shop {
    books: Arc<Mutex<Books>>,
    pub(crate) address: SocketAddr,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let books = Arc::new(Mutex::new(Books {
            refundable: 5000,
            version: 1,
            ..Books::default()
        }));
        let router = Router::new()
            .route("/orders/{id}", get(order))
            .route("/refunds", post(refund).get(find))
            .route("/elsewhere", post(elsewhere).get(elsewhere))
            .with_state(Arc::clone(&books));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { books, address }
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn feels(&self, mood: Mood) {
        self.books().mood = mood;
    }

    /// Somebody else changes the order.
    pub(crate) fn moves(&self) {
        let mut books = self.books();
        books.refundable -= 3000;
        books.version += 1;
    }

    pub(crate) fn done(&self) -> usize {
        self.books().refunds.len()
    }

    pub(crate) fn posts(&self) -> usize {
        self.books().posts.len()
    }

    /// Waits until somebody asked for a refund.
    pub(crate) async fn was_asked(&self) {
        while self.posts() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn tools(&self) -> Value {
        tools(self.address)
    }
}

type Shared = State<Arc<Mutex<Books>>>;

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn order(State(books): Shared, Path(id): Path<String>) -> Response {
    let mut books = lock(&books);
    books.state_reads += 1;
    if let Some(status) = books.state_mood {
        return status_of(status).into_response();
    }
    let etag = format!("\"v{}\"", books.version);
    let body = json!({ "id": id, "status": "paid", "refundable_minor": books.refundable });
    ([("etag", etag)], axum::Json(body)).into_response()
}

async fn refund(State(books): Shared, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap_or(Value::String(body));
    let mood = {
        let mut books = lock(&books);
        books.posts.push((headers.clone(), body.clone()));
        let mood = books.mood;
        match mood {
            Mood::Refuses(status) => return (status_of(status), "no").into_response(),
            Mood::Redirects => {
                return (StatusCode::TEMPORARY_REDIRECT, [("location", "/elsewhere")])
                    .into_response();
            }
            Mood::Kind | Mood::DoneThen(_) | Mood::DoneThenSilent | Mood::DoneThenCut => {}
        }
        let expected = format!("\"v{}\"", books.version);
        let is_moved = headers
            .get("if-match")
            .is_some_and(|version| version.as_bytes() != expected.as_bytes());
        if is_moved {
            return StatusCode::PRECONDITION_FAILED.into_response();
        }
        let key = headers
            .get("idempotency-key")
            .and_then(|key| key.to_str().ok());
        let key = key.unwrap_or_default().trim_matches('"').to_owned();
        let amount = body["amount"].as_i64().unwrap_or(0);
        if !books.refunds.iter().any(|(other, _)| *other == key) {
            books.refunds.push((key, amount));
            books.refundable -= amount;
            books.version += 1;
        }
        mood
    };
    match mood {
        Mood::DoneThen(status) => status_of(status).into_response(),
        Mood::DoneThenSilent => std::future::pending().await,
        Mood::DoneThenCut => ([("content-length", "100")], "{\"id\":").into_response(),
        Mood::Kind | Mood::Refuses(_) | Mood::Redirects => {
            (StatusCode::CREATED, axum::Json(json!({ "id": "re_1" }))).into_response()
        }
    }
}

async fn find(State(books): Shared, Query(query): Query<BTreeMap<String, String>>) -> Response {
    let mut books = lock(&books);
    books.checks += 1;
    if let Some(status) = books.check_mood {
        return status_of(status).into_response();
    }
    let key = query.get("key").cloned().unwrap_or_default();
    let found: Vec<Value> = books
        .refunds
        .iter()
        .filter(|(other, _)| *other == key)
        .map(|(key, amount)| json!({ "key": key, "amount": amount }))
        .collect();
    axum::Json(json!({ "refunds": found })).into_response()
}

async fn elsewhere(State(books): Shared) -> StatusCode {
    lock(&books).elsewhere += 1;
    StatusCode::OK
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).expect("a status")
}

/// A tools file over the shop: one tool of each class.
pub(crate) fn tools(shop: SocketAddr) -> Value {
    let base = format!("http://{shop}");
    let execute = json!({
        "http": {
            "post": format!("{base}/refunds"),
            "json": { "order": "{order_id}", "amount": "{amount_minor}" },
        },
        "timeout": "2s",
        "retry": { "attempts": 3, "backoff": "1ms..5ms" },
    });
    let mut closing = execute.clone();
    closing["http"]["headers"] = json!({ "If-Match": "{state_etag}" });
    let state = json!({
        "http": { "get": format!("{base}/orders/{{order_id}}") },
        "watch": ["/status", "/refundable_minor"],
    });
    let check = json!({
        "http": { "get": format!("{base}/refunds?key={{idempotency_key}}") },
        "happened": "size(body.refunds) > 0",
    });
    let mut restaging = state.clone();
    restaging["onMismatch"] = json!("restage");
    json!({ "tools": {
        "issue_refund": {
            "safetyClass": "approval-bound",
            "input": { "type": "object", "required": ["order_id", "amount_minor"] },
            "summary": "Refund {amount_minor|money:EUR} to order {order_id}",
            "labels": ["order_id"],
            "requiredScopes": ["refunds:write"],
            "preconditions": [{
                "rule": "state.refundable_minor >= args.amount_minor",
                "message": "more than is left to refund",
            }],
            "idempotencyKey": "refund:{order_id}:{ref}",
            "state": state, "execute": execute, "check": check, "requestLifetime": "0s",
        },
        "closed_refund": {
            "safetyClass": "approval-bound",
            "state": state, "execute": closing, "check": check, "requestLifetime": "0s",
        },
        "restaged_refund": {
            "safetyClass": "approval-bound",
            "state": restaging, "execute": execute, "check": check, "requestLifetime": "0s",
        },
        "held_refund": {
            "safetyClass": "approval-bound", "execute": execute, "check": check,
            "approval": { "required": 2, "hold": "30s", "expiresIn": "1h" },
        },
        "write_once": {
            "safetyClass": "write-once-checkable", "execute": execute, "check": check,
            "requestLifetime": "0s",
        },
        "irreversible": { "safetyClass": "irreversible", "state": state, "execute": execute },
        "read_order": {
            "safetyClass": "idempotent",
            "execute": { "http": { "get": format!("{base}/orders/{{order_id}}") } },
        },
        "pulled": { "safetyClass": "write-once-checkable" },
        "own_tenant": {
            "safetyClass": "irreversible", "identity": "caller.tenant == args.tenant",
            "execute": execute,
        },
    } })
}

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
    }
}

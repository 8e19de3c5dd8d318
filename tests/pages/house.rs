//! A whole house for one test: a shop, an engine, people, and the web server in front.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use holdpoint_engine::action::{Action, ActionId, PrincipalKind};
use holdpoint_engine::engine::{
    Engine, HttpTools, Options, RunOptions, Submission, Submitted, WebhookOptions,
};
use holdpoint_engine::identity::{NewKey, NewPerson, Principal, Role, Secret};
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, Run, RunId, RunStatus};
use holdpoint_engine::target::Locals;
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_engine::webhook::{EndpointId, NewEndpoint, SigningKey};
use holdpoint_storage::MemoryLog;
use holdpoint_web::{AppState, WebConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// What the shop says where nobody can know what it did.
const BROKE: (StatusCode, &str) = (StatusCode::BAD_GATEWAY, "upstream closed the connection");

/// What the shop knows: refundable amounts by order, and refunds by key.
#[derive(Default)]
struct Books {
    refundable: BTreeMap<String, i64>,
    refunds: BTreeMap<String, i64>,
}

#[derive(Clone, Default)]
pub(crate) struct Shop {
    books: Arc<Mutex<Books>>,
}

impl Shop {
    fn books<T>(&self, look: impl FnOnce(&mut Books) -> T) -> T {
        look(&mut self.books.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes an order behind everybody's back.
    pub(crate) fn set_refundable(&self, order: &str, amount: i64) {
        self.books(|books| books.refundable.insert(order.to_owned(), amount));
    }

    /// How many refunds were made in all.
    pub(crate) fn refunds(&self) -> usize {
        self.books(|books| books.refunds.len())
    }

    async fn open(self) -> String {
        let app = Router::new()
            .route("/orders/{id}", get(order))
            .route("/refunds", post(refund).get(lookup))
            .route("/accounts", post(async || BROKE))
            .with_state(self);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, app).await });
        format!("http://{address}")
    }
}

async fn order(State(shop): State<Shop>, Path(id): Path<String>) -> impl IntoResponse {
    let refundable = shop.books(|books| *books.refundable.entry(id.clone()).or_insert(60_000));
    let etag = [("etag", format!("\"v{refundable}\""))];
    (
        etag,
        Json(json!({ "id": id, "status": "paid", "refundable_minor": refundable })),
    )
}

async fn refund(
    State(shop): State<Shop>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> impl IntoResponse {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let key = key.unwrap_or_default().trim_matches('"').to_owned();
    let amount = body["amount"].as_i64().unwrap_or_default();
    let order = body["order"].as_str().unwrap_or_default().to_owned();
    shop.books(|books| {
        books.refunds.insert(key, amount);
        *books.refundable.entry(order).or_insert(60_000) -= amount;
    });
    (StatusCode::CREATED, Json(json!({ "refunded": amount })))
}

async fn lookup(
    State(shop): State<Shop>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Json<Value> {
    let key = query.get("key").cloned().unwrap_or_default();
    let found: Vec<i64> =
        shop.books(|books| books.refunds.get(&key).copied().into_iter().collect());
    Json(json!({ "refunds": found }))
}

/// The house.
pub(crate) struct House {
    pub(crate) url: String,
    pub(crate) shop: Shop,
    pub(crate) engine: Engine,
    pub(crate) service: Principal,
    agent: Principal,
    /// An endpoint of the administrator that fails.
    pub(crate) webhook: EndpointId,
    stop: CancellationToken,
}

impl House {
    /// Opens it with four people: Rita asks, Ana and Ben of finance approve, Otto operates and
    /// audits. Refunds wait `hold` before they are sent.
    pub(crate) async fn open(hold: &str) -> Self {
        let shop = Shop::default();
        let registry = tools(&shop.clone().open().await, hold);
        let log = Arc::new(MemoryLog::new());
        let locals = Locals::default().with("price", |_| async { Ok(json!({ "minor": 4_800 })) });
        let options = Options {
            locals,
            runs: RunOptions {
                http: HttpTools::Guarded,
                ..RunOptions::default()
            },
            webhooks: WebhookOptions {
                key: Ok(SigningKey::random(&SystemEntropy).expect("random bytes")),
                ..WebhookOptions::default()
            },
            ..Options::default()
        };
        let engine = Engine::open(log, Arc::new(registry), options)
            .await
            .expect("the engine starts");
        for (name, role, group) in [
            ("Rita", Role::Requester, None),
            ("Ana", Role::Approver, Some("finance")),
            ("Ben", Role::Approver, Some("finance")),
            ("Lea", Role::Approver, Some("legal")),
            ("Otto", Role::Operator, None),
            ("Root", Role::Admin, None),
        ] {
            person(&engine, name, role, group).await;
        }
        let webhook = endpoint(&engine).await;
        let service = key(&engine, "checkout", PrincipalKind::Service).await;
        let agent = key(&engine, "support-bot", PrincipalKind::Agent).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = AppState::new(engine.clone(), WebConfig::default(), None);
        let stop = CancellationToken::new();
        tokio::spawn(holdpoint_web::serve(listener, state, stop.clone()));
        Self {
            url,
            shop,
            engine,
            service,
            agent,
            webhook,
            stop,
        }
    }

    /// Lets Rita start a run of a skill file.
    pub(crate) async fn run(&self, text: &str, stage: bool) -> RunId {
        let identity = self.engine.identity();
        let rita = identity.person_by_email("rita@example.com").expect("Rita");
        let rita = identity.principal(&rita.id).expect("enabled");
        let new = NewRun {
            what: NewOrigin::Skill {
                text: text.to_owned(),
                inputs: Inputs::Values(Vec::new()),
                ignore_manifest: false,
            },
            flags: Flags {
                stage,
                ..Flags::default()
            },
            unattended: true,
            schedule: None,
            continues: None,
        };
        self.engine.start_run(&rita, new).await.expect("a run").id
    }

    /// A run, once it stands so.
    pub(crate) async fn run_until(&self, id: RunId, status: RunStatus) -> Arc<Run> {
        let identity = self.engine.identity();
        let otto = identity.person_by_email("otto@example.com").expect("Otto");
        let otto = identity.principal(&otto.id).expect("enabled");
        let mut run = self.engine.run(&otto, id).expect("the run");
        while run.status() != status {
            let known = run.events;
            let wait = std::time::Duration::from_secs(30);
            let moved = self.engine.wait_run(&otto, id, known, wait).await;
            run = moved.expect("the run");
            assert_ne!(run.events, known, "it stays so: {run:?}");
        }
        run
    }

    /// Lets the service ask for a refund.
    pub(crate) async fn refund(&self, order: &str, amount: i64) -> ActionId {
        let args = json!({ "order_id": order, "refund_ref": format!("r-{order}"),
            "amount_minor": amount, "currency": "EUR" });
        self.submit(&self.service, args, None).await
    }

    /// Lets the agent ask for something, in its own words.
    pub(crate) async fn agent_refund(&self, args: Value, reason: &str) -> ActionId {
        self.submit(&self.agent, args, Some(reason.to_owned()))
            .await
    }

    async fn submit(&self, by: &Principal, args: Value, reason: Option<String>) -> ActionId {
        let submission = Submission {
            tool: "issue_refund".to_owned(),
            args,
            reason,
            labels: BTreeMap::new(),
            expires_in: None,
            not_before: None,
            request_key: None,
        };
        match self
            .engine
            .submit(by, submission)
            .await
            .expect("it is taken on")
        {
            Submitted::Action { action, .. } => action.action.id,
            Submitted::Answered(_) => panic!("a refund is recorded"),
        }
    }

    /// The action as it is.
    pub(crate) fn action(&self, id: ActionId) -> Action {
        let sees_all = Principal {
            scopes: ["actions:read".to_owned()].into(),
            ..self.service.clone()
        };
        self.engine
            .get(&sees_all, id)
            .expect("the action is there")
            .action
    }

    pub(crate) fn page(&self, id: ActionId) -> String {
        format!("{}/actions/{id}", self.url)
    }

    pub(crate) fn close(self) {
        self.stop.cancel();
    }
}

fn tools(shop: &str, hold: &str) -> holdpoint_engine::tool::Registry {
    let file = json!({ "tools": { "issue_refund": {
        "description": "Refund part of an order to the customer's card",
        "safetyClass": "approval-bound",
        "input": { "type": "object", "required": ["order_id", "refund_ref", "amount_minor", "currency"] },
        "summary": "Refund {amount_minor|money:currency} to order {order_id}",
        "labels": ["order_id"],
        "idempotencyKey": "refund:{order_id}:{refund_ref}",
        "preconditions": [{ "rule": "state.refundable_minor >= args.amount_minor",
            "message": "more than is left to refund" }],
        "state": { "http": { "get": format!("{shop}/orders/{{order_id}}") },
            "watch": ["/status", "/refundable_minor"] },
        "execute": { "http": { "post": format!("{shop}/refunds"),
            "json": { "order": "{order_id}", "amount": "{amount_minor}" },
            "headers": { "If-Match": "{state_etag}" } } },
        "check": { "http": { "get": format!("{shop}/refunds?key={{idempotency_key}}") },
            "happened": "size(body.refunds) > 0" },
        "requestLifetime": "1s",
        "approval": { "required": 1, "groups": ["finance"], "hold": hold,
            "rules": [{ "when": "args.amount_minor > 50000", "required": 2,
                "reason": "above 500.00" }] }
    }, "read_price": {
        "safetyClass": "idempotent", "execute": { "local": "price" }
    }, "close_account": {
        "safetyClass": "irreversible",
        "summary": "Close account {id}",
        "execute": { "http": { "post": format!("{shop}/accounts"), "json": { "close": "{id}" } } }
    }, "ship": {
        "safetyClass": "write-once-checkable",
        "idempotencyKey": "ship:{order_id}",
        "summary": "Ship order {order_id}"
    } } });
    let file = ToolsFile::from_str(&file.to_string(), Format::Json).expect("the tools are valid");
    file.registry
}

async fn person(engine: &Engine, name: &str, role: Role, group: Option<&str>) {
    let new = NewPerson {
        email: format!("{}@example.com", name.to_lowercase()),
        name: name.to_owned(),
        roles: [role].into(),
        groups: group.map(str::to_owned).into_iter().collect(),
        scopes: std::collections::BTreeSet::new(),
        attributes: BTreeMap::new(),
        password: Some(Secret::new(PASSWORD)),
    };
    engine
        .identity()
        .create_person("cli", new)
        .await
        .expect("a person");
}

async fn key(engine: &Engine, name: &str, kind: PrincipalKind) -> Principal {
    let identity = engine.identity();
    let owner = identity
        .person_by_email("rita@example.com")
        .expect("Rita is there");
    let new = NewKey {
        name: name.to_owned(),
        kind,
        owner: owner.id,
        scopes: ["work:ship".to_owned()].into(),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (_, secret) = identity.create_key("cli", new).await.expect("a key");
    identity
        .authenticate_key(secret.expose())
        .await
        .expect("the key is good")
}

/// An endpoint on this machine, which is refused: its page shows what failed.
async fn endpoint(engine: &Engine) -> EndpointId {
    let root = engine.identity().person_by_email("root@example.com");
    let root = engine.identity().principal(&root.expect("root").id);
    let root = root.expect("enabled");
    let new = NewEndpoint {
        name: "orders".to_owned(),
        url: "https://127.0.0.1:9/a/long/path/that/must/wrap/on/a/small/telephone/hook".to_owned(),
        types: ["action.staged".to_owned(), "action.succeeded".to_owned()].into(),
        ..NewEndpoint::default()
    };
    let (endpoint, _) = engine
        .create_webhook(&root, new)
        .await
        .expect("an endpoint");
    engine
        .test_webhook(&root, endpoint.id)
        .await
        .expect("tried");
    endpoint.id
}

//! A server with people, keys and tools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Body;
use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::{Engine, Options, RunOptions, WebhookOptions};
use holdpoint_engine::identity::{NewKey, NewPerson, Role, Secret, SessionKind};
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::target::{LocalCall, LocalError, Locals};
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_engine::webhook::{EndpointId, MessageId, NewEndpoint, SigningKey};
use holdpoint_storage::MemoryLog;
use holdpoint_web::{AppState, WebConfig, router};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const PASSWORD: &str = "correct horse battery staple";

const TOOLS: &str = r#"{ "tools": {
    "issue_refund": {
        "safetyClass": "approval-bound", "labels": ["order_id"],
        "input": { "type": "object", "required": ["order_id"],
                   "properties": { "order_id": { "type": "string" }, "amount": { "type": "number" } } },
        "idempotencyKey": "refund:{order_id}", "execute": { "local": "refund" },
        "summary": "Refund order {order_id}" },
    "issue_grant": { "safetyClass": "approval-bound", "requiredScopes": ["grants:write"] },
    "pay_both": { "safetyClass": "approval-bound", "approval": { "required": 2 } },
    "ship": { "safetyClass": "write-once-checkable" },
    "lookup": { "safetyClass": "idempotent", "execute": { "local": "lookup" } },
    "hang": { "safetyClass": "idempotent", "execute": { "local": "hang" } },
    "lose": { "safetyClass": "irreversible", "execute": { "local": "lose" } } } }"#;

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// The status and the code of a problem, for short comparisons.
    pub(crate) fn problem(&self) -> (u16, String) {
        let code = self.json()["code"].as_str().unwrap_or("none").to_owned();
        (self.status.as_u16(), code)
    }
}

/// The server, and a token for everybody in it.
pub(crate) struct World {
    pub(crate) router: Router,
    pub(crate) state: AppState,
    pub(crate) tokens: BTreeMap<&'static str, String>,
    pub(crate) ids: BTreeMap<&'static str, String>,
    orders: AtomicU32,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(WebConfig::default()).await
    }

    pub(crate) async fn with(config: WebConfig) -> Self {
        let locals = Locals::default()
            .with("refund", |call: LocalCall| async move {
                Ok(json!({"args": call.args}))
            })
            .with("lookup", |call: LocalCall| async move {
                Ok(json!({"balance": 5, "said": call.args["say"]}))
            })
            .with("hang", |_| std::future::pending())
            .with("lose", |_| async {
                Err(LocalError::Unknown("the answer was lost".into()))
            });
        let file = ToolsFile::from_str(TOOLS, Format::Json).expect("a tools file");
        let workflows = Workflows::default().with("waits", 1, async |ctx: Context, (): ()| {
            let (first, second) = (ctx.wait_for("paid").await, ctx.wait_for("paid").await);
            Ok::<_, Failure>(json!([first, second]))
        });
        let options = Options {
            locals,
            runs: RunOptions {
                workflows,
                ..RunOptions::default()
            },
            webhooks: WebhookOptions {
                key: Ok(SigningKey::random(&SystemEntropy).expect("random bytes")),
                ..WebhookOptions::default()
            },
            ..Options::default()
        };
        let engine = Engine::open(Arc::new(MemoryLog::new()), Arc::new(file.registry), options)
            .await
            .expect("an engine");
        let state = AppState::new(engine, config, None);
        let mut world = Self {
            router: router(state.clone()),
            state,
            tokens: BTreeMap::new(),
            ids: BTreeMap::new(),
            orders: AtomicU32::new(0),
        };
        for (name, role) in [
            ("admin", Role::Admin),
            ("approver", Role::Approver),
            ("approver2", Role::Approver),
            ("auditor", Role::Auditor),
            ("operator", Role::Operator),
            ("owner", Role::Requester),
        ] {
            world.person(name, role).await;
        }
        let grants: &[&str] = &["grants:write", "webhooks:write"];
        let works: &[&str] = &["grants:write", "webhooks:write", "work:*", "runs"];
        for (name, kind, owner, scopes) in [
            ("service", PrincipalKind::Service, "owner", works),
            ("agent", PrincipalKind::Agent, "admin", grants),
            ("stranger", PrincipalKind::Service, "auditor", &[]),
            ("worker2", PrincipalKind::Service, "owner", &["work:ship"]),
        ] {
            world.key(name, kind, owner, scopes).await;
        }
        world
    }

    async fn person(&mut self, name: &'static str, role: Role) {
        let identity = self.state.engine.identity().clone();
        let email = format!("{name}@example.com");
        let new = NewPerson {
            email: email.clone(),
            name: name.to_owned(),
            roles: [role].into(),
            password: Some(Secret::new(PASSWORD)),
            ..NewPerson::default()
        };
        let person = identity.create_person("test", new).await.expect("a person");
        let password = Secret::new(PASSWORD);
        let from = format!("198.51.100.{}", self.ids.len());
        let session = identity
            .sign_in(&email, &password, &from, SessionKind::Api)
            .await;
        let (token, _, _) = session.expect("a session");
        self.ids.insert(name, person.id);
        self.tokens.insert(name, token.expose().to_owned());
    }

    async fn key(&mut self, name: &'static str, kind: PrincipalKind, owner: &str, scopes: &[&str]) {
        let new = NewKey {
            name: name.to_owned(),
            kind,
            owner: self.ids[owner].clone(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            attributes: BTreeMap::new(),
            expires_at: None,
        };
        let identity = self.state.engine.identity().clone();
        let (key, secret) = identity.create_key("test", new).await.expect("a key");
        self.ids.insert(name, key.id);
        self.tokens.insert(name, secret.expose().to_owned());
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).expect("UTF-8"),
        }
    }

    /// The status alone, of an answer that has no end.
    pub(crate) async fn status(&self, request: Request<Body>) -> StatusCode {
        self.router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer")
            .status()
    }

    /// A request of somebody; nobody is the empty name.
    pub(crate) fn request(
        &self,
        who: &str,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Request<Body> {
        let mut request = Request::builder().method(method).uri(path);
        if !who.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.tokens[who]));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or_else(Body::empty, |text| Body::from(text.to_owned()));
        request.body(body).expect("a request")
    }

    pub(crate) async fn call(
        &self,
        who: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let text = body.map(Value::to_string);
        self.send(self.request(who, method, path, text.as_deref()))
            .await
    }

    pub(crate) async fn get(&self, who: &str, path: &str) -> Answer {
        self.call(who, "GET", path, None).await
    }

    pub(crate) async fn post(&self, who: &str, path: &str, body: &Value) -> Answer {
        self.call(who, "POST", path, Some(body)).await
    }

    /// A body for an action that nobody has proposed yet.
    pub(crate) fn refund(&self) -> Value {
        let order = self.orders.fetch_add(1, Ordering::Relaxed);
        json!({"tool": "issue_refund", "args": {"order_id": format!("o{order}")}})
    }

    /// A skill file that reads and then pays, of an order that nobody has named yet.
    pub(crate) fn skill(&self) -> String {
        let order = self.orders.fetch_add(1, Ordering::Relaxed);
        format!(
            r#"---
name: pay-back
description: Pay the balance back
inputs: {{"why": {{"type": "string", "default": "late"}}, "token": {{"secret": true}}}}
---

### Step 1 — Look the balance up
- intent: Know how much it is
- action: lookup {{"say": "{{{{why}}}}"}}
- assert: json.balance is number
- bind: balance = json.balance

### Step 2 — Pay it back
- intent: The customer waited for too long
- action: issue_refund {{"order_id": "o{order}", "amount": "{{{{balance}}}}"}}
"#
        )
    }

    /// A run of the service that waits for people.
    pub(crate) async fn run(&self) -> Value {
        let body = json!({"skill": self.skill(), "stage": true});
        let answer = self.post("service", "/v1/runs", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        self.run_until(answer.json(), "waiting").await
    }

    /// A run, once it has the status.
    pub(crate) async fn run_until(&self, mut run: Value, status: &str) -> Value {
        let id = run["id"].as_str().expect("an id").to_owned();
        while run["status"] != status {
            let path = format!("/v1/runs/{id}?wait=10s&after={}", run["events"]);
            let next = self.get("auditor", &path).await.json();
            assert_ne!(next["events"], run["events"], "it stays so: {next}");
            run = next;
        }
        run
    }

    /// What makes a schedule that is due once a year.
    pub(crate) fn schedule_body(&self) -> Value {
        json!({
            "name": "yearly", "cron": "0 0 1 1 *", "zone": "Europe/Berlin",
            "run": { "skill": self.skill(), "stage": true },
        })
    }

    /// A schedule of the service.
    pub(crate) async fn schedule(&self) -> Value {
        let body = self.schedule_body();
        self.post("service", "/v1/schedules", &body).await.json()
    }

    /// A staged action of the service.
    pub(crate) async fn staged(&self) -> Value {
        let answer = self.post("service", "/v1/actions", &self.refund()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()
    }

    /// A webhook endpoint of the service, and a message to it that was not taken: its address is
    /// refused, so that nothing leaves.
    pub(crate) async fn endpoint(&self) -> (EndpointId, MessageId) {
        let engine = &self.state.engine;
        let admin = engine.identity().principal(&self.ids["admin"]);
        let admin = admin.expect("enabled");
        let new = NewEndpoint {
            owner: self.ids["service"].clone(),
            name: "orders".to_owned(),
            url: "https://127.0.0.1:9/hook".to_owned(),
            ..NewEndpoint::default()
        };
        let (endpoint, _) = engine.create_webhook(&admin, new).await.expect("created");
        let records = engine.log().read_all(0, 100_000).expect("the log");
        let staged = records.iter().rfind(|it| it.kind == "action.staged");
        let id = MessageId::Event {
            endpoint: endpoint.id,
            position: staged.expect("something was staged").position,
        };
        engine.redeliver_webhook(&admin, id).await.expect("tried");
        (endpoint.id, id)
    }

    pub(crate) async fn delete_endpoint(&self, id: EndpointId) -> bool {
        let engine = &self.state.engine;
        let admin = engine.identity().principal(&self.ids["admin"]);
        let admin = admin.expect("enabled");
        engine.delete_webhook(&admin, id, "tidy").await.is_ok()
    }

    /// An action whose outcome is unknown.
    pub(crate) async fn unknown(&self) -> Value {
        let order = self.orders.fetch_add(1, Ordering::Relaxed);
        let body = json!({"tool": "lose", "args": {"n": order}});
        let answer = self.post("service", "/v1/actions", &body).await;
        let mut action = answer.json();
        while action["status"] != "unknown" {
            let path = format!("{}?wait=1s", path(&action));
            action = self.get("service", &path).await.json();
        }
        action
    }
}

/// Where an action is.
pub(crate) fn path(action: &Value) -> String {
    format!("/v1/actions/{}", action["id"].as_str().expect("an id"))
}

/// A vote on an action as it was shown.
pub(crate) fn vote(action: &Value, vote: &str) -> Value {
    let mut body = json!({
        "vote": vote, "reason": "because", "digest": action["digest"], "revision": action["revision"],
    });
    if let Some(snapshot) = action["snapshot"].as_object() {
        body["snapshot_digest"] = snapshot["digest"].clone();
    }
    body
}

//! A small real shop on loopback, with a tools file over it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
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
    /// The state query is heard, and never answered.
    pub(crate) state_silent: bool,
    pub(crate) check_mood: Option<u16>,
    pub(crate) refundable: i64,
    pub(crate) version: u64,
    /// Amounts by idempotency key, one entry for each that took effect.
    pub(crate) refunds: Vec<(String, i64)>,
    /// Every request to `POST /refunds`, done or not.
    pub(crate) posts: Vec<(HeaderMap, Value)>,
    /// The bodies of these, as they came.
    pub(crate) bodies: Vec<String>,
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
    if lock(&books).state_silent {
        std::future::pending::<()>().await;
    }
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
    let came = body.clone();
    let body: Value = serde_json::from_str(&body).unwrap_or(Value::String(body));
    let mood = {
        let mut books = lock(&books);
        books.bodies.push(came);
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
        "keeps_keys": {
            "safetyClass": "write-once-checkable", "execute": execute, "requestLifetime": "0s",
            "keyRetention": "1h",
        },
        "pulled": { "safetyClass": "write-once-checkable" },
        "own_tenant": {
            "safetyClass": "irreversible", "identity": "caller.tenant == args.tenant",
            "execute": execute,
        },
    } })
}

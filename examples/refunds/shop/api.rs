//! The shop's HTTP interface.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::books::{Books, Note, Refund};
use super::write::write;
use super::{Shop, page};

/// Larger bodies are refused unread.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// All routes.
pub(super) fn router(shop: Shop) -> Router {
    Router::new()
        .route(
            "/",
            get(async |State(shop): State<Shop>| Html(page::render(&shop))),
        )
        .route("/orders/{id}", get(order))
        .route("/orders/{id}/notes", post(write_note))
        .route("/refunds", get(refunds_by_key).post(make_refund))
        .route("/notes", get(notes_by_key))
        .route("/counts", get(counts))
        .route("/switches/orders/{id}", post(change_order))
        .route("/switches/{name}", post(switch))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(shop)
}

/// An answer that is decided while the books are open: a status and a body.
pub(super) type Decided = (u16, Value);

#[derive(Deserialize)]
struct ByKey {
    key: String,
}

async fn order(State(shop): State<Shop>, headers: HeaderMap, Path(id): Path<String>) -> Response {
    if let Some(no) = unauthorised(&shop, &headers) {
        return no;
    }
    match shop.ledger.read().orders.get(&id) {
        Some(order) => ([(header::ETAG, order.etag())], Json(order)).into_response(),
        None => answer(404, &json!({ "error": "there is no such order" })),
    }
}

async fn refunds_by_key(
    State(shop): State<Shop>,
    headers: HeaderMap,
    Query(by): Query<ByKey>,
) -> Response {
    if let Some(no) = unauthorised(&shop, &headers) {
        return no;
    }
    let books = shop.ledger.read();
    let found: Vec<_> = books
        .refunds
        .iter()
        .filter(|refund| refund.key == by.key)
        .collect();
    answer(200, &json!({ "refunds": found }))
}

async fn notes_by_key(
    State(shop): State<Shop>,
    headers: HeaderMap,
    Query(by): Query<ByKey>,
) -> Response {
    if let Some(no) = unauthorised(&shop, &headers) {
        return no;
    }
    let books = shop.ledger.read();
    let found: Vec<_> = books
        .notes
        .iter()
        .filter(|note| note.key == by.key)
        .collect();
    answer(200, &json!({ "notes": found }))
}

/// How often each key was called for, and how often something was done under it. Open to all.
async fn counts(State(shop): State<Shop>) -> Response {
    let books = shop.ledger.read();
    let keys: BTreeMap<_, _> = books
        .calls
        .iter()
        .map(|(key, calls)| {
            (
                key,
                json!({ "calls": calls, "effects": books.effects(key) }),
            )
        })
        .collect();
    let orders: BTreeMap<_, _> = books
        .orders
        .keys()
        .map(|id| (id, books.refunds_of(id)))
        .collect();
    answer(200, &json!({ "keys": keys, "refunds_by_order": orders }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefundBody {
    order: String,
    amount: i64,
    #[serde(default)]
    currency: Option<String>,
}

async fn make_refund(State(shop): State<Shop>, headers: HeaderMap, bytes: Bytes) -> Response {
    let body: RefundBody = match serde_json::from_slice(&bytes) {
        Ok(body) => body,
        Err(error) => return answer(400, &json!({ "error": format!("not a refund: {error}") })),
    };
    let if_match = headers
        .get(header::IF_MATCH)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    write(
        shop,
        headers,
        format!("refund {}", String::from_utf8_lossy(&bytes)),
        move |books, key| refund(books, key, &body, if_match.as_deref()),
    )
    .await
}

/// Makes a refund, or says why not.
fn refund(books: &mut Books, key: &str, body: &RefundBody, if_match: Option<&str>) -> Decided {
    let number = books.refunds.len() + 1;
    let Some(order) = books.orders.get_mut(&body.order) else {
        return (404, json!({ "error": "there is no such order" }));
    };
    if if_match.is_some_and(|wanted| wanted != "*" && wanted != order.etag()) {
        return (
            412,
            json!({ "error": "the order has changed", "etag": order.etag() }),
        );
    }
    if body
        .currency
        .as_ref()
        .is_some_and(|currency| *currency != order.currency)
    {
        return (
            422,
            json!({ "error": "the order was paid in another currency" }),
        );
    }
    if order.status != "paid" {
        return (
            422,
            json!({ "error": format!("the order is {}", order.status) }),
        );
    }
    if body.amount < 1 || order.refundable_minor < body.amount {
        return (
            422,
            json!({ "error": "more than is left to refund", "left": order.refundable_minor }),
        );
    }
    order.refundable_minor -= body.amount;
    order.version += 1;
    let made = Refund {
        id: format!("rf_{number}"),
        key: key.to_owned(),
        order: body.order.clone(),
        amount_minor: body.amount,
    };
    let answer = json!({ "refund": made });
    books.refunds.push(made);
    (201, answer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteBody {
    text: String,
}

async fn write_note(
    State(shop): State<Shop>,
    Path(order): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let body: NoteBody = match serde_json::from_slice(&bytes) {
        Ok(body) => body,
        Err(error) => return answer(400, &json!({ "error": format!("not a note: {error}") })),
    };
    write(
        shop,
        headers,
        format!("note {order} {}", body.text),
        move |books, key| {
            if !books.orders.contains_key(&order) {
                return (404, json!({ "error": "there is no such order" }));
            }
            let id = format!("nt_{}", books.notes.len() + 1);
            let note = Note {
                id,
                key: key.to_owned(),
                order,
                text: body.text,
            };
            let answer = json!({ "note": note });
            books.notes.push(note);
            (201, answer)
        },
    )
    .await
}

#[derive(Deserialize)]
struct OrderChange {
    refundable_minor: Option<i64>,
    status: Option<String>,
}

/// What a clerk at the counter would do: the order changes, and nobody tells Holdpoint.
async fn change_order(
    State(shop): State<Shop>,
    Path(id): Path<String>,
    Query(change): Query<OrderChange>,
) -> Response {
    let changed = tokio::task::spawn_blocking(move || {
        shop.ledger.change(|books| {
            let order = books.orders.get_mut(&id)?;
            order.refundable_minor = change.refundable_minor.unwrap_or(order.refundable_minor);
            order.status = change.status.unwrap_or_else(|| order.status.clone());
            order.version += 1;
            Some(order.clone())
        })
    });
    match changed.await {
        Ok(Ok(Some(order))) => answer(200, &json!(order)),
        Ok(Ok(None)) => answer(404, &json!({ "error": "there is no such order" })),
        Ok(Err(_)) | Err(_) => answer(500, &json!({ "error": "the books cannot be written" })),
    }
}

#[derive(Deserialize)]
struct SwitchSetting {
    #[serde(default = "once_only")]
    times: u64,
    #[serde(default)]
    ms: u64,
    #[serde(default = "yes")]
    on: bool,
}

fn once_only() -> u64 {
    1
}

fn yes() -> bool {
    true
}

async fn switch(
    State(shop): State<Shop>,
    Path(name): Path<String>,
    Query(setting): Query<SwitchSetting>,
    headers: HeaderMap,
) -> Response {
    let switches = &shop.switches;
    match name.as_str() {
        "lose-answer" => switches.lose_answers(setting.times),
        "fail-after" => switches.fail_after(setting.times),
        "refuse" => switches.refuse(setting.times),
        "slow" => switches.slow(setting.ms),
        "forget-keys" => switches.forget_keys(setting.on),
        "reset" => {
            switches.lose_answers(0);
            switches.fail_after(0);
            switches.refuse(0);
            switches.slow(0);
            switches.forget_keys(false);
        }
        _ => {
            let known = "lose-answer, fail-after, refuse, slow, forget-keys, reset";
            return answer(
                404,
                &json!({ "error": format!("the switches are {known}") }),
            );
        }
    }
    let from_the_page = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    if from_the_page {
        return Redirect::to("/").into_response();
    }
    answer(200, &json!({ "switches": switches.describe() }))
}

/// The refusal of whoever does not show the token.
pub(super) fn unauthorised(shop: &Shop, headers: &HeaderMap) -> Option<Response> {
    let shown = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let right = shown
        .and_then(|shown| shown.strip_prefix("Bearer "))
        .is_some_and(|token| *token == *shop.token);
    (!right).then(|| answer(401, &json!({ "error": "show the bearer token" })))
}

pub(super) fn answer(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(body)).into_response()
}

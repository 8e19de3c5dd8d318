//! What is the same for everything that the shop is asked to do.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::api::{Decided, answer, unauthorised};
use super::books::{Answered, Books};
use super::switches::Mishap;
use super::{DropConnection, Shop};

/// Everything that is the same for all writes: the token, the key, the switches, and that the work
/// is finished even when the client is gone.
pub(super) async fn write(
    shop: Shop,
    headers: HeaderMap,
    request: String,
    work: impl FnOnce(&mut Books, &str) -> Decided + Send + 'static,
) -> Response {
    if let Some(no) = unauthorised(&shop, &headers) {
        return no;
    }
    let key = headers
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok());
    let Some(key) = key
        .map(|key| key.trim_matches('"').to_owned())
        .filter(|key| !key.is_empty())
    else {
        return answer(400, &json!({ "error": "an Idempotency-Key is required" }));
    };
    // A task of its own: a client that hangs up does not stop what has begun.
    let working = tokio::spawn(async move {
        let mishap = shop.switches.next();
        tokio::time::sleep(shop.switches.delay()).await;
        let forget = shop.switches.forgets_keys();
        let ledger = shop.ledger;
        let done = tokio::task::spawn_blocking(move || {
            ledger.change(|books| once(books, key, request, forget, mishap, work))
        });
        let decided = match done.await {
            Ok(Ok(decided)) => decided,
            Ok(Err(_)) | Err(_) => (500, json!({ "error": "the books cannot be written" })),
        };
        (mishap, decided)
    });
    match working.await {
        Ok((Mishap::LoseAnswer, _)) => {
            let mut lost = StatusCode::OK.into_response();
            lost.extensions_mut().insert(DropConnection);
            lost
        }
        Ok((Mishap::None | Mishap::Refuse, (status, body))) => answer(status, &body),
        Ok((Mishap::FailAfter, _)) | Err(_) => {
            answer(500, &json!({ "error": "something went wrong" }))
        }
    }
}

/// Does the work under a key once: the same request gets the first answer again, another is refused.
fn once(
    books: &mut Books,
    key: String,
    request: String,
    forget: bool,
    mishap: Mishap,
    work: impl FnOnce(&mut Books, &str) -> Decided,
) -> Decided {
    *books.calls.entry(key.clone()).or_default() += 1;
    if let Some(first) = books.answers.get(&key).filter(|_| !forget) {
        if first.request == request {
            return (first.status, first.body.clone());
        }
        return (
            422,
            json!({ "error": "this key was used for another request" }),
        );
    }
    if mishap == Mishap::Refuse {
        return (422, json!({ "error": "the shop does not want to" }));
    }
    let (status, body) = work(books, &key);
    if status < 300 {
        books.answers.insert(
            key,
            Answered {
                request,
                status,
                body: body.clone(),
            },
        );
    }
    (status, body)
}

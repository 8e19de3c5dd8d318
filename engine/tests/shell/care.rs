//! Where a little less care would do harm: connections, evidence, what happens in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use holdpoint_engine::action::{ActionId, AttemptResult, Status};
use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::target::{Answer, Body, CallError, Outgoing, Target};
use holdpoint_storage::MemoryLog;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{Scene, Shop, alice, open_with, service};

async fn scene(tools: &Value, target: Option<Arc<dyn Target>>) -> Scene {
    let log = Arc::new(MemoryLog::new());
    let options = Options {
        target,
        ..Options::default()
    };
    Scene {
        shop: Shop::open().await,
        engine: open_with(log.clone(), tools, None, options).await,
        log,
        clock: None,
    }
}

fn answer(body: &Value) -> Answer {
    Answer {
        status: 200,
        etag: None,
        body: Body::Whole(body.to_string().into_bytes()),
    }
}

/// Answers one request after another for as long as the connection is kept.
async fn keep(mut stream: TcpStream) {
    let mut request = Vec::new();
    while stream.read_buf(&mut request).await.is_ok_and(|n| 0 < n) {
        if request.ends_with(b"}") {
            request.clear();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            if stream.write_all(answer).await.is_err() {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_every_call_has_a_connection_of_its_own() {
    const CALLS: usize = 5;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(keep(stream));
        }
    });
    let url = format!("http://{address}/pay");
    let tools = json!({ "tools": { "pay": {
        "safetyClass": "irreversible",
        "execute": { "http": { "post": url, "json": { "a": "{a}" } } },
    } } });
    let scene = scene(&tools, None).await;
    for number in 0..CALLS {
        let view = scene.submit("pay", json!({ "a": number })).await;
        scene.until(view.action.id, Status::Succeeded).await;
    }
    // A kept connection can be dead, and then the client below would have to send again.
    assert_eq!(connections.load(Ordering::SeqCst), CALLS);
}

/// Loses every call, and knows only of what somebody else did.
struct Forgetful;

#[async_trait]
impl Target for Forgetful {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        if outgoing.method == "GET" {
            let other = json!({ "key": "of somebody else", "amount": 1200 });
            return Ok(answer(&json!({ "refunds": [other] })));
        }
        Err(CallError::Unknown("lost".to_owned()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_another_effect_of_the_same_amount_is_no_evidence() {
    let tools = json!({ "tools": { "refund": {
        "safetyClass": "write-once-checkable",
        "execute": {
            "http": { "post": "https://shop.example/refunds", "json": { "amount": "{amount}" } },
            "timeout": "100ms",
            "retry": { "attempts": 1, "backoff": "1ms..1ms" },
        },
        "check": {
            "http": { "get": "https://shop.example/refunds" },
            "happened": "body.refunds.exists(it, it.key == idempotency_key)",
            "settle": "10ms",
        },
        "requestLifetime": "0s",
    } } });
    let scene = scene(&tools, Some(Arc::new(Forgetful))).await;
    let view = scene.submit("refund", json!({ "amount": 1200 })).await;
    let is_known = |result: &Option<AttemptResult>| {
        matches!(result, Some(AttemptResult::Done | AttemptResult::NotDone))
    };
    let ended = scene
        .until_that(view.action.id, |view| {
            let mut attempts = view.action.attempts.iter();
            attempts.any(|attempt| is_known(&attempt.result))
        })
        .await;
    assert_eq!(
        ended.action.attempts[0].result,
        Some(AttemptResult::NotDone),
        "the refund that was found is not ours"
    );
}

/// While it is asked for the state for the second time, the requester cancels.
#[derive(Default)]
struct Meddling {
    action: OnceLock<(Engine, ActionId)>,
    reads: AtomicUsize,
    posts: AtomicUsize,
}

#[async_trait]
impl Target for Meddling {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        if outgoing.method == "POST" {
            self.posts.fetch_add(1, Ordering::SeqCst);
            return Ok(answer(&json!({ "id": 1 })));
        }
        if self.reads.fetch_add(1, Ordering::SeqCst) == 1 {
            let (engine, id) = self.action.get().expect("it is staged");
            let cancelled = engine.cancel(&service(), *id, None).await;
            assert!(cancelled.is_ok(), "{cancelled:?}");
        }
        Ok(answer(&json!({ "left": 5000 })))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_cancel_during_the_revalidation_wins_over_the_commit() {
    let tools = json!({ "tools": { "refund": {
        "safetyClass": "approval-bound",
        "concurrency": 1,
        "state": { "http": { "get": "https://shop.example/orders/1" } },
        "execute": { "http": { "post": "https://shop.example/refunds", "json": { "a": "{a}" } } },
    } } });
    let target = Arc::new(Meddling::default());
    let scene = scene(&tools, Some(target.clone())).await;
    let view = scene.submit("refund", json!({ "a": 1 })).await;
    let known = target.action.set((scene.engine.clone(), view.action.id));
    assert!(known.is_ok());
    scene.approve(&alice(), &view).await;
    scene.until(view.action.id, Status::Cancelled).await;

    // One at a time: this one is called when whatever became of the first one is over.
    let next = scene.submit("refund", json!({ "a": 2 })).await;
    scene.approve(&alice(), &next).await;
    scene.until(next.action.id, Status::Succeeded).await;
    let after = scene.engine.get(&service(), view.action.id);
    let after = after.expect("it is there").action.status();
    let posts = target.posts.load(Ordering::SeqCst);
    assert_eq!((after, posts), (Status::Cancelled, 1), "nothing left");
}

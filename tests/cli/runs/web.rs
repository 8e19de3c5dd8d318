//! A server on this machine that counts who connects and what is sent.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use serde_json::{Value, json};

/// A call that is no read.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) key: String,
    pub(crate) token: String,
    pub(crate) body: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Web {
    pub(crate) address: String,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    calls: Arc<Mutex<Vec<Call>>>,
    held: Arc<AtomicBool>,
    slowness: Arc<AtomicU64>,
    left: Arc<AtomicUsize>,
    /// What it answers to what is no read, in place of an echo.
    says: Arc<Mutex<Option<Value>>>,
}

impl Web {
    pub(crate) fn open() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let web = Self {
            address: format!("http://{}", listener.local_addr().expect("bound")),
            left: Arc::new(AtomicUsize::new(5000)),
            ..Self::default()
        };
        let router = Router::new().fallback(answer).with_state(web.clone());
        let connections = Arc::clone(&web.connections);
        std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(async {
                    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                    let listener = listener.tap_io(move |_| {
                        connections.fetch_add(1, Ordering::SeqCst);
                    });
                    axum::serve(listener, router).await.expect("serves");
                });
        });
        web
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many requests arrived, answered or not.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// What was done.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("not poisoned").clone()
    }

    /// Whether requests wait before anything is done.
    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::SeqCst);
    }

    /// How long, in milliseconds, a request takes before and after something is done.
    pub(crate) fn slow_down(&self, millis: u64) {
        self.slowness.store(millis, Ordering::SeqCst);
    }

    /// Answers everything that is no read with this.
    pub(crate) fn say(&self, answer: Value) {
        *self.says.lock().expect("not poisoned") = Some(answer);
    }

    /// Changes the order behind everybody's back.
    pub(crate) fn set_left(&self, left: usize) {
        self.left.store(left, Ordering::SeqCst);
    }
}

async fn answer(
    State(web): State<Web>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Json<Value> {
    web.requests.fetch_add(1, Ordering::SeqCst);
    let rest = Duration::from_millis(web.slowness.load(Ordering::SeqCst));
    if method == Method::GET && uri.path() == "/last" {
        let last = web.calls().pop();
        return Json(last.map(|call| call.body).unwrap_or_default());
    }
    if method == Method::GET {
        let Some(key) = uri.path().strip_prefix("/done/") else {
            let left = web.left.load(Ordering::SeqCst);
            return Json(json!({ "version": "1.2.3", "size": 5, "left": left }));
        };
        let done = web
            .calls()
            .iter()
            .any(|call| call.key == key.replace("%3A", ":"));
        return Json(json!({ "done": done }));
    }
    while web.held.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(rest).await;
    let header = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let call = Call {
        method: method.to_string(),
        path: uri.to_string(),
        key: header("idempotency-key"),
        token: header("authorization"),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let echo = json!({ "ok": true, "token": call.token, "body": call.body });
    web.calls.lock().expect("not poisoned").push(call);
    tokio::time::sleep(rest).await;
    let says = web.says.lock().expect("not poisoned").clone();
    Json(says.unwrap_or(echo))
}

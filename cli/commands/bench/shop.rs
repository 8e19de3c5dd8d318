//! The other side: a shop on loopback that answers at once and says when it was called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::failure::{Failure, Outcome};

type Watched = Arc<Mutex<HashMap<String, oneshot::Sender<Instant>>>>;

/// A shop that serves until the process ends.
#[derive(Clone)]
pub(super) struct Shop {
    /// Where it is.
    pub(super) url: String,
    watched: Watched,
}

impl Shop {
    /// Opens it on a free port.
    pub(super) async fn open() -> Outcome<Self> {
        let failed = |error: std::io::Error| Failure::because("cannot open the shop", &error);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let watched = Watched::default();
        let router = Router::new()
            .route("/orders/{id}", get(order))
            .route("/refunds", post(refund))
            .with_state(Arc::clone(&watched));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, watched })
    }

    /// Tells when the refund of this order is called for.
    pub(super) fn watch(&self, order: &str) -> oneshot::Receiver<Instant> {
        let (send, called) = oneshot::channel();
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.insert(order.to_owned(), send);
        called
    }
}

async fn order(Path(id): Path<String>) -> Json<Value> {
    Json(json!({ "id": id, "left": 5000 }))
}

async fn refund(State(watched): State<Watched>, Json(body): Json<Value>) -> Json<Value> {
    let now = Instant::now();
    if let Some(order) = body.get("order").and_then(Value::as_str) {
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(send) = watched.remove(order) {
            // Whoever asked may have given up.
            let _ = send.send(now);
        }
    }
    Json(json!({ "refunded": true }))
}

//! A small shop service: the system that refunds are made in.
//!
//! It knows nothing of Holdpoint. It keeps its books in one file that survives a kill at any
//! moment, answers like a careful payment service (`ETag`, `If-Match`, `Idempotency-Key`, a lookup
//! by key), and has switches that make it misbehave in the ways that real services do. It counts
//! what each key was called for and what it caused, so that anybody can check the promises made
//! about it.

mod api;
mod books;
mod page;
mod switches;
mod write;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

pub(crate) use books::{Books, Ledger, Order};
pub(crate) use switches::Switches;

/// The shop's state, shared by its requests.
#[derive(Clone)]
pub(crate) struct Shop {
    /// Its books.
    pub(crate) ledger: Arc<Ledger>,
    /// How it misbehaves at the moment; forgotten when it stops.
    pub(crate) switches: Arc<Switches>,
    /// The bearer token that its clients show.
    token: Arc<str>,
}

/// Marks an answer that never reaches the client: the connection is closed instead.
#[derive(Clone, Copy)]
struct DropConnection;

impl Shop {
    /// A shop whose books are in the file at `path`; they start with `orders` where it is missing.
    pub(crate) fn open(path: PathBuf, token: &str, orders: Vec<Order>) -> io::Result<Self> {
        Ok(Self {
            ledger: Arc::new(Ledger::open(path, orders)?),
            switches: Arc::new(Switches::default()),
            token: token.into(),
        })
    }

    /// Serves for as long as the process lives. What has begun is finished even when the client is gone.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let router = api::router(self);
        loop {
            // A connection that failed before it began concerns nobody else.
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, router.clone()));
            }
        }
    }
}

/// Serves one connection. hyper directly, as only here a connection can be closed without an answer.
async fn connection(stream: TcpStream, router: axum::Router) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move {
            let Ok(response) = router.oneshot(request.map(axum::body::Body::new)).await;
            if response.extensions().get::<DropConnection>().is_some() {
                return Err(io::Error::other("the connection is dropped on purpose"));
            }
            Ok(response)
        }
    });
    // However a connection ends is the client's to notice.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

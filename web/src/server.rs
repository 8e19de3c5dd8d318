//! The accept loop.
//!
//! Our own instead of `axum::serve`, which waits for a half-sent head for ever: here every
//! connection has a time limit for the head, which also ends idle ones, and there is a cap on
//! connections, in all and per address.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::middleware;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::api;
use crate::edge;
use crate::limits;
use crate::pages;
use crate::problem::{Code, Problem};
use crate::prompt::Prompt;
use crate::state::AppState;

/// Everything that is answered, with every layer: for [`serve`], and for tests without a socket.
pub fn router(state: AppState) -> Router {
    Router::new()
        .merge(api::routes())
        .merge(pages::router())
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(limits::BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(state.clone(), edge::request))
        .with_state(state)
}

async fn not_found() -> Problem {
    Problem::new(
        Code::NotFound,
        "there is nothing at this address; /docs lists what there is",
    )
}

/// Serves until `shutdown` is cancelled, then lets requests under way finish within
/// [`limits::DRAIN`]; event streams and long-polls end at once.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let stopping = state.stopping.clone();
    let gate = Gate::new(state.config.connections_max);
    let router = router(state);
    loop {
        let (stream, peer) = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // The system is short of something, or the client gave up; neither is the end.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(limits::ACCEPT_BACKOFF).await;
                    continue;
                }
            },
        };
        let Some(place) = gate.enter(peer.ip()) else {
            metrics::counter!("holdpoint_http_connections_refused_total").increment(1);
            continue;
        };
        tokio::spawn(connection(
            stream,
            peer,
            router.clone(),
            stopping.clone(),
            place,
        ));
    }
    drop(listener);
    stopping.cancel();
    if tokio::time::timeout(limits::DRAIN, gate.empty())
        .await
        .is_err()
    {
        tracing::warn!("some connections did not end in time and are cut");
    }
    Ok(())
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    stopping: CancellationToken,
    _place: Place,
) {
    // Answers are small and should leave at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move {
            let mut request = request.map(axum::body::Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            Ok::<_, Infallible>(match router.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            })
        }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HEADER_READ)
            .max_headers(limits::HEADERS_MAX)
            .max_buf_size(limits::HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(Prompt::new(stream)), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(limits::DRAIN, connection).await {
                Ok(ended) => ended,
                Err(_elapsed) => return,
            }
        }
    };
    if let Err(error) = ended {
        // Clients that vanish are everyday life.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Counts connections, in all and per address.
struct Gate {
    all: u32,
    places: Arc<Semaphore>,
    per_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A place in the server, given back when dropped.
struct Place {
    address: IpAddr,
    per_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Gate {
    fn new(connections_max: usize) -> Self {
        let connections_max = connections_max.clamp(1, limits::CONNECTIONS_MAX);
        Self {
            all: u32::try_from(connections_max).unwrap_or(u32::MAX),
            places: Arc::new(Semaphore::new(connections_max)),
            per_address: Arc::default(),
        }
    }

    fn enter(&self, address: IpAddr) -> Option<Place> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut counts = self
            .per_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_insert(0);
        if limits::CONNECTIONS_PER_ADDRESS_MAX <= *count {
            return None;
        }
        *count += 1;
        Some(Place {
            address,
            per_address: Arc::clone(&self.per_address),
            _permit: permit,
        })
    }

    async fn empty(&self) {
        // Fails only when the semaphore is closed, which nothing does.
        let _ = self.places.acquire_many(self.all).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self
            .per_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

//! What happens to every request: id, span, rate, origin, panic, time limit, headers.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use holdpoint_engine::time::{Clock as _, Entropy as _, SystemClock, SystemEntropy};
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, ORIGIN,
    REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method};
use tower::{Layer as _, ServiceExt as _};
use tower_http::csrf::CsrfLayer;
use tracing::{Instrument as _, field};

use crate::auth;
pub use crate::client::client_address;
use crate::limits;
use crate::problem::{Code, Problem};
use crate::shape::{Asked, is_api, shape};
use crate::state::{AppState, WebConfig};

/// What a page may load: its own files, and nothing from anywhere else.
pub const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// What anything else may load: nothing.
pub const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, for logs and problems.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Makes ids that sort by time and do not repeat, on one node or many.
#[derive(Debug)]
pub(crate) struct RequestIds {
    process: u32,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> Self {
        let mut random = [0; 4];
        let process = match SystemEntropy.fill(&mut random) {
            Ok(()) => u32::from_be_bytes(random),
            Err(_) => std::process::id(),
        };
        let next = AtomicU64::new(0);
        Self { process, next }
    }

    fn next(&self) -> RequestId {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        let (millis, process) = (SystemClock.now().0, self.process);
        RequestId(format!("req_{millis:012x}{process:08x}{count:08x}"))
    }
}

/// The outermost layer.
pub(crate) async fn request(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = state.request_ids.next();
    // Ids from outside are not taken: a client could make two requests look like one.
    request.headers_mut().remove(REQUEST_ID);
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    let (parts, body) = request.into_parts();
    let asked = Asked::of(&parts, id.clone());
    let request = Request::from_parts(parts, body);
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let span = tracing::info_span!(
        "request", id = %id.0, %method, %route, principal = field::Empty
    );
    let handled = AssertUnwindSafe(handle(&state, request, next)).catch_unwind();
    let response =
        match tokio::time::timeout(limits::HANDLER, handled.instrument(span.clone())).await {
            Ok(Ok(response)) => response,
            Ok(Err(_panic)) => {
                span.in_scope(|| tracing::error!("a handler panicked; the panic is logged above"));
                Problem::new(
                Code::Internal,
                "the request ran into a fault of the server; the log has it under the request_id",
            )
            .into_response()
            }
            Err(_elapsed) => Problem::new(
                Code::HandlerTimeout,
                "the server took too long; send the same request with the same Idempotency-Key",
            )
            .after(limits::RETRY)
            .into_response(),
        };
    let response = finish(response, &state, &asked).await;
    let status = response.status().as_u16();
    let seconds = started.elapsed().as_secs_f64();
    metrics::histogram!(
        "holdpoint_http_request_seconds",
        "method" => method_label(&method), "route" => route.clone(), "status" => status.to_string()
    )
    .record(seconds);
    span.in_scope(|| tracing::info!(status, seconds, "{method} {route} answered {status}"));
    response
}

/// Methods are free text on the wire; labels of metrics must be few.
fn method_label(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

async fn handle(state: &AppState, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(name) = repeated(&parts.headers) {
        let detail = format!("the header {name} is there more than once");
        return Problem::new(Code::BadRequest, detail).into_response();
    }
    let has_cookie = auth::read_cookie(&parts.headers, auth::cookie_name(&state.config)).is_some();
    let has_bearer = parts.headers.contains_key(AUTHORIZATION);
    let path = parts.uri.path();
    let has_credential = has_cookie || has_bearer;
    if (!has_credential || is_sign_in(&parts.method, path)) && !is_probe(path) {
        let address = client_address(&parts, &state.config);
        if let Err(wait) = state.rates.address(address) {
            return Problem::new(
                Code::RateLimited,
                "too many requests; wait and send it again",
            )
            .after(wait)
            .into_response();
        }
    }
    // Only the API prefers the header to the cookie: a page takes a cookie whatever else is sent,
    // and a browser may send the header by itself, to a proxy that asked for a password.
    let is_bearer_only = has_bearer && is_api(path);
    let request = Request::from_parts(parts, body);
    if is_bearer_only {
        return next.run(request).await;
    }
    let guarded = state.csrf.layer(next);
    match guarded.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// A header that decides who or what is meant, and is there twice: a proxy and we could each believe
/// another of the two.
fn repeated(headers: &HeaderMap) -> Option<HeaderName> {
    [HOST, ORIGIN, CONTENT_TYPE]
        .into_iter()
        .find(|name| headers.get_all(name).iter().nth(1).is_some())
}

/// What machines ask often and without a credential.
fn is_probe(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz" | "/metrics")
}

/// Where passwords and links are tried: no credential that is sent along makes guessing cheaper.
fn is_sign_in(method: &Method, path: &str) -> bool {
    method == Method::POST && matches!(path, "/v1/sessions" | "/sign-in" | "/sign-in/link")
}

/// The origin check for everything that a cookie can do.
pub(crate) fn csrf(config: &WebConfig) -> CsrfLayer {
    let layer = CsrfLayer::new();
    match &config.public_url {
        // A `PublicUrl` is always an origin, so that this adds it.
        Some(url) => layer.add_trusted_origin(url.origin()).unwrap_or_default(),
        None => layer,
    }
}

/// Gives errors their shape and every answer its headers.
async fn finish(response: Response, state: &AppState, asked: &Asked) -> Response {
    let mut response = shape(response, asked, state).await;
    let id = &asked.id;
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    secure(response.headers_mut(), &state.config);
    response
}

fn secure(headers: &mut HeaderMap, config: &WebConfig) {
    let is_page = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    let policy = if is_page { PAGE_POLICY } else { DATA_POLICY };
    let mut set = |name: HeaderName, value: &'static str| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, policy);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "same-origin");
    set(CACHE_CONTROL, "no-store");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    );
    if config.is_https() {
        set(STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}

#[cfg(test)]
#[path = "edge_tests.rs"]
mod tests;

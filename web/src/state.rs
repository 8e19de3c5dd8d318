//! What handlers share.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use holdpoint_engine::engine::Engine;
use http::Uri;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;
use tower_http::csrf::CsrfLayer;

use crate::edge::{self, RequestIds};
use crate::limits;
use crate::once::Once;
use crate::rate::RateLimits;

/// How the server presents itself. Checked when it is made, so that a server that starts works.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Where people and programs reach the server, where that is not the address it listens on.
    /// Only requests from this origin may use a cookie to change anything.
    pub public_url: Option<PublicUrl>,
    /// How many proxies of your own stand in front, each of which appends to `X-Forwarded-For`.
    /// With 0 the header is ignored, since anybody could have written it.
    pub proxy_hops: usize,
    /// How many requests one principal may make in a second, sustained; four times as many in a
    /// burst.
    pub requests_per_second: NonZeroU32,
    /// How many connections may be open at once: as many as there are file handles for, and at most
    /// [`limits::CONNECTIONS_MAX`].
    pub connections_max: usize,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            public_url: None,
            proxy_hops: 0,
            requests_per_second: limits::PRINCIPAL_PER_SECOND,
            connections_max: limits::CONNECTIONS_MAX,
        }
    }
}

impl WebConfig {
    /// Whether browsers reach the server over TLS. Decides the name of the session cookie, its
    /// `Secure` attribute, and whether `Strict-Transport-Security` is sent.
    pub fn is_https(&self) -> bool {
        self.public_url.as_ref().is_some_and(PublicUrl::is_https)
    }
}

/// The scheme, host and port under which the server is reached, without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
}

impl PublicUrl {
    /// As a browser sends it in `Origin`: `https://approvals.example.com`, never with a slash.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

/// The text is not the address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a public URL: write http:// or https://, a host, and no path")]
pub struct PublicUrlError {
    text: String,
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PublicUrlError { text: text.into() };
        let uri: Uri = text.parse().map_err(|_| error())?;
        let scheme = uri.scheme_str().ok_or_else(error)?;
        let default_port = match scheme {
            "https" => 443,
            "http" => 80,
            _ => return Err(error()),
        };
        let authority = uri.authority().ok_or_else(error)?;
        if authority.as_str().contains('@') || uri.path() != "/" || uri.query().is_some() {
            return Err(error());
        }
        // Browsers send the host in lower case and leave the default port out.
        let host = authority.host().to_ascii_lowercase();
        let origin = match authority.port_u16() {
            Some(port) if port != default_port => format!("{scheme}://{host}:{port}"),
            _ => format!("{scheme}://{host}"),
        };
        Ok(Self { origin })
    }
}

/// What every handler gets. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// The engine.
    pub engine: Engine,
    /// How the server presents itself.
    pub config: Arc<WebConfig>,
    /// Cancelled when the server stops; what waits for long must end then.
    pub stopping: CancellationToken,
    pub(crate) rates: Arc<RateLimits>,
    pub(crate) request_ids: Arc<RequestIds>,
    pub(crate) csrf: CsrfLayer,
    pub(crate) metrics: Option<PrometheusHandle>,
    pub(crate) once: Arc<Once>,
}

impl AppState {
    /// A state with fresh rate limits. `metrics` renders `/metrics`; the program that owns the
    /// process installs the recorder, once.
    pub fn new(engine: Engine, config: WebConfig, metrics: Option<PrometheusHandle>) -> Self {
        Self {
            engine,
            rates: Arc::new(RateLimits::new(config.requests_per_second)),
            csrf: edge::csrf(&config),
            config: Arc::new(config),
            request_ids: Arc::new(RequestIds::new()),
            stopping: CancellationToken::new(),
            metrics,
            once: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_written_as_browsers_send_an_origin() {
        for (text, origin) in [
            (
                "https://Approvals.Example.com",
                "https://approvals.example.com",
            ),
            ("https://a.example:443/", "https://a.example"),
            ("http://127.0.0.1:7070", "http://127.0.0.1:7070"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            let url: PublicUrl = text.parse().expect(text);
            assert_eq!(url.origin(), origin);
        }
    }

    #[test]
    fn a_public_url_with_a_path_a_user_or_another_scheme_is_refused() {
        for text in [
            "",
            "a.example",
            "ftp://a.example",
            "https://a.example/x",
            "https://u@a.example",
            "https://a.example?x",
        ] {
            assert!(text.parse::<PublicUrl>().is_err(), "{text}");
        }
    }
}

//! One connection that stays open, without what a general HTTP client adds to each request: the
//! load generator must cost little beside the server that it measures.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpStream;

use crate::failure::{Failure, Outcome};

/// How long one answer may take, beyond what the server was asked to wait.
const ANSWER_TIME: Duration = Duration::from_secs(90);

/// The longest answer that is read, in bytes: one action with its arguments, twice.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// `HOST:PORT`, as it is connected to and named in requests.
    authority: String,
    /// What comes before `/v1`; empty or `/prefix`.
    base: String,
}

impl Place {
    /// Of an `http` URL.
    pub(super) fn of(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(80);
        Self {
            authority: format!("{host}:{port}"),
            base: url.path().trim_end_matches('/').to_owned(),
        }
    }
}

/// An answer.
pub(super) struct Answer {
    /// The HTTP status.
    pub(super) status: u16,
    /// How long the server asks to wait before the next request, where it does.
    pub(super) retry_after: Option<Duration>,
    /// The body.
    pub(super) body: Bytes,
}

/// A request to `/v1` and below.
pub(super) struct Ask<'a> {
    /// The method.
    pub(super) method: Method,
    /// Such as `/v1/actions`.
    pub(super) path: &'a str,
    /// An API key or a session token.
    pub(super) token: &'a str,
    /// For the header of that name.
    pub(super) idempotency_key: Option<&'a str>,
    /// JSON.
    pub(super) body: Option<&'a str>,
}

/// One connection, opened anew where the server closed it.
pub(super) struct Connection {
    place: Place,
    sender: SendRequest<String>,
}

impl Connection {
    /// Connects. Must be called on the runtime that the requests are sent from.
    pub(super) async fn open(place: Place) -> Outcome<Self> {
        let sender = connect(&place).await?;
        Ok(Self { place, sender })
    }

    /// Sends a request and reads the answer, whatever its status.
    pub(super) async fn send(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        if self.sender.ready().await.is_err() {
            self.sender = connect(&self.place).await?;
        }
        let mut request = Request::builder()
            .method(&ask.method)
            .uri(format!("{}{}", self.place.base, ask.path))
            .header(header::HOST, &self.place.authority)
            .header(header::AUTHORIZATION, format!("Bearer {}", ask.token));
        if let Some(key) = ask.idempotency_key {
            request = request.header("Idempotency-Key", format!("\"{key}\""));
        }
        if ask.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request
            .body(ask.body.unwrap_or_default().to_owned())
            .map_err(|_| Failure::usage("the token or the address cannot be sent over HTTP"))?;
        tokio::time::timeout(ANSWER_TIME, self.exchange(request))
            .await
            .map_err(|_| self.failed("did not answer in time"))?
    }

    async fn exchange(&mut self, request: Request<String>) -> Outcome<Answer> {
        let response = self.sender.send_request(request).await.map_err(|error| {
            Failure::because(
                format!("the connection to {} broke", self.place.authority),
                &error,
            )
        })?;
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.parse().ok())
            .map(Duration::from_secs);
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await
            .map_err(|error| {
                self.failed("broke off its answer")
                    .detail(error.to_string())
            })?
            .to_bytes();
        Ok(Answer {
            status,
            retry_after,
            body,
        })
    }

    fn failed(&self, what: &str) -> Failure {
        Failure::failed(format!("the server at {} {what}", self.place.authority))
    }
}

async fn connect(place: &Place) -> Outcome<SendRequest<String>> {
    let unreachable = |error: &(dyn std::error::Error + 'static)| {
        Failure::because(
            format!("cannot reach a server at {}", place.authority),
            error,
        )
        .help("start one with `holdpoint serve`, or name another with --server URL")
    };
    let stream = TcpStream::connect(&place.authority)
        .await
        .map_err(|error| unreachable(&error))?;
    // Without this the kernel may hold back a small request to send it with the next one.
    stream
        .set_nodelay(true)
        .map_err(|error| unreachable(&error))?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| unreachable(&error))?;
    // How a connection ends is seen by whoever sends the next request.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

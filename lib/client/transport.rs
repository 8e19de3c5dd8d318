//! Requests and answers.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Error, Problem, Retry};

/// How long a server may take to answer, beyond what it was asked to wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes: a page of 200 actions with large arguments.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection to one server. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<header::HeaderValue>,
    pub(super) retry: Retry,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The version of the resource, to ask for a change of it.
    pub etag: Option<String>,
    /// Whether the server had answered the same request before.
    pub replayed: bool,
    /// The body; null where there is none.
    pub body: Value,
}

/// A successful answer, not yet read as anything.
pub(super) struct Unread {
    pub(super) etag: Option<String>,
    pub(super) replayed: bool,
    pub(super) body: Vec<u8>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at this address, without a credential. HTTP without encryption is
    /// taken to this machine only.
    pub fn new(server: &str) -> Result<Self, Error> {
        Self::open(server, false)
    }

    /// The same, over plain HTTP to other machines too: everybody on the way can read the token.
    pub fn over_plain_http(server: &str) -> Result<Self, Error> {
        Self::open(server, true)
    }

    fn open(server: &str, plain_http: bool) -> Result<Self, Error> {
        let base = Url::parse(server)
            .map_err(|error| Error::NotAUrl(server.to_owned(), Box::new(error)))?;
        let local = is_loopback(&base);
        match base.scheme() {
            "https" => {}
            "http" if local || plain_http => {}
            "http" => return Err(Error::Unencrypted(base.to_string())),
            scheme => return Err(Error::Scheme(scheme.to_owned())),
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none());
        if local {
            // A proxy of the environment is not on this machine.
            builder = builder.no_proxy();
        }
        Ok(Self {
            http: builder.build().map_err(Error::Start)?,
            base,
            token: None,
            retry: Retry::default(),
        })
    }

    /// With an API key (`hp_…`) or a session token (`hps_…`).
    pub fn with_token(mut self, token: &str) -> Result<Self, Error> {
        let mut value = header::HeaderValue::from_str(&format!("Bearer {}", token.trim()))
            .map_err(|_| Error::NotAToken)?;
        value.set_sensitive(true);
        self.token = Some(value);
        Ok(self)
    }

    /// With another way to send again what may safely be sent again.
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The address of the server, for messages.
    pub fn server(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Whether requests carry a credential.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The request to a path such as `/v1/actions`, with its credential.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut url = self.base.clone();
        let joined = format!("{}{path}", self.base.path().trim_end_matches('/'));
        let (path, query) = joined.split_once('?').unwrap_or((&joined, ""));
        url.set_path(path);
        url.set_query((!query.is_empty()).then_some(query));
        let request = self
            .http
            .request(method, url)
            .header(header::ACCEPT, "application/json, application/problem+json");
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// Reads a resource, once.
    pub async fn get(&self, path: &str) -> Result<Answer, Error> {
        self.send(self.read_request(path)).await
    }

    pub(super) fn read_request(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path).timeout(ANSWER_TIMEOUT)
    }

    /// Reads a resource, waiting up to `wait` for another version than `etag`, once.
    pub async fn get_changed(
        &self,
        path: &str,
        etag: Option<&str>,
        wait: Duration,
    ) -> Result<Answer, Error> {
        self.send(self.changed(path, etag, wait)).await
    }

    pub(super) fn changed(&self, path: &str, etag: Option<&str>, wait: Duration) -> RequestBuilder {
        let separator = if path.contains('?') { '&' } else { '?' };
        // The server takes whole seconds; asking for a little more than is left does no harm.
        let seconds = wait.as_millis().div_ceil(1000);
        let path = format!("{path}{separator}wait={seconds}s");
        let request = self.waiting(Method::GET, &path, wait);
        match etag {
            Some(etag) => request.header(header::IF_NONE_MATCH, etag),
            None => request,
        }
    }

    /// A request whose answer the server may hold back for so long.
    pub(super) fn waiting(&self, method: Method, path: &str, wait: Duration) -> RequestBuilder {
        self.request(method, path)
            .timeout(ANSWER_TIMEOUT + wait + Duration::from_secs(1))
    }

    /// Asks for something that is not JSON, only to see whether it succeeds.
    pub async fn get_text(&self, path: &str) -> Result<(), Error> {
        let request = self.request(Method::GET, path).timeout(ANSWER_TIMEOUT);
        let response = self.open_answer(request).await?;
        self.read(response).await.map(|_| ())
    }

    /// Sends a JSON body, once.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        self.send(self.with_body(path, body.to_string())).await
    }

    pub(super) fn with_body(&self, path: &str, body: String) -> RequestBuilder {
        self.request(Method::POST, path)
            .timeout(ANSWER_TIMEOUT)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
    }

    /// Sends a request, once, and reads the answer; anything but success and 304 is an error.
    pub async fn send(&self, request: RequestBuilder) -> Result<Answer, Error> {
        let Unread {
            etag,
            replayed,
            body,
        } = self.send_bytes(request).await?;
        let body = if body.is_empty() {
            Value::Null
        } else {
            self.json(&body)?
        };
        Ok(Answer {
            etag,
            replayed,
            body,
        })
    }

    pub(super) async fn send_bytes(&self, request: RequestBuilder) -> Result<Unread, Error> {
        let response = self.open_answer(request).await?;
        let text_header = |name: &str| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let etag = text_header("etag");
        let replayed = text_header("idempotency-replayed").is_some_and(|value| value == "true");
        Ok(Unread {
            etag,
            replayed,
            body: self.read(response).await?,
        })
    }

    /// What a body says, as the type that it should be.
    pub(super) fn json<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(bytes).map_err(|source| Error::NotJson {
            server: self.server().to_owned(),
            source,
        })
    }

    /// A body as text. What is serialised is ours, and always can be.
    pub(super) fn text_of(&self, body: &impl Serialize) -> Result<String, Error> {
        serde_json::to_string(body).map_err(|source| Error::NotJson {
            server: self.server().to_owned(),
            source,
        })
    }

    /// Sends a request, once, and checks the status; the body is still to be read.
    pub async fn open_answer(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = self.dispatch(request).await?;
        let status = response.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body = self.read(response).await?;
        let problem = Problem::read(status.as_u16(), &body, retry_after, self.has_token());
        Err(Error::Problem(Box::new(problem)))
    }

    async fn dispatch(&self, request: RequestBuilder) -> Result<Response, Error> {
        request.send().await.map_err(|error| self.failed(error))
    }

    /// The whole body, up to the bound.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if ANSWER_BYTES_MAX < body.len() + chunk.len() {
                return Err(Error::TooLong {
                    server: self.server().to_owned(),
                    bytes_max: ANSWER_BYTES_MAX,
                });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// What a failure of the connection means.
    fn failed(&self, source: reqwest::Error) -> Error {
        let server = self.server().to_owned();
        if source.is_connect() {
            Error::Unreachable { server, source }
        } else if source.is_timeout() {
            Error::TimedOut { server, source }
        } else {
            Error::Broken { server, source }
        }
    }
}

/// Whether the host of a URL can only be this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_a_token_does_not_travel_unencrypted_to_another_machine() {
        assert!(matches!(
            Client::new("http://holdpoint.example"),
            Err(Error::Unencrypted(_))
        ));
        assert!(Client::new("http://127.0.0.1:7070").is_ok());
        assert!(Client::new("http://[::1]:7070").is_ok());
        assert!(Client::over_plain_http("http://holdpoint.example").is_ok());
        assert!(matches!(
            Client::new("ftp://127.0.0.1"),
            Err(Error::Scheme(_))
        ));
        assert!(matches!(Client::new("7070"), Err(Error::NotAUrl(..))));
    }

    #[test]
    fn i16_a_client_does_not_show_its_token() {
        let client = Client::new("https://h.example").expect("an address");
        let client = client.with_token("hp_canary\n").expect("a token");
        assert!(!format!("{client:?}").contains("canary"));
        assert!(matches!(
            client.with_token("hp_\u{0}"),
            Err(Error::NotAToken)
        ));
    }
}

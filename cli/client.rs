//! The commands' side of the HTTP API.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::{Method, Response, Url, header};
use serde_json::Value;

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::secret;

/// How long a server may take to answer, beyond what it was asked to wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes: a page of 200 actions with large arguments.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Which server to talk to, and who asks.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServerArgs {
    /// The running server
    #[arg(
        long,
        env = "HOLDPOINT_SERVER",
        value_name = "URL",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A file with an API key or a session token [default: where `login` left it]
    #[arg(long, env = "HOLDPOINT_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Send the token over plain HTTP to another machine
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// A connection to one server.
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
}

/// A successful answer.
pub(crate) struct Answer {
    /// The version of the resource, to ask for a change of it.
    pub(crate) etag: Option<String>,
    /// Whether the server had answered the same request before.
    pub(crate) replayed: bool,
    /// The body; null where there is none.
    pub(crate) body: Value,
}

impl Client {
    /// A client that sends the token of the file.
    pub(crate) fn new(args: &ServerArgs) -> Outcome<Self> {
        let mut client = Self::anonymous(args)?;
        client.token = match &args.token_file {
            Some(path) => Some(secret::read(path)?),
            None => match secret::default_token_file().filter(|path| path.is_file()) {
                Some(path) => Some(secret::read(&path)?),
                None => None,
            },
        };
        Ok(client)
    }

    /// A client without a credential.
    pub(crate) fn anonymous(args: &ServerArgs) -> Outcome<Self> {
        let base = Url::parse(&args.server).map_err(|error| {
            Failure::because(format!("{:?} is not a URL", args.server), &error)
                .with_code(ExitCode::Usage)
                .help("write --server http://HOST:PORT or https://HOST")
        })?;
        let local = is_loopback(&base);
        match base.scheme() {
            "https" => {}
            "http" if local || args.plain_http => {}
            "http" => {
                return Err(Failure::usage(format!(
                    "{base} would carry the token unencrypted to another machine"
                ))
                .help("use https://, or accept that with --plain-http"));
            }
            scheme => {
                return Err(
                    Failure::usage(format!("the scheme {scheme} is not supported"))
                        .help("write --server http://HOST:PORT or https://HOST"),
                );
            }
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none());
        if local {
            // A proxy of the environment is not on this machine.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| Failure::because("cannot start the HTTP client", &error))?;
        Ok(Self {
            http,
            base,
            token: None,
        })
    }

    /// The address of the server, for messages.
    pub(crate) fn server(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The request to a path such as `/v1/actions`, with its credential.
    pub(crate) fn request(&self, method: Method, path: &str) -> Outcome<reqwest::RequestBuilder> {
        let mut url = self.base.clone();
        let joined = format!("{}{path}", self.base.path().trim_end_matches('/'));
        let (path, query) = joined.split_once('?').unwrap_or((&joined, ""));
        url.set_path(path);
        url.set_query((!query.is_empty()).then_some(query));
        let mut request = self
            .http
            .request(method, url)
            .header(header::ACCEPT, "application/json, application/problem+json");
        if let Some(token) = &self.token {
            let mut value = header::HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Failure::usage("the token file does not hold a token"))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// Reads a resource.
    pub(crate) async fn get(&self, path: &str) -> Outcome<Answer> {
        let request = self.request(Method::GET, path)?.timeout(ANSWER_TIMEOUT);
        self.send(request).await
    }

    /// Reads a resource, waiting up to `wait` for another version than `etag`.
    pub(crate) async fn get_changed(
        &self,
        path: &str,
        etag: Option<&str>,
        wait: Duration,
    ) -> Outcome<Answer> {
        let separator = if path.contains('?') { '&' } else { '?' };
        // The server takes whole seconds; asking for a little more than is left does no harm.
        let seconds = wait.as_millis().div_ceil(1000);
        let path = format!("{path}{separator}wait={seconds}s");
        let mut request = self
            .request(Method::GET, &path)?
            .timeout(ANSWER_TIMEOUT + wait + Duration::from_secs(1));
        if let Some(etag) = etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        self.send(request).await
    }

    /// Asks for something that is not JSON, only to see whether it succeeds.
    pub(crate) async fn get_text(&self, path: &str) -> Outcome<()> {
        let request = self.request(Method::GET, path)?.timeout(ANSWER_TIMEOUT);
        let response = self.open(request).await?;
        self.read(response).await.map(|_| ())
    }

    /// Whether requests carry a credential.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Sends a JSON body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Outcome<Answer> {
        let request = self
            .request(Method::POST, path)?
            .timeout(ANSWER_TIMEOUT)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        self.send(request).await
    }

    /// Sends a request and reads the answer; anything but success and 304 is a failure in words.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Outcome<Answer> {
        let response = self.open(request).await?;
        let text_header = |name: &str| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let etag = text_header("etag");
        let replayed = text_header("idempotency-replayed").is_some_and(|value| value == "true");
        let bytes = self.read(response).await?;
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).map_err(|error| {
                Failure::because(
                    format!("{} did not answer with JSON", self.server()),
                    &error,
                )
                .help("check that --server names a Holdpoint server")
            })?
        };
        Ok(Answer {
            etag,
            replayed,
            body,
        })
    }

    /// Sends a request and checks the status; the body is still to be read.
    pub(crate) async fn open(&self, request: reqwest::RequestBuilder) -> Outcome<Response> {
        let response = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() || status == reqwest::StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        let body = self.read(response).await?;
        Err(crate::problem::failure(
            status.as_u16(),
            &body,
            self.token.is_some(),
        ))
    }

    /// The whole body, up to the bound.
    async fn read(&self, mut response: Response) -> Outcome<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.unreachable(&error))?
        {
            if ANSWER_BYTES_MAX < body.len() + chunk.len() {
                return Err(Failure::failed(format!(
                    "the answer of {} is longer than {ANSWER_BYTES_MAX} bytes",
                    self.server()
                )));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// A failure of the connection, in words.
    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let (what, help) = if error.is_connect() {
            (
                format!("cannot reach a server at {}", self.server()),
                "start one with `holdpoint serve`, or name another with --server URL",
            )
        } else if error.is_timeout() {
            (
                format!("{} did not answer in time", self.server()),
                "look at its log, or ask again",
            )
        } else {
            (
                format!("the connection to {} broke", self.server()),
                "whether the request arrived is unknown; look before sending it again",
            )
        };
        Failure::because(what, error).help(help)
    }
}

/// Whether the host of a URL can only be this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

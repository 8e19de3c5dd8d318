//! The real network.
//!
//! One request, one connection, one answer: no redirect is followed, nothing is sent again, no
//! connection is kept or shared, no proxy is taken from the environment, and no address is called
//! that [`super::address`] refuses. Names are checked after they are resolved, at connect time, so
//! that a name that answers differently the second time gains nothing.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Request, Response, Url};

use super::address::{self, AddressRange, AddressRefused, NetworkOptions};
use super::{ANSWER_BYTES_MAX, Answer, Body, CallError, Outgoing, Target};
use crate::seeded::Bug;
use crate::tool::Origin;

const USER_AGENT: &str = concat!("holdpoint/", env!("CARGO_PKG_VERSION"));

/// The network. See the [module](self).
pub struct HttpTarget {
    resolver: Arc<CheckedResolver>,
    /// One for each connect timeout that the tools file names.
    clients: Mutex<HashMap<Duration, Client>>,
}

impl HttpTarget {
    /// The network, with these further ranges of addresses.
    pub fn new(network: NetworkOptions) -> Self {
        Self::with(network, true, Arc::new(look_up))
    }

    /// The network for URLs that do not come from the tools file: that one names a local address is
    /// not enough, its range must be allowed.
    pub fn strict(network: NetworkOptions) -> Self {
        Self::with(network, false, Arc::new(look_up))
    }

    fn with(network: NetworkOptions, trusts_names: bool, lookup: Lookup) -> Self {
        Self {
            resolver: Arc::new(CheckedResolver {
                allow: network.allow,
                trusts_names,
                lookup,
            }),
            clients: Mutex::default(),
        }
    }

    /// Sends one request, once, and answers with the head of what came back.
    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<Response, CallError> {
        let client = self.client(outgoing.connect_timeout)?;
        let request = self.request(outgoing)?;
        client.execute(request).await.map_err(|error| {
            // Connecting covers resolving, the address check and TLS: no byte of the request has
            // been written before all of them are done.
            let before_the_first_byte = error.is_connect() || error.is_builder();
            let message = words(error);
            if before_the_first_byte {
                CallError::NotDelivered(message)
            } else {
                CallError::Unknown(message)
            }
        })
    }

    fn client(&self, connect_timeout: Duration) -> Result<Client, CallError> {
        let connect_timeout = step(connect_timeout);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&connect_timeout) {
            return Ok(client.clone());
        }
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(redirects())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .http1_only()
            .pool_max_idle_per_host(Bug::PooledRetry.is_on().into())
            .connect_timeout(connect_timeout)
            .dns_resolver(Arc::clone(&self.resolver))
            .build()
            .map_err(|error| CallError::NotDelivered(words(error)))?;
        clients.insert(connect_timeout, client.clone());
        Ok(client)
    }

    fn request(&self, outgoing: Outgoing) -> Result<Request, CallError> {
        let own = |message: String| CallError::NotDelivered(message);
        let url =
            Url::parse(&outgoing.url).map_err(|_| own("the URL cannot be read".to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(own("only http and https URLs are called".to_owned()));
        }
        if !is_from(&url, &outgoing.origin) {
            return Err(own(
                "the URL leads elsewhere than the tool's definition says".to_owned(),
            ));
        }
        self.check_host(&url)?;
        let method = Method::from_bytes(outgoing.method.as_bytes())
            .map_err(|_| own(format!("{} is no HTTP method", outgoing.method)))?;
        let mut request = Request::new(method, url);
        *request.timeout_mut() = Some(outgoing.timeout);
        let headers = request.headers_mut();
        for (name, value) in &outgoing.headers {
            let value = HeaderValue::from_str(value)
                .map_err(|_| own(format!("the header {name} cannot be sent")))?;
            headers.append(header_name(name)?, value);
        }
        for (name, value) in &outgoing.secret_headers {
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| own(format!("the secret for the header {name} cannot be sent")))?;
            value.set_sensitive(true);
            headers.append(header_name(name)?, value);
        }
        *request.body_mut() = outgoing.body.map(Into::into);
        Ok(request)
    }

    /// Literal addresses never reach the resolver. Those of tools stand in the tools file itself,
    /// since no placeholder may be part of a host.
    fn check_host(&self, url: &Url) -> Result<(), CallError> {
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        match literal.parse::<IpAddr>() {
            Ok(address) => {
                address::check(address, self.resolver.trusts_names, &self.resolver.allow)
                    .map_err(|refused| CallError::NotDelivered(refused.to_string()))
            }
            Err(_) if host.is_empty() => {
                Err(CallError::NotDelivered("the URL has no host".to_owned()))
            }
            Err(_) => Ok(()),
        }
    }
}

fn redirects() -> Policy {
    if Bug::FollowRedirect.is_on() {
        return Policy::default();
    }
    Policy::none()
}

/// The longest of a few steps that is not longer than what is left. A client is costly to make (it
/// reads the root certificates), and what is left differs from call to call.
fn step(left: Duration) -> Duration {
    let steps = [
        10_000, 8_000, 6_000, 4_000, 3_000, 2_000, 1_000, 500, 250, 100,
    ];
    let steps = steps.map(Duration::from_millis);
    let fits = steps.iter().find(|step| **step <= left);
    fits.copied().unwrap_or(Duration::from_millis(50))
}

fn is_from(url: &Url, origin: &Origin) -> bool {
    url.scheme() == origin.scheme
        && url
            .host_str()
            .is_some_and(|host| host.eq_ignore_ascii_case(&origin.host))
        && url.port_or_known_default() == Some(origin.port)
        && url.username().is_empty()
        && url.password().is_none()
}

fn header_name(name: &str) -> Result<HeaderName, CallError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| CallError::NotDelivered(format!("{name} is no header name")))
}

#[async_trait]
impl Target for HttpTarget {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        let response = self.send(outgoing).await?;
        let status = response.status().as_u16();
        let etag = response
            .headers()
            .get(reqwest::header::ETAG)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let body = read(response).await;
        Ok(Answer { status, etag, body })
    }
}

async fn read(mut response: Response) -> Body {
    let too_large = || Body::Broken(format!("the body is longer than {ANSWER_BYTES_MAX} bytes"));
    let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX);
    if response
        .content_length()
        .is_some_and(|length| limit < length)
    {
        return too_large();
    }
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if ANSWER_BYTES_MAX < bytes.len() + chunk.len() => return too_large(),
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Body::Whole(bytes),
            Err(error) => {
                return Body::Broken(format!("the body was cut off ({})", words(error)));
            }
        }
    }
}

/// The whole chain of an error in words, without the URL, which may hold what is private.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            let _infallible = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// How names become addresses.
type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

fn look_up(host: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
    Box::pin(async move { Ok(tokio::net::lookup_host((host.as_str(), 0)).await?.collect()) })
}

struct CheckedResolver {
    allow: Vec<AddressRange>,
    /// Whether a URL that names a local address may call it.
    trusts_names: bool,
    lookup: Lookup,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let allow = self.allow.clone();
        let named = self.trusts_names && host.eq_ignore_ascii_case("localhost");
        let lookup = Arc::clone(&self.lookup);
        Box::pin(async move {
            let found = checked_addresses(named, || lookup(host.clone()), &allow).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Looks the name up once: the addresses that were checked are those that are called.
async fn checked_addresses<F: Future<Output = io::Result<Vec<SocketAddr>>>>(
    named: bool,
    look_up: impl Fn() -> F,
    allow: &[AddressRange],
) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
    let checked = all_checked(look_up().await?, named, allow)?;
    if Bug::ResolveTwice.is_on() {
        return Ok(look_up().await?);
    }
    Ok(checked)
}

/// The addresses, where every one of them may be called: a name with one forbidden address is not
/// asked at its others either.
fn all_checked(
    found: Vec<SocketAddr>,
    named: bool,
    allow: &[AddressRange],
) -> Result<Vec<SocketAddr>, AddressRefused> {
    for socket in &found {
        address::check(socket.ip(), named, allow)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests;

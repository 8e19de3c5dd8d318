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
        Self {
            resolver: Arc::new(CheckedResolver {
                allow: network.allow,
            }),
            clients: Mutex::default(),
        }
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

    /// Literal addresses never reach the resolver. They stand in the tools file itself, since no
    /// placeholder may be part of a host.
    fn check_host(&self, url: &Url) -> Result<(), CallError> {
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        match literal.parse::<IpAddr>() {
            Ok(address) => address::check(address, true, &self.resolver.allow)
                .map_err(|refused| CallError::NotDelivered(refused.to_string())),
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
        let client = self.client(outgoing.connect_timeout)?;
        let request = self.request(outgoing)?;
        let response = client.execute(request).await.map_err(|error| {
            // Connecting covers resolving, the address check and TLS: no byte of the request has
            // been written before all of them are done.
            let before_the_first_byte = error.is_connect() || error.is_builder();
            let message = words(error);
            if before_the_first_byte {
                CallError::NotDelivered(message)
            } else {
                CallError::Unknown(message)
            }
        })?;
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

struct CheckedResolver {
    allow: Vec<AddressRange>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let allow = self.allow.clone();
        Box::pin(async move {
            let look_up = || {
                let found = tokio::net::lookup_host((host.clone(), 0));
                async { Ok(found.await?.collect()) }
            };
            let found = checked_addresses(&host, look_up, &allow).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Looks the name up once: the addresses that were checked are those that are called.
async fn checked_addresses<F: Future<Output = io::Result<Vec<SocketAddr>>>>(
    host: &str,
    look_up: impl Fn() -> F,
    allow: &[AddressRange],
) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
    let named = host.eq_ignore_ascii_case("localhost");
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
mod tests {
    use super::*;

    fn checked(addresses: &[&str], named: bool) -> bool {
        let found = addresses
            .iter()
            .map(|text| SocketAddr::new(text.parse().expect("an address"), 0))
            .collect();
        let allow = ["10.1.0.0/16".parse().expect("a range")];
        all_checked(found, named, &allow).is_ok()
    }

    #[test]
    fn i17_a_name_that_leads_inside_is_not_called_not_even_at_its_public_addresses() {
        assert!(checked(&["93.184.216.34", "2606:2800:220:1::1"], false));
        assert!(checked(&["10.1.2.3"], false), "allowed by the operator");
        for inside in ["127.0.0.1", "::1", "10.2.0.1", "192.168.1.1", "fd00::1"] {
            assert!(!checked(&[inside], false), "{inside}");
            assert!(!checked(&["93.184.216.34", inside], false), "{inside}");
            assert!(!checked(&[inside, "93.184.216.34"], false), "{inside}");
        }
        assert!(!checked(&["169.254.169.254"], true), "never");
    }

    #[tokio::test]
    async fn i17_a_name_is_looked_up_once_so_a_second_answer_gains_nothing() {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let rebinding = || async {
            let before = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let address: IpAddr = ["93.184.216.34", "127.0.0.1"][before.min(1)]
                .parse()
                .expect("an address");
            Ok(vec![SocketAddr::new(address, 0)])
        };
        let called = checked_addresses("shop.example", rebinding, &[]).await;
        let called = called.expect("the first answer may be called");
        let inside = called.iter().find(|socket| socket.ip().is_loopback());
        assert_eq!(inside, None, "what is called was not checked");
        assert_eq!(asked.into_inner(), 1, "look-ups");
    }

    #[tokio::test]
    async fn i17_localhost_is_named_by_the_definition_and_other_names_for_it_are_not() {
        let resolver = CheckedResolver { allow: Vec::new() };
        let resolve = |name: &str| resolver.resolve(name.parse().expect("a name"));
        assert!(resolve("localhost").await.is_ok());
        assert!(resolve("localhost.").await.is_err());
    }

    #[test]
    fn i21_calls_with_ever_other_time_left_share_a_few_clients() {
        let target = HttpTarget::new(crate::target::NetworkOptions::default());
        for milliseconds in 1..12_000 {
            let left = Duration::from_millis(milliseconds);
            assert!(target.client(left).is_ok());
            assert!(step(left) <= left.max(Duration::from_millis(50)));
        }
        let clients = target
            .clients
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert!(clients.len() <= 11, "{} clients", clients.len());
    }
}

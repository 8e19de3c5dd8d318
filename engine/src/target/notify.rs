//! Telling webhook endpoints: the same guarded way out, with nothing read back but the status.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::RETRY_AFTER;

use super::{CallError, HttpTarget, Outgoing};
use crate::limits::URL_BYTES_MAX;
use crate::tool::Origin;

/// The longest that connecting may take: beyond it a host is down, not slow.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of an answer is read before the connection is dropped. It says nothing that matters.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// The longest `Retry-After` that is looked at; dates have 29 characters.
const RETRY_AFTER_BYTES_MAX: usize = 64;

/// One message for one endpoint.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Where to.
    pub url: String,
    /// Names and values; a signature is of no use to anybody else.
    pub headers: Vec<(String, String)>,
    /// The exact body, JSON.
    pub body: String,
    /// The longest that the whole call may take.
    pub timeout: Duration,
}

/// What the endpoint said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    /// The status.
    pub status: u16,
    /// The `Retry-After` header, as it was sent.
    pub retry_after: Option<String>,
}

/// Whatever tells endpoints: the network, or what a test puts in its place.
#[async_trait]
pub trait Notifier: Send + Sync + 'static {
    /// Sends one message, once.
    async fn notify(&self, notice: Notice) -> Result<Noticed, CallError>;
}

#[async_trait]
impl Notifier for HttpTarget {
    async fn notify(&self, notice: Notice) -> Result<Noticed, CallError> {
        let origin = origin_of(&notice.url).map_err(CallError::NotDelivered)?;
        let outgoing = Outgoing {
            method: "POST".to_owned(),
            url: notice.url,
            origin,
            headers: notice.headers,
            secret_headers: Vec::new(),
            body: Some(notice.body),
            connect_timeout: CONNECT_TIMEOUT.min(notice.timeout),
            timeout: notice.timeout,
        };
        let mut response = self.send(outgoing).await?;
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .filter(|value| value.len() <= RETRY_AFTER_BYTES_MAX)
            .map(str::to_owned);
        let status = response.status().as_u16();
        let mut left = BODY_BYTES_MAX;
        // The status is the answer: a body that breaks off or goes on for ever changes nothing.
        while let Ok(Some(chunk)) = response.chunk().await {
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
        Ok(Noticed {
            status,
            retry_after,
        })
    }
}

/// Where the URL of an endpoint leads, or why it is none: `https`, without a user and a fragment.
/// Plain `http` only for names that are never public: addresses of this machine or network,
/// `localhost`, and names without a dot. Whether an address may be called is another question, which
/// is asked when it is called.
pub(crate) fn origin_of(text: &str) -> Result<Origin, String> {
    if URL_BYTES_MAX < text.len() {
        return Err(format!("is longer than {URL_BYTES_MAX} bytes"));
    }
    let url = Url::parse(text)
        .map_err(|_| "is not a URL; write it like https://example.com/hook".to_owned())?;
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default();
    let (false, Some(port)) = (host.is_empty(), port) else {
        return Err("has no host; write it like https://example.com/hook".to_owned());
    };
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(
            "has a user (@) or a fragment (#); the signature shows who sends instead".to_owned(),
        );
    }
    if !is_read_alike(text, url.scheme()) {
        return Err(
            "is not written so that everybody reads it alike; write it like \
             https://example.com/hook"
                .to_owned(),
        );
    }
    match url.scheme() {
        "https" => {}
        "http" if is_inside(host) => {}
        "http" => {
            return Err(
                "begins with http://, which anybody on the way can read; use https://".to_owned(),
            );
        }
        _ => return Err("must begin with https://".to_owned()),
    }
    Ok(Origin {
        scheme: url.scheme().to_owned(),
        host: host.to_owned(),
        port,
    })
}

/// Whether people and other programs see the host where it is: browsers, and what sends messages, also
/// take `https:host`, `https:\host` and `https://@host`.
fn is_read_alike(text: &str, scheme: &str) -> bool {
    let Some((written, rest)) = text.split_once("://") else {
        return false;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let is_plain = 0 < end && !rest[..end].contains('@') && !text.contains('\\');
    is_plain && written.eq_ignore_ascii_case(scheme)
}

fn is_inside(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    match literal.parse() {
        Ok(address) => super::address::kind_of(address) == super::address::AddressKind::Local,
        Err(_) => !host.contains('.'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_urls_of_endpoints_are_read_strictly_and_odd_addresses_are_seen_through() {
        for good in [
            "https://example.com/hook?a=b",
            "https://example.com:8443",
            "http://localhost:9000/",
            "http://10.1.2.3/x",
            "http://127.1/x",
            "http://0x7f000001/",
            "http://[::1]:80/",
            "http://receiver:8080/",
            "HTTPS://example.com/a@b",
        ] {
            assert!(origin_of(good).is_ok(), "{good}");
        }
        let odd = origin_of("http://2130706433/").expect("an address in odd notation");
        assert_eq!(odd.host, "127.0.0.1");
        let long = format!("https://example.com/{}", "a".repeat(URL_BYTES_MAX));
        for bad in [
            "",
            "example.com",
            "ftp://example.com/",
            "file:///etc/passwd",
            "https://user@example.com/",
            "https://user:pass@example.com/",
            "https://example.com/#x",
            "http://example.com/",
            "http://93.184.216.34/",
            "https:///",
            "https:///example.com/",
            "https:example.com",
            "https:@example.com",
            "https://@example.com/",
            "https:\\\\example.com/",
            "https://example.com\\@other.example/",
            &long,
        ] {
            assert!(origin_of(bad).is_err(), "{bad}");
        }
    }
}

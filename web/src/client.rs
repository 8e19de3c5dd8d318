//! Where a request came from.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use http::HeaderName;
use http::header::{FORWARDED, VIA};
use http::request::Parts;

use crate::state::{AppState, WebConfig};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address a request came from: the peer, or behind `proxy_hops` proxies of our own the entry
/// of `X-Forwarded-For` that the outermost of them wrote.
pub fn client_address(parts: &Parts, config: &WebConfig) -> IpAddr {
    let peer = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
    let Some(from_right) = config.proxy_hops.checked_sub(1) else {
        return peer;
    };
    let entries: Vec<&str> = parts
        .headers
        .get_all(FORWARDED_FOR)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    entries
        .iter()
        .rev()
        .nth(from_right)
        .and_then(|entry| entry.trim().parse().ok())
        .unwrap_or(peer)
}

/// The address a request came from.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<AppState> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, Self::Rejection> {
        Ok(Self(client_address(parts, &state.config)))
    }
}

/// Whether a proxy passed the request on.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded(pub bool);

impl<S: Send + Sync> FromRequestParts<S> for Forwarded {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let names = [FORWARDED_FOR, FORWARDED, VIA];
        Ok(Self(
            names.iter().any(|name| parts.headers.contains_key(name)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn the_address_behind_proxies_is_the_one_that_our_own_proxy_saw() {
        let address = |hops, forwarded: &str| {
            let peer: SocketAddr = "192.0.2.1:9".parse().expect("an address");
            let request = Request::builder()
                .header("x-forwarded-for", forwarded)
                .extension(ConnectInfo(peer))
                .body(())
                .expect("a request");
            let config = WebConfig {
                proxy_hops: hops,
                ..WebConfig::default()
            };
            client_address(&request.into_parts().0, &config).to_string()
        };
        assert_eq!(
            address(0, "203.0.113.7"),
            "192.0.2.1",
            "anybody can write the header"
        );
        assert_eq!(address(1, "198.51.100.9, 203.0.113.7"), "203.0.113.7");
        assert_eq!(address(2, "198.51.100.9, 203.0.113.7"), "198.51.100.9");
        assert_eq!(address(3, "198.51.100.9, 203.0.113.7"), "192.0.2.1");
        assert_eq!(address(1, "unknown"), "192.0.2.1");
    }
}

//! Who calls: from the credential, and from nothing else (incidents 50 and 51).
//!
//! * [`Caller`]: a program or a person with `Authorization: Bearer`, an API key (`hp_…`) or a
//!   session token (`hps_…`). For `/v1`.
//! * [`Browser`]: a person with the session cookie. For pages.
//!
//! A request with an `Authorization` header never falls back to its cookie: such requests are not
//! checked for their origin, since no other site can make a browser send that header.

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use holdpoint_engine::identity::Principal;
use http::header::{AUTHORIZATION, COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use crate::edge::client_address;
use crate::problem::{Code, Problem};
use crate::state::{AppState, WebConfig};

/// Begins every API key.
pub const KEY_PREFIX: &str = "hp_";
/// Begins every session token.
pub const SESSION_PREFIX: &str = "hps_";

/// The principal behind a bearer token.
#[derive(Clone, Debug)]
pub struct Caller(pub Principal);

/// The person behind a session cookie.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The session token, to end the session with. Never shown.
    pub session: String,
    /// The person.
    pub principal: Principal,
}

/// The name of the session cookie.
pub fn cookie_name(config: &WebConfig) -> &'static str {
    if config.is_https() {
        // Browsers accept this prefix only with Secure, Path=/ and no Domain.
        "__Host-holdpoint"
    } else {
        "holdpoint-session"
    }
}

/// The `Set-Cookie` that starts a session, or none where the token cannot be a cookie.
pub fn set_session(config: &WebConfig, token: &str) -> Option<HeaderValue> {
    cookie(config, token, "")
}

/// The `Set-Cookie` that ends a session in the browser.
pub fn clear_session(config: &WebConfig) -> Option<HeaderValue> {
    cookie(config, "", "; Max-Age=0")
}

fn cookie(config: &WebConfig, value: &str, more: &str) -> Option<HeaderValue> {
    let secure = if config.is_https() { "; Secure" } else { "" };
    let name = cookie_name(config);
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{more}");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The value of a cookie. Two cookies of the same name are none: one of them was planted.
pub fn read_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value);
    values.next().filter(|_| values.next().is_none())
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let Some(first) = all.next() else {
        return Ok(None);
    };
    let token = first.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    match token {
        Some(token) if all.next().is_none() => Ok(Some(token)),
        _ => Err(Problem::new(
            Code::Unauthenticated,
            "send exactly one Authorization header of the form: Bearer TOKEN",
        )),
    }
}

#[expect(
    clippy::unused_async,
    clippy::todo,
    unused_variables,
    reason = "until identity lands"
)]
async fn principal_of(state: &AppState, token: &str) -> Result<Option<Principal>, Problem> {
    todo!()
}

/// The principal behind a token, within its rate; without a valid one, within the address's rate.
async fn authenticate(
    state: &AppState,
    parts: &Parts,
    token: Option<&str>,
) -> Result<Option<Principal>, Problem> {
    let found = match token {
        Some(token) => principal_of(state, token).await?,
        None => None,
    };
    let limited = match (&found, token) {
        (Some(principal), _) => state.rates.principal(&principal.id),
        (None, Some(_)) => state.rates.address(client_address(parts, &state.config)),
        // Counted at the edge already.
        (None, None) => Ok(()),
    };
    limited.map_err(|wait| {
        Problem::new(
            Code::RateLimited,
            "too many requests; wait and send it again",
        )
        .after(wait)
    })?;
    if let Some(principal) = &found {
        tracing::Span::current().record("principal", principal.id.as_str());
    }
    Ok(found)
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let token = bearer(&parts.headers)?;
        authenticate(state, parts, token).await?.map(Self).ok_or_else(|| {
            Problem::new(
                Code::Unauthenticated,
                "the request has no valid API key or session token; it may be expired or revoked",
            )
        })
    }
}

impl OptionalFromRequestParts<AppState> for Browser {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Option<Self>, Problem> {
        let token = read_cookie(&parts.headers, cookie_name(&state.config))
            .filter(|token| token.starts_with(SESSION_PREFIX));
        let principal = authenticate(state, parts, token).await?;
        Ok(principal.zip(token).map(|(principal, token)| Self {
            session: token.into(),
            principal,
        }))
    }
}

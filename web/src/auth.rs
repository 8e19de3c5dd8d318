//! Who calls: from the credential, and from nothing else (incidents 50 and 51).
//!
//! * [`Caller`]: a program or a person with `Authorization: Bearer`, an API key (`hp_…`) or a
//!   session token (`hps_…`). For `/v1`.
//! * [`Browser`]: a person with the session cookie. For pages.
//!
//! An API request with an `Authorization` header never falls back to its cookie: such requests are
//! not checked for their origin, since no other site can make a browser send them. Pages ignore
//! that header, which a proxy in front may have asked for, and are always checked.

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use holdpoint_engine::identity::{AuthError, Principal, Secret, Session, SessionKind};
use http::header::{AUTHORIZATION, COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use crate::client::client_address;
use crate::problem::{Code, Problem};
use crate::state::{AppState, WebConfig};

/// Begins every session token.
pub const SESSION_PREFIX: &str = "hps_";

/// The principal behind a bearer token.
#[derive(Clone, Debug)]
pub struct Caller(pub Principal);

/// The principal behind a bearer token, if there is one. A wrong one is refused.
#[derive(Clone, Debug)]
pub struct OptionalCaller(pub Option<Principal>);

/// A bearer token with the principal behind it.
#[derive(Debug)]
pub struct Bearer {
    /// The token.
    pub token: Secret,
    /// Whose it is.
    pub principal: Principal,
}

/// The principal behind a bearer token or, without one, behind the session cookie. Only for what
/// pages read: a request that changes something takes one or the other.
#[derive(Clone)]
pub struct Viewer {
    /// Who it is, with what they could do when the request came.
    pub principal: Principal,
    credential: Credential,
}

/// What somebody proved with who they are.
#[derive(Clone)]
enum Credential {
    Bearer(Secret),
    Cookie(Secret),
}

impl Viewer {
    /// Whether the credential still stands for the same principal with the same roles, groups and
    /// scopes. For answers that go on for longer than a moment: what was taken away since is not
    /// shown any more.
    pub async fn is_current(&self, state: &AppState) -> bool {
        let identity = state.engine.identity();
        let now = match &self.credential {
            Credential::Bearer(token) => identity.authenticate_bearer(token.expose()).await,
            Credential::Cookie(token) => {
                let found = identity.authenticate_session(token.expose()).await;
                found.map(|(_, principal)| principal)
            }
        };
        now.is_ok_and(|principal| principal == self.principal)
    }
}

impl From<Browser> for Viewer {
    fn from(browser: Browser) -> Self {
        Self {
            principal: browser.principal,
            credential: Credential::Cookie(Secret::new(browser.session)),
        }
    }
}

/// The person behind a session cookie.
#[derive(Clone)]
pub struct Browser {
    /// The session token, to end the session with. Never shown.
    pub session: String,
    /// The session itself.
    pub details: Session,
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

/// Charges the request to its principal, or without a valid credential to its address.
fn admit(
    state: &AppState,
    parts: &Parts,
    found: Result<Principal, AuthError>,
) -> Result<Principal, Problem> {
    let limited = match &found {
        Ok(principal) => state.rates.principal(&principal.id),
        Err(_) => state.rates.address(client_address(parts, &state.config)),
    };
    limited.map_err(|wait| {
        Problem::new(
            Code::RateLimited,
            "too many requests; wait and send it again",
        )
        .after(wait)
    })?;
    let principal = found?;
    tracing::Span::current().record("principal", principal.id.as_str());
    Ok(principal)
}

impl FromRequestParts<AppState> for Bearer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let token = bearer(&parts.headers)?.ok_or_else(|| {
            Problem::new(
                Code::Unauthenticated,
                "send the header Authorization: Bearer with an API key or a session token",
            )
        })?;
        let token = Secret::new(token);
        let found = state
            .engine
            .identity()
            .authenticate_bearer(token.expose())
            .await;
        let principal = admit(state, parts, found)?;
        Ok(Self { token, principal })
    }
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let Bearer { principal, .. } = Bearer::from_request_parts(parts, state).await?;
        Ok(Self(principal))
    }
}

impl FromRequestParts<AppState> for OptionalCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        if !parts.headers.contains_key(AUTHORIZATION) {
            return Ok(Self(None));
        }
        let Caller(principal) = Caller::from_request_parts(parts, state).await?;
        Ok(Self(Some(principal)))
    }
}

impl FromRequestParts<AppState> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        if !parts.headers.contains_key(AUTHORIZATION)
            && let Some(browser) = <Option<Browser>>::from_request_parts(parts, state).await?
        {
            return Ok(browser.into());
        }
        let Bearer { token, principal } = Bearer::from_request_parts(parts, state).await?;
        Ok(Self {
            principal,
            credential: Credential::Bearer(token),
        })
    }
}

impl OptionalFromRequestParts<AppState> for Browser {
    type Rejection = Problem;

    /// None without a cookie, and with one whose session has ended: both lead to the sign-in page.
    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Option<Self>, Problem> {
        let Some(token) = read_cookie(&parts.headers, cookie_name(&state.config)) else {
            return Ok(None);
        };
        let token = token.to_owned();
        let found = state.engine.identity().authenticate_session(&token).await;
        let (details, found) = match found {
            Ok((session, principal)) => (Some(session), Ok(principal)),
            Err(error) => (None, Err(error)),
        };
        match admit(state, parts, found) {
            Ok(principal) => Ok(details
                .filter(|session| session.kind == SessionKind::Browser)
                .map(|details| Self {
                    session: token,
                    details,
                    principal,
                })),
            Err(problem) if problem.code == Code::Unauthenticated => Ok(None),
            Err(problem) => Err(problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(values: &[&'static str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (COOKIE, HeaderValue::from_static(value)))
            .collect()
    }

    fn https() -> WebConfig {
        let public_url = Some("https://approvals.example".parse().expect("a URL"));
        WebConfig {
            public_url,
            ..WebConfig::default()
        }
    }

    #[test]
    fn a_cookie_that_is_there_twice_is_none() {
        let one = cookies(&["a=1; holdpoint-session=hps_x"]);
        assert_eq!(read_cookie(&one, "holdpoint-session"), Some("hps_x"));
        let planted = cookies(&["holdpoint-session=hps_x", "holdpoint-session=hps_y"]);
        assert_eq!(read_cookie(&planted, "holdpoint-session"), None);
    }

    #[test]
    fn the_cookie_is_bound_to_the_host_over_https_and_hidden_from_scripts() {
        let text = |value: Option<HeaderValue>| {
            value.expect("a cookie").to_str().expect("text").to_owned()
        };
        let secure = text(set_session(&https(), "hps_x"));
        assert_eq!(
            secure,
            "__Host-holdpoint=hps_x; Path=/; HttpOnly; SameSite=Lax; Secure"
        );
        let plain = text(clear_session(&WebConfig::default()));
        assert_eq!(
            plain,
            "holdpoint-session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
        );
    }

    #[test]
    fn a_bearer_token_comes_in_exactly_one_header() {
        let header = |text| (AUTHORIZATION, HeaderValue::from_static(text));
        let good: HeaderMap = [header("bearer hp_x")].into_iter().collect();
        assert_eq!(bearer(&good).expect("a token"), Some("hp_x"));
        for wrong in [
            vec![header("Basic eA==")],
            vec![header("Bearer a"), header("Bearer b")],
            vec![header("hp_x")],
        ] {
            let headers: HeaderMap = wrong.into_iter().collect();
            let problem = bearer(&headers).expect_err("it should be refused");
            assert_eq!(problem.code, Code::Unauthenticated);
        }
    }
}

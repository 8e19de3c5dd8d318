//! Signing in and out.

use askama::Template;
use axum::extract::Query;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::identity::{LinkError, Secret, SessionKind, SignInError};
use http::header::SET_COOKIE;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;

use super::error::PageError;
use super::flash::Draft;
use super::form::Sent;
use super::query::local_path;
use super::shell::{Shell, Visit, page};
use super::view::span_words;
use crate::auth;
use crate::display::Shown;
use crate::state::AppState;

/// The form, as it is sent and as it is shown again. The password is never shown again.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SignInForm {
    email: String,
    password: String,
    #[serde(rename = "return")]
    return_to: String,
    #[serde(skip)]
    errors: Vec<(&'static str, String)>,
}

impl SignInForm {
    fn first_error(&self) -> &str {
        self.errors.first().map_or("", |(_, message)| message)
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: Shell,
    form: SignInForm,
    keeps_words: bool,
}

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReturnQuery {
    #[serde(rename = "return")]
    return_to: String,
}

/// `GET /sign-in`.
pub(super) async fn get(
    visit: Visit,
    Query(asked): Query<ReturnQuery>,
) -> Result<Response, PageError> {
    let return_to = local_path(&asked.return_to).to_owned();
    if visit.browser.is_some() {
        return Ok(Redirect::to(&return_to).into_response());
    }
    let form = SignInForm {
        return_to,
        ..SignInForm::default()
    };
    show(&visit, form, StatusCode::OK)
}

fn show(visit: &Visit, form: SignInForm, status: StatusCode) -> Result<Response, PageError> {
    let mut shell = Shell::plain("Sign in");
    shell.has_errors = !form.errors.is_empty();
    let template = SignInPage {
        shell,
        form,
        keeps_words: Draft::read(&visit.headers).is_some(),
    };
    let mut response = page(visit, &template)?;
    *response.status_mut() = status;
    Ok(response)
}

/// `POST /sign-in`.
pub(super) async fn post(
    visit: Visit,
    from: From,
    Sent(form): Sent<SignInForm>,
) -> Result<Response, PageError> {
    let identity = visit.state.engine.identity();
    let password = Secret::new(form.password.as_str());
    let answer = identity
        .sign_in(form.email.trim(), &password, &from.0, SessionKind::Browser)
        .await;
    let (status, message) = match answer {
        Ok((token, _, _)) => {
            return start(&visit, token.expose(), local_path(&form.return_to)).await;
        }
        // The same words for an unknown address, a wrong password and a disabled account.
        Err(SignInError::Refused) => (
            StatusCode::UNAUTHORIZED,
            "The email address or the password is wrong".to_owned(),
        ),
        Err(SignInError::Throttled { retry_after }) => (
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "Too many attempts; try again in {}",
                span_words(retry_after.max(std::time::Duration::from_secs(1)))
            ),
        ),
        Err(SignInError::Store(error)) => return Err(PageError::unavailable(&error)),
    };
    let form = SignInForm {
        email: form.email,
        password: String::new(),
        return_to: local_path(&form.return_to).to_owned(),
        errors: vec![("email", message)],
    };
    show(&visit, form, status)
}

/// Gives the browser its session. An older one of this browser is ended: nobody could sign out of it
/// any more.
async fn start(visit: &Visit, token: &str, return_to: &str) -> Result<Response, PageError> {
    if let Some(older) = &visit.browser {
        let ended = visit.state.engine.identity().end_session(&older.session);
        ended
            .await
            .map_err(|error| PageError::unavailable(&error))?;
    }
    let cookie = auth::set_session(&visit.state.config, token).ok_or(PageError::Internal)?;
    let mut response = Redirect::to(return_to).into_response();
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

/// The token of a link.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct LinkForm {
    token: String,
}

#[derive(Template)]
#[template(path = "sign_in_link.html")]
struct LinkPage {
    shell: Shell,
    name: Option<Shown>,
    token: String,
    is_refused: bool,
}

fn link_page(visit: &Visit, token: String, is_refused: bool) -> Result<Response, PageError> {
    let mut shell = Shell::plain("Sign in with a link");
    shell.has_errors = is_refused;
    let name = if is_refused {
        None
    } else {
        let person = visit.state.engine.identity().person_of_link(&token);
        person
            .map_err(|error| PageError::unavailable(&error))?
            .map(|person| Shown::line(&person.name))
    };
    let is_refused = is_refused || name.is_none();
    let template = LinkPage {
        shell,
        name,
        token,
        is_refused,
    };
    let mut response = page(visit, &template)?;
    if is_refused {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    Ok(response)
}

/// `GET /sign-in/link`: uses nothing up, whatever fetches it.
pub(super) async fn link(
    visit: Visit,
    Query(form): Query<LinkForm>,
) -> Result<Response, PageError> {
    link_page(&visit, form.token, false)
}

/// `POST /sign-in/link`.
pub(super) async fn redeem(
    visit: Visit,
    from: From,
    Sent(form): Sent<LinkForm>,
) -> Result<Response, PageError> {
    let identity = visit.state.engine.identity();
    match identity.redeem_sign_in_link(&form.token, &from.0).await {
        Ok((token, _, _)) => start(&visit, token.expose(), "/queue").await,
        Err(LinkError::Invalid) => link_page(&visit, String::new(), true),
        Err(LinkError::Store(error)) => Err(PageError::unavailable(&error)),
    }
}

/// The form of the sign-out button.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SignOutForm {
    token: String,
}

/// `POST /sign-out`.
pub(super) async fn sign_out(
    visit: Visit,
    Sent(form): Sent<SignOutForm>,
) -> Result<Response, PageError> {
    let mut response = Redirect::to("/sign-in").into_response();
    if let Some(browser) = &visit.browser {
        visit.check_token(&form.token)?;
        let identity = visit.state.engine.identity();
        let ended = identity.end_session(&browser.session).await;
        ended.map_err(|error| PageError::unavailable(&error))?;
    }
    if let Some(cookie) = auth::clear_session(&visit.state.config) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    let clear = HeaderValue::from_static("\"cache\"");
    response.headers_mut().insert("clear-site-data", clear);
    Ok(response)
}

/// The network address that a request came from.
pub(super) struct From(String);

impl axum::extract::FromRequestParts<AppState> for From {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        state: &AppState,
    ) -> Result<Self, Self::Rejection> {
        Ok(Self(
            crate::edge::client_address(parts, &state.config).to_string(),
        ))
    }
}

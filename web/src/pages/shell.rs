//! What every page has around its content, and what every handler needs.

use axum::extract::{FromRequestParts, OptionalFromRequestParts as _};
use axum::response::{Html, IntoResponse as _, Response};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::seeded::Bug;
use holdpoint_engine::time::Timestamp;
use http::request::Parts;
use http::{HeaderMap, Method};

use super::assets;
use super::error::PageError;
use super::flash::Flash;
use super::outcomes;
use super::view::When;
use crate::auth::Browser;
use crate::display::Shown;
use crate::state::AppState;

/// The banner while nothing new is sent.
pub(super) struct PausedView {
    pub(super) by: Shown,
    pub(super) reason: Shown,
    pub(super) since: When,
}

/// What just happened, in words, and in the tone of its note.
pub(super) struct Message {
    pub(super) words: String,
    /// `good`, `plain` or `bad`.
    pub(super) tone: &'static str,
}

/// The frame of a page.
pub(super) struct Shell {
    /// Of the page, as bare text.
    pub(super) title: String,
    /// Whether the page says that a form could not be taken.
    pub(super) has_errors: bool,
    /// The section that is open: `queue`, `runs`, `history`, `tools`, `outcomes`, `settings` or nothing.
    pub(super) section: &'static str,
    /// Who is signed in.
    pub(super) person: Option<Shown>,
    /// Whether the person may see the actions of others.
    pub(super) sees_all: bool,
    /// How many outcomes are unknown, for those who settle them.
    pub(super) outcomes: Option<u64>,
    /// Why nothing new is sent, where that is so.
    pub(super) paused: Option<PausedView>,
    /// Whether the person may change settings.
    pub(super) is_admin: bool,
    /// What just happened.
    pub(super) message: Option<Message>,
    /// Goes back with every form.
    pub(super) token: String,
    /// Names of the files that the page loads.
    pub(super) css: &'static str,
    pub(super) script: &'static str,
    pub(super) icon: &'static str,
}

impl Shell {
    /// A frame for nobody in particular.
    pub(super) fn plain(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            has_errors: false,
            section: "",
            person: None,
            sees_all: false,
            outcomes: None,
            paused: None,
            is_admin: false,
            message: None,
            token: String::new(),
            css: assets::css(),
            script: assets::script(),
            icon: assets::icon(),
        }
    }

    /// A frame for a person.
    pub(super) fn of(principal: &Principal, token: String, title: String) -> Self {
        Self {
            person: Some(Shown::line(&principal.name)),
            sees_all: principal.sees_all(),
            is_admin: principal.has(Role::Admin),
            token,
            ..Self::plain(title)
        }
    }

    pub(super) fn section(mut self, section: &'static str) -> Self {
        self.section = section;
        self
    }
}

/// A request of a browser.
pub(super) struct Visit {
    pub(super) state: AppState,
    pub(super) browser: Option<Browser>,
    pub(super) flash: Option<Flash>,
    pub(super) headers: HeaderMap,
    /// The path and query, to come back to after signing in.
    here: String,
}

impl Visit {
    /// Who is signed in, or the way to the sign-in page.
    pub(super) fn person(&self) -> Result<&Principal, PageError> {
        self.browser
            .as_ref()
            .map(|browser| &browser.principal)
            .ok_or_else(|| PageError::SignIn {
                return_to: self.here.clone(),
            })
    }

    /// The person, who must be allowed to see everything.
    pub(super) fn with_sight(&self) -> Result<&Principal, PageError> {
        let person = self.person()?;
        if person.sees_all() {
            Ok(person)
        } else {
            Err(PageError::Forbidden(
                "This page shows the requests of everybody. Ask an administrator for the role of auditor if you need it; your own requests are in the queue under “My requests”.".into(),
            ))
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.state.engine.now()
    }

    /// The frame of a page for whoever is signed in.
    pub(super) fn shell(&self, title: impl Into<String>) -> Shell {
        let Some(browser) = &self.browser else {
            return Shell::plain(title);
        };
        let (engine, person) = (&self.state.engine, &browser.principal);
        Shell {
            outcomes: outcomes::may_see(person).then(|| engine.unknown_count()),
            paused: engine.paused().map(|paused| PausedView {
                by: Shown::line(&paused.name),
                reason: Shown::line(&paused.reason),
                since: When::new(paused.since, self.now()),
            }),
            ..Shell::of(person, token(browser), title.into())
        }
    }

    /// Whether a form was made for this session (invariant I19).
    pub(super) fn check_token(&self, sent: &str) -> Result<(), PageError> {
        match &self.browser {
            Some(browser) if token(browser) == sent || Bug::TokenNotChecked.is_on() => Ok(()),
            Some(_) | None => Err(PageError::Forbidden(
                "The form belongs to another session, so nothing was recorded. Open the page again and repeat your answer.".into(),
            )),
        }
    }
}

/// Bound to the session, and of no use for anything else: comparing it needs no constant time,
/// since it is a hash that nobody can steer. It names the person, who is still known from it when
/// the session has ended.
fn token(browser: &Browser) -> String {
    let hash = Digest::of(format!("holdpoint form\0{}", browser.session).as_bytes());
    format!("{hash}.{}", browser.principal.id)
}

/// Whose form it says that it was. Nobody may do more for it.
pub(super) fn person_of_token(token: &str) -> &str {
    token.rsplit_once('.').map_or("", |(_, person)| person)
}

impl FromRequestParts<AppState> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let browser = Browser::from_request_parts(parts, state)
            .await
            .map_err(axum::response::IntoResponse::into_response)?;
        let here = parts
            .uri
            .path_and_query()
            .filter(|_| parts.method == Method::GET)
            .map_or("/queue", |here| here.as_str());
        Ok(Self {
            state: state.clone(),
            browser,
            flash: Flash::read(&parts.headers),
            headers: parts.headers.clone(),
            here: here.to_owned(),
        })
    }
}

/// A page, with the message of the last form read and thrown away.
pub(super) fn page(visit: &Visit, template: &impl askama::Template) -> Result<Response, PageError> {
    let mut response = Html(template.render()?).into_response();
    if visit.flash.is_some() {
        Flash::forget(&visit.state.config, response.headers_mut());
    }
    Ok(response)
}

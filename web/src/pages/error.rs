//! Errors as pages: what happened, whether anything was recorded, and a way back.
//!
//! Internal causes go to the log, never to the page.

use askama::Template;
use axum::extract::FromRequestParts as _;
use axum::response::{Html, IntoResponse, Redirect, Response};
use holdpoint_engine::engine::{ActError, ListError};
use holdpoint_engine::full;
use http::StatusCode;
use http::request::Parts;

use super::query;
use super::shell::{Shell, Visit};
use crate::edge::RequestId;
use crate::problem::{Code, Problem};
use crate::state::AppState;

/// A status, a heading and what there is to say.
type Content = (StatusCode, &'static str, String);

const NOTHING: &str = "Nothing was recorded.";
const LOOK: &str = "If you sent an answer, look at the action to see whether it was recorded; sending the same answer twice is safe.";

/// Why there is another page than the one that was asked for.
#[derive(Clone, Debug)]
pub(crate) enum PageError {
    /// Nobody is signed in; where to go afterwards.
    SignIn { return_to: String },
    /// There is nothing here, or nothing that this person may see.
    NotFound,
    /// The person may not do this; why.
    Forbidden(String),
    /// The address or the form makes no sense; why.
    BadRequest(String),
    /// The store cannot take or read it now.
    Unavailable,
    /// There is no room to store anything.
    Full,
    /// A fault of the server.
    Internal,
}

impl PageError {
    /// The store failed: the cause goes to the log.
    pub(super) fn unavailable(cause: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = cause, "the store failed under a page");
        if full::is_full(cause) {
            Self::Full
        } else {
            Self::Unavailable
        }
    }

    fn content(&self) -> Content {
        match self {
            Self::SignIn { .. } => (
                StatusCode::UNAUTHORIZED,
                "Sign in first",
                "Your session has ended.".into(),
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "There is nothing at this address",
                "It does not exist, or it is not yours to see. Check the address, or look for it in the history.".into(),
            ),
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, "You may not do this", why.clone()),
            Self::BadRequest(why) => (
                StatusCode::BAD_REQUEST,
                "This request cannot be read",
                why.clone(),
            ),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The store cannot be reached now",
                "If you sent an answer, it may not have been recorded. Go back, look at the action, and send it again if it does not show your answer: sending the same answer twice is safe.".into(),
            ),
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The disk of the server is full",
                "Nothing was recorded, and nothing new is until somebody makes room there. What was recorded before is safe. Send your answer again then.".into(),
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The server made a mistake",
                LOOK.into(),
            ),
        }
    }
}

impl From<ListError> for PageError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::BadCursor => Self::BadRequest(
                "The address names a place in a list that is not there. Open the list again from its beginning.".into(),
            ),
            ListError::Unavailable(cause) => Self::unavailable(cause.as_ref()),
        }
    }
}

/// For reads; what a refused vote leads to is decided where votes are taken.
impl From<ActError> for PageError {
    fn from(error: ActError) -> Self {
        match error {
            ActError::NotFound => Self::NotFound,
            ActError::Forbidden(why) => Self::Forbidden(why),
            ActError::Refused(refusal) => Self::BadRequest(refusal.to_string()),
            ActError::Unavailable(cause) => Self::unavailable(cause.as_ref()),
        }
    }
}

impl From<askama::Error> for PageError {
    fn from(error: askama::Error) -> Self {
        tracing::error!(%error, "a template failed");
        Self::Internal
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        if let Self::SignIn { return_to } = &self {
            let query = query::pair("return", return_to);
            return Redirect::to(&format!("/sign-in?{query}")).into_response();
        }
        let (status, title, _) = self.content();
        // The outermost layer knows the request and makes the page.
        let mut response = (status, Html(title)).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    shell: Shell,
    explanation: String,
    request_id: String,
}

/// Who reads the page of an error.
pub(crate) struct Reader<'a> {
    pub(crate) state: &'a AppState,
    /// The head of the request.
    pub(crate) parts: &'a Parts,
    pub(crate) id: &'a RequestId,
}

impl Reader<'_> {
    /// The frame of the page: that of whoever is signed in, where the error is not of the server, so
    /// that it can be asked.
    async fn shell(&self, status: StatusCode, title: &str) -> Shell {
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            let mut parts = self.parts.clone();
            if let Ok(visit) = Visit::from_request_parts(&mut parts, self.state).await {
                return visit.shell(title);
            }
        }
        Shell::plain(title)
    }

    async fn page(&self, (status, title, explanation): Content) -> Response {
        let page = ErrorPage {
            shell: self.shell(status, title).await,
            explanation,
            request_id: self.id.0.clone(),
        };
        match page.render() {
            Ok(html) => (status, Html(html)).into_response(),
            Err(_) => (status, Html(title)).into_response(),
        }
    }
}

/// The page for the error that the handler of a page answered with.
pub(crate) async fn handler_page(error: &PageError, reader: &Reader<'_>) -> Response {
    let (status, title, mut explanation) = error.content();
    let is_refused = matches!(
        error,
        PageError::NotFound | PageError::Forbidden(_) | PageError::BadRequest(_)
    );
    let is_form = reader.parts.method == http::Method::POST;
    if is_form && is_refused && !explanation.contains("nothing was recorded") {
        explanation = format!("{NOTHING} {explanation}");
    }
    reader.page((status, title, explanation)).await
}

/// The page for what went wrong before a page could be made, or instead of one.
pub(crate) async fn problem_page(problem: &Problem, reader: &Reader<'_>) -> Response {
    let explained = match problem.code {
        Code::NotFound => PageError::NotFound.content(),
        Code::StorageUnavailable => PageError::Unavailable.content(),
        Code::Internal => PageError::Internal.content(),
        Code::HandlerTimeout => (
            problem.code.status(),
            "The server took too long",
            format!("It is not known here whether it was done. {LOOK}"),
        ),
        Code::RateLimited => (
            problem.code.status(),
            "Too many requests",
            format!("{NOTHING} Wait for a moment, then load the page or send the form again."),
        ),
        Code::CrossOrigin => (
            problem.code.status(),
            "This form came from another site",
            format!(
                "{NOTHING} Open the page here and answer on it. If this happens on this server's own pages, its public URL is not set to the address in your browser: tell whoever runs it."
            ),
        ),
        Code::MethodNotAllowed => (
            problem.code.status(),
            "This address is not opened like this",
            format!(
                "{NOTHING} Forms send to such addresses; go to the queue and open the action again."
            ),
        ),
        Code::PayloadTooLarge => (
            problem.code.status(),
            "The form is too large",
            format!("{NOTHING} Go back, shorten what you wrote, and send it again."),
        ),
        Code::Timeout => (
            problem.code.status(),
            "The form did not arrive in time",
            format!("{NOTHING} Go back and send it again."),
        ),
        other => (
            other.status(),
            "This request cannot be read",
            format!(
                "{NOTHING} The address or the form is not written as this server writes it. Go to the queue or the history and open it from there."
            ),
        ),
    };
    reader.page(explained).await
}

/// A page with nothing but its frame.
#[cfg(test)]
pub(super) fn bare(shell: Shell) -> impl Template {
    ErrorPage {
        shell,
        explanation: String::new(),
        request_id: String::new(),
    }
}

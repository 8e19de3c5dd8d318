//! The shape of errors: a problem for programs, a page for people.
//!
//! Whatever went wrong on the way to a handler, or instead of one, somebody who opened a page in a
//! browser reads in words what happened and whether anything was recorded.

use axum::response::Response;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use tower_http::csrf::ProtectionError;

use crate::edge::RequestId;
use crate::pages::{self, PageError, Reader};
use crate::problem::{Code, PROBLEM_JSON, Problem};
use crate::state::AppState;

/// What an error needs to know of its request.
pub(crate) struct Asked {
    /// The id of the request.
    pub(crate) id: RequestId,
    path: String,
    wants_page: bool,
    /// The head of the request.
    parts: Parts,
}

impl Asked {
    /// Of a request that has this id.
    pub(crate) fn of(parts: &Parts, id: RequestId) -> Self {
        let path = parts.uri.path().to_owned();
        let accepts_pages = parts
            .headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.contains("text/html"));
        Self {
            wants_page: accepts_pages && !is_api(&path),
            path,
            parts: parts.clone(),
            id,
        }
    }
}

/// Whether an address belongs to programs.
pub(crate) fn is_api(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// An error in the shape that its reader can use; anything else as it is.
pub(crate) async fn shape(response: Response, asked: &Asked, state: &AppState) -> Response {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let reader = Reader {
        state,
        parts: &asked.parts,
        id: &asked.id,
    };
    if let Some(error) = response.extensions().get::<PageError>().cloned() {
        return pages::handler_page(&error, &reader).await;
    }
    let media_type = response.headers().get(CONTENT_TYPE);
    let is_page = media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    let problem = match response.extensions().get::<Problem>() {
        Some(problem) => problem.clone(),
        None if is_page || media_type == Some(&PROBLEM_JSON) => return response,
        None if response.extensions().get::<ProtectionError>().is_some() => Problem::new(
            Code::CrossOrigin,
            "a request with a session cookie must come from this server's own pages",
        ),
        None => of_library(status),
    };
    let rendered = problem.render(&asked.path, &asked.id.0);
    let rendered = if asked.wants_page {
        let mut page = pages::problem_page(&problem, &reader).await;
        carry(&rendered, &mut page);
        page
    } else {
        rendered
    };
    with_allow(rendered, response.headers())
}

/// An error that a library made: its text is not ours, and may say too much.
fn of_library(status: StatusCode) -> Problem {
    match status {
        StatusCode::METHOD_NOT_ALLOWED => Problem::new(
            Code::MethodNotAllowed,
            "this address does not take this method; the Allow header lists those that it takes",
        ),
        StatusCode::NOT_FOUND => Problem::new(Code::NotFound, "there is nothing at this address"),
        StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(Code::PayloadTooLarge, "the body is larger than 1 MiB")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(
            Code::UnsupportedMediaType,
            "the body has a media type that is not taken here",
        ),
        _ if status.is_client_error() => Problem::new(
            Code::BadRequest,
            "the request is not written as it should be",
        ),
        _ => Problem::new(
            Code::Internal,
            "the server made a mistake; the log has more",
        ),
    }
}

fn carry(from: &Response, to: &mut Response) {
    if let Some(wait) = from.headers().get(RETRY_AFTER) {
        to.headers_mut().insert(RETRY_AFTER, wait.clone());
    }
}

fn with_allow(mut rendered: Response, original: &HeaderMap) -> Response {
    if let Some(allow) = original.get(ALLOW) {
        rendered.headers_mut().insert(ALLOW, allow.clone());
    }
    rendered
}

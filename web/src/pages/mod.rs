//! What people see in a browser.

use axum::Router;
use axum::response::{IntoResponse, Response};

use crate::problem::{Code, Problem};
use crate::state::AppState;

/// The pages and their assets.
pub fn router() -> Router<AppState> {
    Router::new()
}

/// The answer for an address that nothing else answers, where the client prefers HTML.
pub async fn not_found() -> Response {
    Problem::new(Code::NotFound, "there is no page at this address").into_response()
}

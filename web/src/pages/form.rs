//! Forms, read within a bound (invariant I21).

use axum::Form;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;

use crate::limits;
use crate::problem::{Code, Problem};

/// A form that arrived whole and in time. What cannot be read becomes a page that says so.
pub(super) struct Sent<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let read = Form::from_request(request, state);
        match tokio::time::timeout(limits::BODY_READ, read).await {
            Ok(Ok(Form(form))) => Ok(Self(form)),
            Ok(Err(rejection)) => Err(rejection.into_response()),
            Err(_elapsed) => {
                let detail = "the form did not arrive in time";
                Err(Problem::new(Code::Timeout, detail).into_response())
            }
        }
    }
}

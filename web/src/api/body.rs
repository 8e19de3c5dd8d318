//! Bodies, read once and strictly (invariant I13).

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use holdpoint_engine::canon::{CanonicalJson, parse_strict};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::params::nearest;
use crate::limits;
use crate::problem::{Code, FieldError, Problem};

/// A JSON body: as the type that the route takes, and as the value it was read from.
#[derive(Debug)]
pub(crate) struct Body<T> {
    pub(crate) value: T,
    pub(crate) json: Value,
}

impl<T> Body<T> {
    /// The canonical form of the whole body.
    pub(crate) fn canonical(&self) -> CanonicalJson {
        CanonicalJson::of(&self.json)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        require_json(request.headers())?;
        let bytes = read(request, limits::BODY_READ).await?;
        parse(&bytes)
    }
}

/// A body that may be left out: an empty one is the default.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let headers = request.headers().clone();
        let bytes = read(request, limits::BODY_READ).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        require_json(&headers)?;
        parse(&bytes).map(|body: Body<T>| Self(body.value))
    }
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let is_json = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase())
        .is_some_and(|value| {
            value == "application/json"
                || (value.starts_with("application/") && value.ends_with("+json"))
        });
    if is_json {
        return Ok(());
    }
    Err(Problem::new(
        Code::UnsupportedMediaType,
        "the body must be JSON; send the header Content-Type: application/json",
    ))
}

async fn read(request: Request, at_most: Duration) -> Result<Vec<u8>, Problem> {
    let announced = request.headers().get(CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|bytes| limits::BODY_BYTES_MAX < bytes) {
        // Refused before it is sent.
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), limits::BODY_BYTES_MAX);
    match tokio::time::timeout(at_most, body.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) if is_length_limit(error.as_ref()) => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(
            Code::BadRequest,
            "the body ended before it was complete",
        )),
        Err(_elapsed) => Err(Problem::new(
            Code::Timeout,
            format!("the body did not arrive within {} s", at_most.as_secs()),
        )),
    }
}

fn too_large() -> Problem {
    let detail = format!("the body is larger than {} bytes", limits::BODY_BYTES_MAX);
    Problem::new(Code::PayloadTooLarge, detail)
}

fn is_length_limit(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .any(<dyn std::error::Error>::is::<LengthLimitError>)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<Body<T>, Problem> {
    let json = parse_strict(bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line, error.column);
        let detail = format!("{place}: {}", error.message);
        Problem::new(Code::MalformedJson, detail.clone()).at(vec![FieldError::new(
            error.pointer,
            "malformed_json",
            detail,
        )])
    })?;
    if !json.is_object() {
        // A list would be taken for the members in their order.
        let detail = "the body must be a JSON object: {…}";
        let mistake = FieldError::new("", "wrong_type", detail);
        return Err(Problem::new(Code::InvalidRequest, detail).at(vec![mistake]));
    }
    let value = serde_path_to_error::deserialize(&json).map_err(|error| {
        let mistake = mistake(&pointer(error.path()), &error.inner().to_string());
        Problem::new(Code::InvalidRequest, mistake.detail.clone()).at(vec![mistake])
    })?;
    Ok(Body { value, json })
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", escape(key)),
            Segment::Enum { variant } => format!("/{}", escape(variant)),
            Segment::Unknown => String::new(),
        })
        .collect()
}

fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// Serde's words for a mistake, with the name that was probably meant.
fn mistake(pointer: &str, text: &str) -> FieldError {
    let mut quoted = text.split('`').skip(1).step_by(2);
    if text.starts_with("unknown field") {
        let wrong = quoted.next().unwrap_or_default();
        let known: Vec<&str> = quoted.collect();
        let hint = match nearest(wrong, &known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", known.join(", ")),
        };
        let at = match pointer.rsplit_once('/') {
            Some((_, last)) if last == escape(wrong) => pointer.to_owned(),
            _ => format!("{pointer}/{}", escape(wrong)),
        };
        return FieldError::new(
            at,
            "unknown_field",
            format!("there is no member {wrong}; {hint}"),
        );
    }
    if text.starts_with("missing field") {
        let missing = quoted.next().unwrap_or_default();
        let at = format!("{pointer}/{}", escape(missing));
        return FieldError::new(at, "missing", format!("the member {missing} is missing"));
    }
    FieldError::new(pointer, "wrong_type", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Decision, Submission};

    fn refused<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> Problem {
        parse::<T>(text.as_bytes()).expect_err("it should be refused")
    }

    #[test]
    fn an_unknown_member_is_refused_with_the_name_that_was_meant() {
        let problem = refused::<Submission>(r#"{"tool":"a","args":{},"reson":"x"}"#);
        assert_eq!(problem.code, Code::InvalidRequest);
        assert_eq!(problem.errors[0].pointer, "/reson");
        assert!(
            problem.detail.contains("did you mean reason?"),
            "{}",
            problem.detail
        );
    }

    #[test]
    fn incident_50_a_body_cannot_name_who_votes() {
        let body = r#"{"vote":"approve","digest":"d","revision":1,"person":"per_1"}"#;
        assert_eq!(refused::<Decision>(body).errors[0].code, "unknown_field");
    }

    #[test]
    fn i13_a_list_is_not_taken_for_the_members_in_their_order() {
        for text in [
            r#"["note",{"text":"x"},null,{},null]"#,
            r#"["approve",null,"d",1,null]"#,
            "null",
            "\"note\"",
        ] {
            let problem = refused::<Submission>(text);
            assert_eq!(problem.code, Code::InvalidRequest, "{text}");
            assert_eq!(refused::<Decision>(text).errors[0].code, "wrong_type");
        }
    }

    #[test]
    fn a_missing_member_and_a_wrong_type_name_their_place() {
        let problem = refused::<Submission>(r#"{"args":{}}"#);
        assert_eq!(
            (
                problem.errors[0].pointer.as_str(),
                problem.errors[0].code.as_str()
            ),
            ("/tool", "missing")
        );
        let problem = refused::<Submission>(r#"{"tool":1,"args":{}}"#);
        assert_eq!(
            (
                problem.errors[0].pointer.as_str(),
                problem.errors[0].code.as_str()
            ),
            ("/tool", "wrong_type")
        );
    }

    #[test]
    fn i13_keys_twice_and_inexact_numbers_are_refused_with_their_place() {
        for text in [
            r#"{"tool":"a","args":{"n":1,"n":2}}"#,
            r#"{"tool":"a","args":{"n":9007199254740993}}"#,
        ] {
            let problem = refused::<Submission>(text);
            assert_eq!(problem.code, Code::MalformedJson, "{text}");
            assert!(
                problem.errors[0].pointer.starts_with("/args"),
                "{:?}",
                problem.errors
            );
            assert!(
                problem.detail.starts_with("line 1, column "),
                "{}",
                problem.detail
            );
        }
    }
}

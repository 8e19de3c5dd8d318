//! Query parameters, read strictly: an unknown or repeated one is an error, not ignored.
//!
//! Which there are is said once, where a route is described; [`known`] holds every request against it.

use std::str::FromStr;
use std::time::Duration;

use axum::extract::{FromRequestParts, MatchedPath, Query, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{Method, Uri};

use super::docs;
use crate::problem::{Code, FieldError, Problem};

/// The query parameters of a request, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::read(&parts.uri)
    }
}

/// Refuses a request with a parameter that the description of its route does not name.
pub(super) async fn known(request: Request, next: Next) -> Response {
    let is_asked = request.uri().query().is_some();
    let path = request.extensions().get::<MatchedPath>();
    let names = path
        .filter(|_| is_asked)
        .and_then(|path| names_of(request.method(), path.as_str()));
    if let Some(names) = names
        && let Err(problem) = Params::read(request.uri()).and_then(|params| params.only(&names))
    {
        return problem.into_response();
    }
    next.run(request).await
}

/// The query parameters of a route; none where it does not take the method.
fn names_of(method: &Method, path: &str) -> Option<Vec<&'static str>> {
    // Whoever asks for the head of an answer asks as for the answer.
    let method = match method {
        &Method::HEAD => "GET",
        method => method.as_str(),
    };
    let (.., operation) =
        docs::operations(super::openapi()).find(|found| (found.0, found.1) == (path, method))?;
    let parameters = operation.parameters.iter().flatten();
    let query = parameters.filter_map(docs::parameter);
    let query = query.filter(|parameter| parameter.place == "query");
    Some(query.map(|parameter| parameter.name).collect())
}

impl Params {
    fn read(uri: &Uri) -> Result<Self, Problem> {
        let malformed = || Problem::new(Code::BadRequest, "the query of the address is malformed");
        let Query(pairs): Query<Vec<(String, String)>> =
            Query::try_from_uri(uri).map_err(|_| malformed())?;
        // The decoder puts U+FFFD where there is no UTF-8; a filter for that is not what was meant.
        let query = uri.query().unwrap_or_default().to_ascii_uppercase();
        let is_lossy = pairs
            .iter()
            .any(|(name, value)| name.contains('\u{fffd}') || value.contains('\u{fffd}'));
        if is_lossy && !query.contains("%EF%BF%BD") {
            return Err(malformed());
        }
        Ok(Self(pairs))
    }

    /// Refuses every parameter that is not one of `names`. One that ends in `KEY` stands for all that
    /// begin so.
    fn only(&self, names: &[&str]) -> Result<(), Problem> {
        for (name, _) in &self.0 {
            let is_known = names.iter().any(|known| match known.strip_suffix("KEY") {
                Some(start) => name.strip_prefix(start).is_some_and(|key| !key.is_empty()),
                None => name == known,
            });
            if is_known {
                continue;
            }
            let detail = match nearest(name, names) {
                Some(near) => format!("there is no parameter {name}; did you mean {near}?"),
                None if names.is_empty() => "this address takes no parameters".to_owned(),
                None => format!(
                    "there is no parameter {name}; there are: {}",
                    names.join(", ")
                ),
            };
            return Err(bad(name, "unknown_parameter", detail));
        }
        Ok(())
    }

    /// The value of a parameter that may be there once.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            let detail = format!("the parameter {name} is there more than once");
            return Err(bad(name, "repeated", detail));
        }
        Ok(first)
    }

    /// The values of a parameter that may be repeated, or list several with commas.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The labels that are asked for.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix("label.")?, value.as_str())))
    }

    /// A parameter that `T` can read; `what` says how it is written.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        self.one(name)?
            .map(|text| {
                text.parse()
                    .map_err(|_| bad(name, "malformed", format!("{name} must be {what}")))
            })
            .transpose()
    }

    /// The pairs without one of the names, as a query: for the link to the next page.
    pub(crate) fn without(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(move |(key, _)| key != name)
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// A malformed parameter or header.
pub(crate) fn bad(name: &str, code: &str, detail: impl Into<String>) -> Problem {
    let detail = detail.into();
    Problem::new(Code::BadRequest, detail.clone()).at(vec![FieldError::new(name, code, detail)])
}

/// One number with a unit: `90s`, `30m`, `24h`, `7d`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(seconds)
        .map(Duration::from_secs)
}

/// The name that `wrong` was probably meant to be.
pub(crate) fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    names
        .iter()
        .map(|name| (distance(wrong, name), *name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3))
        .min()
        .map(|(_, name)| name)
}

/// The edit distance, of at most 64 bytes of each.
fn distance(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let (left, right) = (&left[..left.len().min(64)], &right[..right.len().min(64)]);
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour_and_a_strange_one_none() {
        assert_eq!(nearest("reson", &["tool", "reason"]), Some("reason"));
        assert_eq!(nearest("colour", &["tool", "reason"]), None);
    }

    #[test]
    fn durations_have_one_number_and_one_unit() {
        assert_eq!(duration("30m"), Some(Duration::from_mins(30)));
        for text in [
            "",
            "m",
            "30",
            "-1s",
            "1.5h",
            "1h30m",
            "99999999999999999999d",
            "1w",
            "１s",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}

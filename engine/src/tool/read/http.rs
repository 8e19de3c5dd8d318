//! Reading the HTTP calls of a definition.

use std::path::Path;

use ::http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::auth::auth;
use super::body::body;
use super::origin::origin;
use crate::canon::pointer_push;
use crate::tool::fields::{Fields, Place, kind};
use crate::tool::http::{Auth, Body, HttpCall, Method};
use crate::tool::problem::Report;
use crate::tool::template::{Root, Template};

/// What a call may do, by where it stands in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// `execute`: any method, a body, the state.
    Execute,
    /// `state` and `check`: reading only, from the arguments and what belongs to the action.
    Read,
}

impl Use {
    fn roots(self) -> &'static [Root] {
        match self {
            Self::Execute => &[
                Root::Args,
                Root::State,
                Root::StateEtag,
                Root::Caller,
                Root::ActionId,
                Root::IdempotencyKey,
            ],
            Self::Read => &[
                Root::Args,
                Root::Caller,
                Root::ActionId,
                Root::IdempotencyKey,
            ],
        }
    }
}

/// Headers that the engine, the connection or `auth` set.
const HEADERS_RESERVED: [&str; 10] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "proxy-authorization",
    "keep-alive",
];

/// Reads `{"get": URL, …}` and so on.
pub(super) fn call(
    place: &Place<'_>,
    usage: Use,
    base: &Path,
    report: &mut Report<'_>,
) -> Option<HttpCall> {
    let known: &[&str] = match usage {
        Use::Execute => &[
            "get", "post", "put", "patch", "delete", "json", "form", "headers", "auth",
        ],
        Use::Read => &["get", "headers", "auth"],
    };
    let fields = Fields::open(place, known, report)?;
    let methods: Vec<Method> = Method::ALL
        .into_iter()
        .filter(|method| fields.get(method.key()).is_some())
        .collect();
    let roots = usage.roots();
    let headers = headers(&fields, roots, report);
    let body = body(&fields, roots, report);
    let auth = fields
        .get("auth")
        .and_then(|place| auth(&place, base, report));
    if matches!(auth, Some(Auth::Bearer(_) | Auth::Basic { .. }))
        && let Some((name, _)) = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    {
        report.wrong_key(
            &format!("{}/headers/{name}", fields.pointer),
            "auth sets this header already",
            None,
        );
    }
    let &[method] = methods.as_slice() else {
        let message = if methods.is_empty() {
            "the method is missing"
        } else {
            "a call has one method only"
        };
        let help = match usage {
            Use::Execute => "give the URL as the value of one of get, post, put, patch, delete",
            Use::Read => "give the URL as the value of get",
        };
        report.wrong_key(&fields.pointer, message, Some(help.to_owned()));
        return None;
    };
    if method == Method::Get && !matches!(body, Body::None) {
        report.wrong_key(
            &fields.pointer,
            "a GET has no body",
            Some("put the values into the URL".to_owned()),
        );
    }
    let url_place = fields.get(method.key())?;
    let url = template(&url_place, roots, report)?;
    let origin = match origin(&url) {
        Ok(origin) => origin,
        Err(message) => {
            report.wrong(&url_place.pointer, message, None);
            return None;
        }
    };
    Some(HttpCall {
        method,
        origin,
        auth,
        url,
        headers,
        body,
    })
}

/// Reads a template that may use `roots`.
pub(super) fn template(
    place: &Place<'_>,
    roots: &[Root],
    report: &mut Report<'_>,
) -> Option<Template> {
    let text = place.text(report)?;
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(message) => {
            report.wrong(&place.pointer, message, None);
            return None;
        }
    };
    for slot in template.slots() {
        if !roots.contains(&slot.root) {
            let names: Vec<&str> = roots.iter().map(|root| root.name()).collect();
            let message = format!("{{{}}} is not known here", slot.written);
            report.wrong(
                &place.pointer,
                message,
                Some(format!(
                    "a placeholder here starts with {}",
                    names.join(", ")
                )),
            );
        } else if slot.root == Root::StateEtag && !place.pointer.contains("/headers/") {
            report.wrong(
                &place.pointer,
                "{state_etag} can only be a header",
                Some("for instance \"If-Match\": \"{state_etag}\"".to_owned()),
            );
        }
        report.slots.push((slot.clone(), place.pointer.clone()));
    }
    Some(template)
}

fn headers(
    fields: &Fields<'_>,
    roots: &[Root],
    report: &mut Report<'_>,
) -> Vec<(String, Template)> {
    let Some(place) = fields.get("headers") else {
        return Vec::new();
    };
    let Value::Object(map) = place.value else {
        report.wrong(
            &place.pointer,
            format!("expected an object, found {}", kind(place.value)),
            None,
        );
        return Vec::new();
    };
    let mut list = Vec::new();
    for (name, value) in map {
        let place = Place {
            value,
            pointer: pointer_push(&place.pointer, name),
        };
        let lower = name.to_ascii_lowercase();
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            report.wrong_key(
                &place.pointer,
                format!("{name:?} is not the name of a header"),
                None,
            );
        } else if HEADERS_RESERVED.contains(&lower.as_str()) {
            report.wrong_key(
                &place.pointer,
                format!("{name:?} is set by the engine"),
                None,
            );
        } else if list
            .iter()
            .any(|(other, _): &(String, _)| other.eq_ignore_ascii_case(name))
        {
            report.wrong_key(
                &place.pointer,
                format!("{name:?} is there twice, in other case"),
                None,
            );
        }
        let Some(template) = template(&place, roots, report) else {
            continue;
        };
        if template
            .texts()
            .any(|text| HeaderValue::from_str(text).is_err() || !text.is_ascii())
        {
            report.wrong(
                &place.pointer,
                "a header carries visible ASCII characters only",
                None,
            );
        }
        if template.whole().is_none() && template.slots().any(|slot| slot.root == Root::StateEtag) {
            report.wrong(
                &place.pointer,
                "{state_etag} must be the whole value of the header",
                None,
            );
        }
        list.push((name.clone(), template));
    }
    list
}

//! Reading the HTTP calls of a definition.

use std::path::Path;

use ::http::{HeaderName, HeaderValue, Uri};
use serde_json::Value;

use super::fields::{Fields, Place, kind};
use super::http::{Auth, Body, HttpCall, JsonTemplate, Method, Origin, SecretRef};
use super::problem::Report;
use super::template::{Part, Root, Template};

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
            pointer: crate::canon::pointer_push(&place.pointer, name),
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

fn body(fields: &Fields<'_>, roots: &[Root], report: &mut Report<'_>) -> Body {
    match (fields.get("json"), fields.get("form")) {
        (None, None) => Body::None,
        (Some(place), None) => json(&place, roots, report).map_or(Body::None, Body::Json),
        (None, Some(place)) => {
            let Value::Object(map) = place.value else {
                report.wrong(
                    &place.pointer,
                    format!("expected an object, found {}", kind(place.value)),
                    None,
                );
                return Body::None;
            };
            let field = |(name, value): (&String, &Value), report: &mut Report<'_>| {
                // Numbers and booleans stand for their text.
                let text = match value {
                    Value::Number(_) | Value::Bool(_) => Value::String(value.to_string()),
                    Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                        value.clone()
                    }
                };
                let place = Place {
                    value: &text,
                    pointer: crate::canon::pointer_push(&place.pointer, name),
                };
                Some((name.clone(), template(&place, roots, report)?))
            };
            Body::Form(
                map.iter()
                    .filter_map(|entry| field(entry, report))
                    .collect(),
            )
        }
        (Some(_), Some(second)) => {
            report.wrong_key(&second.pointer, "a call has one body: json or form", None);
            Body::None
        }
    }
}

fn json(place: &Place<'_>, roots: &[Root], report: &mut Report<'_>) -> Option<JsonTemplate> {
    let below = |name: &str, value, report: &mut Report<'_>| {
        json(
            &Place {
                value,
                pointer: crate::canon::pointer_push(&place.pointer, name),
            },
            roots,
            report,
        )
    };
    Some(match place.value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            JsonTemplate::Literal(place.value.clone())
        }
        Value::String(_) => JsonTemplate::Text(template(place, roots, report)?),
        Value::Array(items) => JsonTemplate::Array(
            items
                .iter()
                .enumerate()
                .filter_map(|(index, item)| below(&index.to_string(), item, report))
                .collect(),
        ),
        Value::Object(map) => JsonTemplate::Object(
            map.iter()
                .filter_map(|(key, value)| Some((key.clone(), below(key, value, report)?)))
                .collect(),
        ),
    })
}

fn auth(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<Auth> {
    let fields = Fields::open(place, &["bearer", "basic", "header"], report)?;
    let kinds = ["bearer", "basic", "header"];
    let &[kind] = kinds
        .into_iter()
        .filter(|kind| fields.get(kind).is_some())
        .collect::<Vec<_>>()
        .as_slice()
    else {
        let help =
            "for instance \"auth\": { \"bearer\": { \"file\": \"secrets/token\" } }".to_owned();
        report.wrong_key(
            &place.pointer,
            "auth is one of bearer, basic, header",
            Some(help),
        );
        return None;
    };
    let place = fields.get(kind)?;
    match kind {
        "bearer" => secret(&place, base, report).map(Auth::Bearer),
        "basic" => {
            let fields = Fields::open(&place, &["user", "password"], report)?;
            let user = fields
                .require("user", report)
                .and_then(|place| place.text(report))?;
            if user.contains(':') {
                report.wrong(
                    &fields.at("user"),
                    "the name of a user has no colon in basic authentication",
                    None,
                );
            }
            let password = fields
                .require("password", report)
                .and_then(|place| secret(&place, base, report))?;
            Some(Auth::Basic {
                user: user.to_owned(),
                password,
            })
        }
        _ => {
            let fields = Fields::open(&place, &["name", "value"], report)?;
            let name = fields
                .require("name", report)
                .and_then(|place| place.text(report))?;
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                report.wrong(
                    &fields.at("name"),
                    format!("{name:?} is not the name of a header"),
                    None,
                );
            }
            let value = fields
                .require("value", report)
                .and_then(|place| secret(&place, base, report))?;
            Some(Auth::Header {
                name: name.to_owned(),
                value,
            })
        }
    }
}

fn secret(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<SecretRef> {
    if place.value.is_string() {
        let help = "secrets stand in files: { \"file\": \"secrets/token\" }".to_owned();
        report.wrong(
            &place.pointer,
            "a secret does not stand in this file",
            Some(help),
        );
        return None;
    }
    let fields = Fields::open(place, &["file"], report)?;
    let name = fields
        .require("file", report)
        .and_then(|place| place.text(report))?;
    if name.is_empty() {
        report.wrong(&fields.at("file"), "the name of the file is missing", None);
        return None;
    }
    Some(SecretRef {
        name: name.to_owned(),
        path: base.join(name),
    })
}

/// The scheme, host and port of a URL, which must be constant text.
fn origin(url: &Template) -> Result<Origin, String> {
    let example = "write it as https://host/path";
    let Some(Part::Text(start)) = url.parts.first() else {
        return Err(format!(
            "a URL starts with a constant scheme and host, never with a placeholder; {example}"
        ));
    };
    let (scheme, rest) = ["https", "http"]
        .into_iter()
        .find_map(|scheme| Some((scheme, start.strip_prefix(scheme)?.strip_prefix("://")?)))
        .ok_or_else(|| format!("a URL starts with https:// or http://; {example}"))?;
    let end = rest.find(['/', '?']);
    if end.is_none() && url.parts.len() > 1 {
        return Err(format!(
            "a placeholder cannot be part of the host or port; {example}"
        ));
    }
    let authority = &rest[..end.unwrap_or(rest.len())];
    // What is checked is the URL with a harmless value in each placeholder.
    let sample: String = url
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Slot(_) => "x",
        })
        .collect();
    if sample.contains('#') || authority.contains('@') {
        return Err(
            "a URL here has neither a fragment (#) nor a user (@); use auth for credentials"
                .to_owned(),
        );
    }
    let uri: Uri = sample
        .parse()
        .map_err(|error| format!("this is not a valid URL: {error}"))?;
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if !sample.bytes().all(plain) {
        return Err(
            "a URL has no spaces, quotes or other letters than ASCII; percent-encode them"
                .to_owned(),
        );
    }
    let dots = |segment: &str| {
        matches!(
            segment.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        )
    };
    if uri.path().split('/').any(dots) {
        return Err("a path here has no segments . or ..".to_owned());
    }
    let host = uri
        .host()
        .filter(|host| !host.is_empty())
        .ok_or_else(|| format!("the host is missing; {example}"))?;
    if authority.ends_with(':') || (uri.port().is_none() && authority.len() != host.len()) {
        return Err("the port is not a number".to_owned());
    }
    let port = uri
        .port_u16()
        .unwrap_or(if scheme == "https" { 443 } else { 80 });
    Ok(Origin {
        scheme: scheme.to_owned(),
        host: host.to_ascii_lowercase(),
        port,
    })
}

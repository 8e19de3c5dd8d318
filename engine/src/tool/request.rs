//! From a call with placeholders to the exact request.
//!
//! Every value is escaped for where it lands. A value that is missing, or cannot stand where it is
//! asked for, is an error: nothing is ever sent with a hole in it.

use serde_json::{Value, json};

use super::http::{Body, HttpCall, STATE_ETAG};
use super::template::{Part, Root, Slot, Template};
use super::values::{Context, RenderError, look_up, percent, text, unreserved};
use crate::action::Rendered;
use crate::canon::CanonicalJson;
use crate::limits::{HEADER_BYTES_MAX, URL_BYTES_MAX};

pub(super) fn render(
    call: &HttpCall,
    ctx: &Context<'_>,
    key: Option<&str>,
) -> Result<Rendered, RenderError> {
    let url = render_url(&call.url, ctx)?;
    let mut headers = Vec::new();
    let mut content_type = None;
    for (name, template) in &call.headers {
        let value = render_header(template, ctx)?;
        if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(value);
        } else {
            headers.push((name.clone(), value));
        }
    }
    if let Some(key) = key {
        headers.push(("Idempotency-Key".to_owned(), key.to_owned()));
    }
    let (kind, body) = match &call.body {
        Body::None => (None, None),
        Body::Json(template) => {
            let value = template.fill(&|template| json_text(template, ctx))?;
            (
                Some("application/json"),
                Some(CanonicalJson::of(&value).as_str().to_owned()),
            )
        }
        Body::Form(fields) => (
            Some("application/x-www-form-urlencoded"),
            Some(render_form(fields, ctx)?),
        ),
    };
    let content_type = content_type.or_else(|| kind.map(str::to_owned));
    let secrets = call
        .auth
        .iter()
        .map(|auth| auth.secret().name.clone())
        .collect();
    Ok(seal(
        call.method.name(),
        url,
        headers,
        content_type,
        body,
        secrets,
    ))
}

/// Puts the digest on a rendered request.
pub(super) fn seal(
    method: &str,
    url: String,
    headers: Vec<(String, String)>,
    content_type: Option<String>,
    body: Option<String>,
    secrets: Vec<String>,
) -> Rendered {
    let all = json!({
        "method": method, "url": url, "headers": headers, "content_type": content_type, "body": body,
        "secrets": secrets,
    });
    let digest = CanonicalJson::of(&all).digest();
    Rendered {
        method: method.to_owned(),
        url,
        headers,
        content_type,
        body,
        secrets,
        digest,
    }
}

fn render_url(template: &Template, ctx: &Context<'_>) -> Result<String, RenderError> {
    let mut url = String::new();
    let mut in_query = false;
    // The placeholder in the path segment that is being written, if any.
    let mut segment: Option<(usize, &Slot)> = None;
    for part in &template.parts {
        match part {
            Part::Text(text) => {
                if !in_query && let Some(end) = text.find(['/', '?']) {
                    check_segment(&(url.clone() + &text[..end]), segment)?;
                    segment = None;
                }
                in_query |= text.contains('?');
                url.push_str(text);
            }
            Part::Slot(slot) => {
                let value = text(slot, ctx)?;
                if !in_query {
                    if value.is_empty() {
                        return Err(RenderError::of(
                            slot,
                            "is empty; a path needs a value there",
                        ));
                    }
                    let start = url.rfind('/').map_or(0, |at| at + 1);
                    segment = segment.or(Some((start, slot)));
                }
                percent(&mut url, &value, unreserved);
            }
        }
    }
    if !in_query {
        check_segment(&url, segment)?;
    }
    if URL_BYTES_MAX < url.len() {
        let length = url.len();
        return Err(RenderError::whole(format!(
            "the URL would be {length} bytes long, at most {URL_BYTES_MAX} are sent"
        )));
    }
    Ok(url)
}

/// Refuses `.` and `..`: whoever reads the URL would take them for other folders.
fn check_segment(url: &str, segment: Option<(usize, &Slot)>) -> Result<(), RenderError> {
    match segment {
        Some((start, slot)) if matches!(&url[start..], "." | "..") => Err(RenderError::of(
            slot,
            "makes a path segment of dots only, which would lead elsewhere",
        )),
        Some(_) | None => Ok(()),
    }
}

fn render_header(template: &Template, ctx: &Context<'_>) -> Result<String, RenderError> {
    let mut out = String::new();
    for part in &template.parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Slot(slot) if slot.root == Root::StateEtag => out.push_str(STATE_ETAG),
            Part::Slot(slot) => {
                let value = text(slot, ctx)?;
                if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                    return Err(RenderError::of(
                        slot,
                        "has characters that a header cannot carry",
                    ));
                }
                if value.trim() != value {
                    return Err(RenderError::of(
                        slot,
                        "starts or ends with a space, which a header would lose",
                    ));
                }
                if value.contains(STATE_ETAG) {
                    return Err(RenderError::of(
                        slot,
                        "looks like a placeholder of this program",
                    ));
                }
                out.push_str(&value);
            }
        }
    }
    // Two values side by side must not make one either.
    if out.contains(STATE_ETAG) && template.whole().is_none() {
        return Err(RenderError::whole(
            "a header value looks like a placeholder of this program".to_owned(),
        ));
    }
    if HEADER_BYTES_MAX < out.len() {
        return Err(RenderError::whole(format!(
            "a header value would be longer than {HEADER_BYTES_MAX} bytes"
        )));
    }
    Ok(out)
}

fn render_form(fields: &[(String, Template)], ctx: &Context<'_>) -> Result<String, RenderError> {
    let mut out = String::new();
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'-' | b'.' | b'_');
    for (name, template) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        percent(&mut out, name, plain);
        out.push('=');
        percent(&mut out, &joined(template, ctx)?, plain);
    }
    Ok(out)
}

/// A string of a JSON body: a whole-value placeholder keeps its type, all else is text.
fn json_text(template: &Template, ctx: &Context<'_>) -> Result<Value, RenderError> {
    match template.whole() {
        Some(slot) if slot.money.is_none() => look_up(slot, ctx),
        Some(_) | None => joined(template, ctx).map(Value::String),
    }
}

fn joined(template: &Template, ctx: &Context<'_>) -> Result<String, RenderError> {
    template
        .parts
        .iter()
        .try_fold(String::new(), |mut out, part| {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Slot(slot) => out.push_str(&text(slot, ctx)?),
            }
            Ok(out)
        })
}

//! The tools that every run has: plain HTTP calls, made from their arguments alone.
//!
//! Unlike a tool of the tools file they do not say where they go; the arguments do. So nobody can submit
//! them by themselves: they exist only as steps of runs, behind the gate, and on a server only where its
//! configuration says so.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::definition::{Execute, Tool};
use super::file::ToolsFile;
use super::http::Origin;
use super::request::seal;
use super::source::Format;
use super::values::{Context, RenderError, percent, scalar, unreserved};
use crate::action::Rendered;
use crate::canon::CanonicalJson;
use crate::limits::{HEADER_BYTES_MAX, URL_BYTES_MAX};

/// Name, method, and what it is for.
const TOOLS: [(&str, &str, &str); 7] = [
    ("http.get", "GET", "Reads from a URL"),
    ("http.head", "HEAD", "Asks whether a URL is there"),
    (
        "http.options",
        "OPTIONS",
        "Asks what can be done with a URL",
    ),
    ("http.post", "POST", "Sends to a URL"),
    ("http.put", "PUT", "Puts something at a URL"),
    ("http.patch", "PATCH", "Changes a part of what is at a URL"),
    ("http.delete", "DELETE", "Removes what is at a URL"),
];

/// Headers that the engine writes itself.
const OWN_HEADERS: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];

/// The definitions. Their safety class is that of what a run has allowed: what a run may not do, its
/// gate withholds or puts before people.
pub(super) fn definitions() -> Vec<Tool> {
    let text = file().to_string();
    let read = ToolsFile::parse("built-in tools", &text, Format::Json, Path::new(""));
    let Ok(read) = read else {
        crate::store::fatal("the definitions of the built-in tools cannot be read");
    };
    let tools = read.registry.into_tools();
    tools
        .map(|mut tool| {
            let method = TOOLS.iter().find(|(name, ..)| *name == tool.name);
            tool.execute = Execute::Request(method.map_or("GET", |(_, method, _)| method));
            tool
        })
        .collect()
}

fn file() -> Value {
    let definition = |name: &str, method: &str, description: &str| {
        let has_body = !matches!(method, "GET" | "HEAD" | "OPTIONS");
        let mut properties = json!({
            "url": { "type": "string", "minLength": 1 },
            "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            "query": {
                "type": "object",
                "additionalProperties": { "type": ["string", "number", "boolean"] },
            },
        });
        if has_body && let Some(properties) = properties.as_object_mut() {
            properties.insert("body".to_owned(), json!({}));
        }
        let class = if has_body {
            "write-once-checkable"
        } else {
            "idempotent"
        };
        let summary = format!("{method} {{url}}");
        let input = json!({
            "type": "object", "required": ["url"], "properties": properties,
            "additionalProperties": false,
        });
        let definition = json!({
            "description": description, "safetyClass": class, "summary": summary, "input": input,
            "execute": { "local": name },
        });
        (name.to_owned(), definition)
    };
    let tools: Map<String, Value> = TOOLS
        .iter()
        .map(|(name, method, description)| definition(name, method, description))
        .collect();
    json!({ "tools": tools })
}

/// The request that the arguments make.
pub(super) fn render(
    method: &str,
    ctx: &Context<'_>,
    key: Option<&str>,
) -> Result<Rendered, RenderError> {
    let wrong = |pointer: &str, message: String| RenderError {
        pointer: Some(pointer.to_owned()),
        message,
    };
    let text = ctx.args.get("url").and_then(Value::as_str).unwrap_or("");
    let mut url = text.to_owned();
    let mut separator = if url.contains('?') { '&' } else { '?' };
    for (name, value) in members(ctx.args, "query") {
        let value = scalar(value)
            .ok_or_else(|| wrong("/query", format!("{name} is neither text nor a number")))?;
        url.push(separator);
        percent(&mut url, name, unreserved);
        url.push('=');
        // The hole of a secret stays as it is until the call.
        percent(&mut url, &value, |byte| {
            unreserved(byte) || matches!(byte, b'{' | b'}')
        });
        separator = '&';
    }
    origin(&url).map_err(|message| wrong("/url", message))?;
    let mut headers = Vec::new();
    let mut content_type = None;
    for (name, value) in members(ctx.args, "headers") {
        let value = value.as_str().unwrap_or("");
        check_header(name, value).map_err(|message| wrong("/headers", message))?;
        if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(value.to_owned());
        } else {
            headers.push((name.clone(), value.to_owned()));
        }
    }
    let is_keyed = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
    if let Some(key) = key.filter(|_| !is_keyed) {
        headers.push(("Idempotency-Key".to_owned(), key.to_owned()));
    }
    let (kind, body) = match ctx.args.get("body") {
        None | Some(Value::Null) => (None, None),
        Some(Value::String(text)) => (Some("text/plain; charset=utf-8"), Some(text.clone())),
        Some(value) => {
            let text = CanonicalJson::of(value).as_str().to_owned();
            (Some("application/json"), Some(text))
        }
    };
    let content_type = content_type.or_else(|| kind.map(str::to_owned));
    let content_type = content_type.filter(|_| body.is_some());
    Ok(seal(method, url, headers, content_type, body, Vec::new()))
}

fn members<'a>(args: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    args.get(name)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn check_header(name: &str, value: &str) -> Result<(), String> {
    if ::http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(format!("{name:?} cannot be the name of a header"));
    }
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(format!("the header {name} is written by the engine"));
    }
    if HEADER_BYTES_MAX < value.len() {
        return Err(format!(
            "the header {name} is longer than {HEADER_BYTES_MAX} bytes"
        ));
    }
    if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) || value.trim() != value {
        return Err(format!(
            "the header {name} has characters that a header cannot carry"
        ));
    }
    Ok(())
}

/// Where a URL of the arguments goes. Holes of secrets may stand anywhere behind the host.
pub(crate) fn origin(url: &str) -> Result<Origin, String> {
    if URL_BYTES_MAX < url.len() {
        return Err(format!("the URL is longer than {URL_BYTES_MAX} bytes"));
    }
    let (scheme, rest) = ["https", "http"]
        .into_iter()
        .find_map(|scheme| Some((scheme, url.strip_prefix(scheme)?.strip_prefix("://")?)))
        .ok_or("the URL must start with https:// or http://")?;
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    if url.contains('#') || authority.contains('@') {
        return Err("the URL has a fragment (#) or a user (@), which cannot be sent".to_owned());
    }
    // A hole is no part of a URL before it is filled.
    let sample = url.replace("{{", "").replace("}}", "");
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if authority.contains('{') || !sample.bytes().all(plain) {
        let message =
            "the URL has spaces, quotes, or other letters than ASCII; percent-encode them";
        return Err(message.to_owned());
    }
    let uri: ::http::Uri = sample
        .parse()
        .map_err(|error| format!("this is not a valid URL: {error}"))?;
    let host = uri.host().filter(|host| !host.is_empty());
    let host = host.ok_or("the URL has no host")?;
    if authority.ends_with(':') || (uri.port().is_none() && authority.len() != host.len()) {
        return Err("the port of the URL is not a number".to_owned());
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

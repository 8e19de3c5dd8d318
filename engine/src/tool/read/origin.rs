//! Where a call goes: constant text of the file (invariant I17).

use ::http::Uri;

use crate::tool::http::Origin;
use crate::tool::template::{Part, Template};

/// The scheme, host and port of a URL, which must be constant text.
pub(super) fn origin(url: &Template) -> Result<Origin, String> {
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

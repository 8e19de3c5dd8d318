//! From a rendered request to one that can be sent.

use std::time::Duration;

use tokio::time::Instant;

use super::secrets::{self, SecretSource, Secrets};
use super::{Hidden, Outgoing};
use crate::action::Rendered;
use crate::tool::{HttpCall, Origin, origin_of};

/// The longest that connecting may take: beyond it a host is down, not slow.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time until a moment.
pub(super) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// What a tool of the tools file sends, with its credential.
pub(super) async fn outgoing(
    call: &HttpCall,
    rendered: &Rendered,
    source: &dyn SecretSource,
    until: Instant,
) -> Result<(Outgoing, Secrets), String> {
    let mut secrets = Secrets::default();
    let secret_headers = match &call.auth {
        Some(auth) => {
            // A file can be on a disk that does not answer.
            let header = secrets::header(auth, source, &mut secrets);
            let read = tokio::time::timeout_at(until, header).await;
            let name = &auth.secret().name;
            vec![read.map_err(|_| format!("the secret {name} could not be read in time"))??]
        }
        None => Vec::new(),
    };
    let outgoing = outgoing_to(call.origin.clone(), rendered, secret_headers, until);
    Ok((outgoing, secrets))
}

/// What a built-in tool sends: where it goes, the arguments say.
pub(super) fn request(rendered: &Rendered, until: Instant) -> Result<(Outgoing, Secrets), String> {
    let origin = origin_of(&rendered.url)?;
    let outgoing = outgoing_to(origin, rendered, Vec::new(), until);
    Ok((outgoing, Secrets::default()))
}

fn outgoing_to(
    origin: Origin,
    rendered: &Rendered,
    secret_headers: Vec<(String, Hidden)>,
    until: Instant,
) -> Outgoing {
    let timeout = left(until);
    let mut outgoing = Outgoing {
        method: rendered.method.clone(),
        url: rendered.url.clone(),
        origin,
        headers: rendered.headers.clone(),
        secret_headers,
        body: rendered.body.clone(),
        connect_timeout: CONNECT_TIMEOUT.min(timeout),
        timeout,
    };
    add_content_type(&mut outgoing, rendered);
    outgoing
}

/// Says what the body is.
pub(super) fn add_content_type(outgoing: &mut Outgoing, rendered: &Rendered) {
    if let Some(content_type) = &rendered.content_type {
        outgoing
            .headers
            .push(("Content-Type".to_owned(), content_type.clone()));
    }
}

/// Whether there is a header of this name.
pub(super) fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers
        .iter()
        .any(|(other, _)| other.eq_ignore_ascii_case(name))
}

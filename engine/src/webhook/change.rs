//! Creating and changing endpoints.

use std::collections::BTreeSet;
use std::time::Duration;

use holdpoint_storage::Position;

use super::endpoint::Endpoint;
use super::error::WebhookError;
use super::event::{Cause, Event};
use super::id::EndpointId;
use super::key::SigningKey;
use super::layout::damaged;
use super::store::{Draft, Webhooks};
use super::types::{is_known, nearest};
use crate::identity::{Secret, StoreError, text};
use crate::limits::{TOOL_NAME_BYTES_MAX, WEBHOOK_ENDPOINTS_MAX, WEBHOOK_TOOLS_MAX};
use crate::target::notify::origin_of;

/// How long the old secret signs beside a new one, unless somebody says otherwise.
const OVERLAP: Duration = Duration::from_hours(24);

/// The longest that it may.
const OVERLAP_MAX: Duration = Duration::from_hours(30 * 24);

/// An endpoint to be created.
#[derive(Clone, Debug, Default)]
pub struct NewEndpoint {
    /// Whose it is, `per_…` or `key_…`.
    pub owner: String,
    /// The name shown to people.
    pub name: String,
    /// Where messages go.
    pub url: String,
    /// The types of events; empty for all.
    pub types: BTreeSet<String>,
    /// The tools; empty for all.
    pub tools: BTreeSet<String>,
    /// It hears of what follows this position; none for the head of the log.
    pub from: Option<Position>,
}

/// What to change about an endpoint; none stays.
#[derive(Clone, Debug, Default)]
pub struct EndpointChange {
    /// The name from now on.
    pub name: Option<String>,
    /// The URL from now on.
    pub url: Option<String>,
    /// The types from now on; empty for all.
    pub types: Option<BTreeSet<String>>,
    /// The tools from now on; empty for all.
    pub tools: Option<BTreeSet<String>>,
    /// Why.
    pub reason: Option<String>,
}

impl Webhooks {
    /// Creates an endpoint. Its secret is in this answer and nowhere else.
    pub async fn create(
        &self,
        by: &str,
        new: NewEndpoint,
    ) -> Result<(Endpoint, Secret), WebhookError> {
        let name = text::name(&new.name)?;
        let url = checked_url(&new.url)?;
        check_types(&new.types)?;
        check_tools(&new.tools)?;
        let key = self.key()?;
        let turn = self.turn_to_create().await?;
        if !self.has_room() {
            let reason = format!(
                "there are {WEBHOOK_ENDPOINTS_MAX} webhook endpoints already, which is the most; \
                 delete one first"
            );
            return Err(WebhookError::NotPossible(reason));
        }
        let head = self.head()?;
        let from = new.from.unwrap_or(head);
        check_from(from, head)?;
        let at = self.now();
        let mut random = [0; 10];
        self.inner.entropy.fill(&mut random)?;
        let id = EndpointId::new(at, random);
        let secret = key.secret(id, 1);
        let event = Event::Created {
            owner: new.owner,
            name,
            url,
            types: new.types,
            tools: new.tools,
            fingerprint: secret.fingerprint(),
            from,
        };
        let created = self.commit(turn, id, Draft::of(by, at, event)).await?;
        Ok((still_there(created)?, secret.text()))
    }

    /// Changes what an endpoint hears of, or where that goes; holds from the next attempt on. A
    /// change that changes nothing leaves no trace.
    pub async fn change(
        &self,
        by: &str,
        id: EndpointId,
        change: EndpointChange,
    ) -> Result<Endpoint, WebhookError> {
        let name = change.name.map(|name| text::name(&name)).transpose()?;
        let url = change.url.map(|url| checked_url(&url)).transpose()?;
        change.types.as_ref().map_or(Ok(()), check_types)?;
        change.tools.as_ref().map_or(Ok(()), check_tools)?;
        let reason = change.reason.map(|why| text::reason(&why)).transpose()?;
        let (turn, before) = self.turn(id).await?.ok_or(WebhookError::NotFound)?;
        let after = Endpoint {
            name: name.unwrap_or_else(|| before.name.clone()),
            url: url.unwrap_or_else(|| before.url.clone()),
            types: change.types.unwrap_or_else(|| before.types.clone()),
            tools: change.tools.unwrap_or_else(|| before.tools.clone()),
            ..before.clone()
        };
        if after == before {
            return Ok(before);
        }
        let event = Event::Changed {
            name: after.name,
            url: after.url,
            types: after.types,
            tools: after.tools,
            reason,
        };
        let draft = Draft::of(by, self.now(), event);
        still_there(self.commit(turn, id, draft).await?)
    }

    /// Gives the endpoint a new secret, which is in this answer and nowhere else. The old one signs
    /// as well for `overlap`, 24 hours where none is named.
    pub async fn rotate(
        &self,
        by: &str,
        id: EndpointId,
        overlap: Option<Duration>,
        reason: Option<String>,
    ) -> Result<(Endpoint, Secret), WebhookError> {
        let reason = reason.map(|why| text::reason(&why)).transpose()?;
        let overlap = overlap.unwrap_or(OVERLAP);
        if OVERLAP_MAX < overlap {
            return Err(WebhookError::invalid("overlap", "is longer than 30 days"));
        }
        let key = self.key()?;
        let (turn, before) = self.turn(id).await?.ok_or(WebhookError::NotFound)?;
        let secret = key.secret(id, before.next_generation());
        let at = self.now();
        let event = Event::SecretRotated {
            fingerprint: secret.fingerprint(),
            old_until: at.plus(overlap),
            reason,
        };
        let rotated = self.commit(turn, id, Draft::of(by, at, event)).await?;
        Ok((still_there(rotated)?, secret.text()))
    }

    /// Sends nothing any more; the place is kept. Of a disabled endpoint nothing changes.
    pub async fn disable(
        &self,
        by: &str,
        id: EndpointId,
        cause: Cause,
        reason: &str,
    ) -> Result<Endpoint, WebhookError> {
        let reason = text::reason(reason)?;
        let (turn, before) = self.turn(id).await?.ok_or(WebhookError::NotFound)?;
        if !before.is_enabled() {
            return Ok(before);
        }
        let through = before.place.through;
        let event = Event::Disabled {
            cause,
            reason,
            through,
        };
        let draft = Draft {
            deliveries: self.held(&before)?,
            ..Draft::of(by, self.now(), event)
        };
        still_there(self.commit(turn, id, draft).await?)
    }

    /// Sends again, from where it stood, or from another position where one is named: what lies in
    /// between is then skipped, or sent again under the same ids.
    pub async fn enable(
        &self,
        by: &str,
        id: EndpointId,
        from: Option<Position>,
        reason: &str,
    ) -> Result<Endpoint, WebhookError> {
        let reason = text::reason(reason)?;
        let (turn, before) = self.turn(id).await?.ok_or(WebhookError::NotFound)?;
        if before.is_enabled() {
            return match from {
                None => Ok(before),
                Some(_) => Err(WebhookError::NotPossible(
                    "an endpoint is moved only while it is disabled; disable it first".to_owned(),
                )),
            };
        }
        let from = from.unwrap_or(before.place.through);
        check_from(from, self.head()?)?;
        let now = self.now();
        let draft = Draft {
            deliveries: self.released(id, from, now)?,
            ..Draft::of(by, now, Event::Enabled { reason, from })
        };
        still_there(self.commit(turn, id, draft).await?)
    }

    /// Deletes an endpoint, with what is kept of its messages. Its history stays.
    pub async fn delete(&self, by: &str, id: EndpointId, reason: &str) -> Result<(), WebhookError> {
        let reason = text::reason(reason)?;
        let (turn, _) = self.turn(id).await?.ok_or(WebhookError::NotFound)?;
        let draft = Draft::of(by, self.now(), Event::Deleted { reason });
        self.commit(turn, id, draft).await?;
        Ok(())
    }

    /// What secrets are made from; else why nothing can be sent, and what to do.
    pub(super) fn key(&self) -> Result<SigningKey, WebhookError> {
        let key = self.inner.key.clone();
        key.map_err(|why| WebhookError::NotPossible(off(&why)))
    }

    fn head(&self) -> Result<Position, WebhookError> {
        Ok(self.inner.log.stats()?.last_position)
    }
}

/// Why nothing is sent to anybody.
pub(super) fn off(why: &str) -> String {
    format!("no webhooks are sent: {why}")
}

fn still_there(endpoint: Option<Endpoint>) -> Result<Endpoint, WebhookError> {
    endpoint.ok_or_else(|| {
        let error: StoreError = damaged("an endpoint", "it is gone after it was changed");
        error.into()
    })
}

fn checked_url(url: &str) -> Result<String, WebhookError> {
    let url = url.trim();
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_plain {
        let reason = "has spaces or characters outside ASCII; percent-encode them";
        return Err(WebhookError::invalid("url", reason));
    }
    origin_of(url).map_err(|reason| WebhookError::invalid("url", reason))?;
    Ok(url.to_owned())
}

fn check_types(types: &BTreeSet<String>) -> Result<(), WebhookError> {
    match types.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(wrong) => {
            let hint = nearest(wrong).map_or_else(
                || "docs/WEBHOOKS.md lists them".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            let shown: String = wrong.chars().take(80).collect();
            let reason = format!("have none named {shown:?}; {hint}");
            Err(WebhookError::invalid("types", reason))
        }
    }
}

fn check_tools(tools: &BTreeSet<String>) -> Result<(), WebhookError> {
    let is_name = |name: &String| {
        (1..=TOOL_NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if WEBHOOK_TOOLS_MAX < tools.len() || !tools.iter().all(is_name) {
        let reason = format!("must be at most {WEBHOOK_TOOLS_MAX} names of tools");
        return Err(WebhookError::invalid("tools", reason));
    }
    Ok(())
}

fn check_from(from: Position, head: Position) -> Result<(), WebhookError> {
    if head < from {
        let reason = format!("is beyond the end of the log, which is at {head}");
        return Err(WebhookError::invalid("from", reason));
    }
    Ok(())
}

//! What the facts about an endpoint add up to. Pure: live and on replay the same.

use std::collections::BTreeSet;

use bincode::{Decode, Encode};
use holdpoint_storage::{Position, Version};

use super::event::{Cause, Event};
use super::id::EndpointId;
use crate::canon::Digest;
use crate::time::Timestamp;

/// The most secrets that sign at once: rotating more often ends the oldest ones early.
const GENERATIONS_MAX: usize = 4;

/// Somebody who wants to hear of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `whk_…`
    pub id: EndpointId,
    /// Whose it is, `per_…` or `key_…`: it hears of what the owner may see.
    pub owner: String,
    /// The name shown to people.
    pub name: String,
    /// Where messages go.
    pub url: String,
    /// The types of events that it hears of; empty for all.
    pub types: BTreeSet<String>,
    /// The tools whose actions it hears of; empty for all.
    pub tools: BTreeSet<String>,
    /// Its secrets, the newest last. The secrets themselves are nowhere.
    pub generations: Vec<Generation>,
    /// Why nothing is sent; none while it is enabled.
    pub disabled: Option<Disabled>,
    /// Why nothing is sent although it is enabled, where that is so. It is a matter of the process that
    /// has the log open, and stands in no log.
    pub silent: Option<String>,
    /// How far it is.
    pub place: Place,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// One secret of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Counts from 1.
    pub number: u32,
    /// The SHA-256 of the secret.
    pub fingerprint: Digest,
    /// Until when it signs; none for the newest.
    pub until: Option<Timestamp>,
}

/// Why nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// Who or what ended it.
    pub cause: Cause,
    /// Why, in words.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// How far an endpoint is in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Place {
    /// The version of the endpoint's stream at which it was placed there by somebody. What was
    /// sent from an earlier place moves a later one no more.
    pub epoch: Version,
    /// The last position that it is done with.
    pub through: Position,
    /// The event that is being tried.
    pub trying: Option<Trying>,
    /// Messages since the place was last recorded in the log.
    pub unrecorded: u32,
}

/// An event that was not taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Trying {
    /// Which event.
    pub position: Position,
    /// How often it was sent.
    pub attempts: u32,
    /// When it is sent again.
    pub next_at: Timestamp,
}

impl Endpoint {
    /// Whether messages are sent.
    pub fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    /// The secrets that sign at a moment, the newest first.
    pub(super) fn signing(&self, now: Timestamp) -> impl Iterator<Item = &Generation> {
        let lasts = move |generation: &&Generation| generation.until.is_none_or(|end| now < end);
        self.generations.iter().rev().filter(lasts)
    }

    /// The number that the next secret gets.
    pub(super) fn next_generation(&self) -> u32 {
        self.generations
            .last()
            .map_or(1, |newest| newest.number.saturating_add(1))
    }

    /// The place with this event tried no more: it was taken, or is none that the endpoint hears of.
    pub(super) fn done_with(&self, position: Position) -> Place {
        Place {
            through: self.place.through.max(position),
            trying: None,
            ..self.place
        }
    }
}

/// Applies one fact that stands at `version` of the stream; says what is wrong where it cannot
/// follow. None once it is deleted.
pub(super) fn evolve(
    state: Option<Endpoint>,
    id: EndpointId,
    version: Version,
    at: Timestamp,
    event: &Event,
) -> Result<Option<Endpoint>, String> {
    if let Event::Created { .. } = event {
        return match state {
            None => Ok(created(id, version, at, event)),
            Some(_) => Err(format!("{id} was created twice")),
        };
    }
    let mut endpoint = state.ok_or_else(|| format!("{} before {id} was created", event.kind()))?;
    match event {
        Event::Created { .. } | Event::DeliveryExhausted { .. } => {}
        Event::Changed {
            name,
            url,
            types,
            tools,
            reason: _,
        } => {
            endpoint.name.clone_from(name);
            endpoint.url.clone_from(url);
            endpoint.types.clone_from(types);
            endpoint.tools.clone_from(tools);
            endpoint.updated_at = at;
        }
        Event::SecretRotated {
            fingerprint,
            old_until,
            reason: _,
        } => {
            let number = endpoint.next_generation();
            for old in &mut endpoint.generations {
                old.until = Some(old.until.map_or(*old_until, |until| until.min(*old_until)));
            }
            endpoint.generations.push(Generation {
                number,
                fingerprint: *fingerprint,
                until: None,
            });
            let more = endpoint.generations.len().saturating_sub(GENERATIONS_MAX);
            endpoint.generations.drain(..more);
            endpoint.updated_at = at;
        }
        Event::Disabled {
            cause,
            reason,
            through,
        } => {
            endpoint.disabled = Some(Disabled {
                cause: *cause,
                reason: reason.clone(),
                at,
            });
            endpoint.place = endpoint.done_with(*through);
            endpoint.updated_at = at;
        }
        Event::Enabled { reason: _, from } => {
            endpoint.disabled = None;
            endpoint.place = Place::at(version, *from);
            endpoint.updated_at = at;
        }
        Event::Deleted { reason: _ } => return Ok(None),
        Event::Progressed { through } => {
            endpoint.place = endpoint.done_with(*through);
            endpoint.place.unrecorded = 0;
        }
    }
    Ok(Some(endpoint))
}

impl Place {
    fn at(epoch: Version, through: Position) -> Self {
        Self {
            epoch,
            through,
            ..Self::default()
        }
    }
}

fn created(id: EndpointId, version: Version, at: Timestamp, event: &Event) -> Option<Endpoint> {
    let Event::Created {
        owner,
        name,
        url,
        types,
        tools,
        fingerprint,
        from,
    } = event
    else {
        return None;
    };
    Some(Endpoint {
        id,
        owner: owner.clone(),
        name: name.clone(),
        url: url.clone(),
        types: types.clone(),
        tools: tools.clone(),
        generations: vec![Generation {
            number: 1,
            fingerprint: *fingerprint,
            until: None,
        }],
        disabled: None,
        silent: None,
        place: Place::at(version, *from),
        created_at: at,
        updated_at: at,
    })
}

//! Webhook endpoints and deliveries on the wire.

use std::collections::BTreeSet;

use holdpoint_engine::time::Timestamp;
use holdpoint_engine::webhook;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Somebody who wants to hear of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookEndpoint {
    /// `whk_…`
    pub id: String,
    /// The name shown to people.
    pub name: String,
    /// Where messages go.
    pub url: String,
    /// Whose it is, `per_…` or `key_…`: it hears of what the owner may see.
    pub owner: String,
    /// The types of events that it hears of; empty for all.
    pub types: BTreeSet<String>,
    /// The tools whose actions it hears of; empty for all.
    pub tools: BTreeSet<String>,
    /// Whether messages are sent.
    pub enabled: bool,
    /// Why not; none while it is enabled.
    pub disabled: Option<WebhookDisabled>,
    /// Why nothing is sent although it is enabled, in words: the server has no key to sign with; none
    /// where messages are sent.
    pub silent: Option<String>,
    /// The last position of the log that it is done with.
    pub position: u64,
    /// The event that it did not take yet.
    pub trying: Option<WebhookTrying>,
    /// Until when the secret before the newest signs as well.
    pub old_secret_until: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
}

/// Why nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDisabled {
    /// `person`, `gone`, `exhausted`, `owner_lost`, `secret_lost`.
    pub cause: String,
    /// The same in words.
    pub reason: String,
    /// When.
    pub at: String,
}

/// An event that was not taken yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookTrying {
    /// Its place in the log.
    pub position: u64,
    /// How often it was sent.
    pub attempts: u32,
    /// When it is sent again.
    pub next_attempt_at: String,
}

impl From<&webhook::Endpoint> for WebhookEndpoint {
    fn from(endpoint: &webhook::Endpoint) -> Self {
        let older = endpoint.generations.iter().rev().nth(1);
        Self {
            id: endpoint.id.to_string(),
            name: endpoint.name.clone(),
            url: endpoint.url.clone(),
            owner: endpoint.owner.clone(),
            types: endpoint.types.clone(),
            tools: endpoint.tools.clone(),
            enabled: endpoint.is_enabled(),
            disabled: endpoint.disabled.as_ref().map(|it| WebhookDisabled {
                cause: it.cause.name().into(),
                reason: it.reason.clone(),
                at: it.at.rfc3339(),
            }),
            silent: endpoint.silent.clone(),
            position: endpoint.place.through,
            trying: endpoint.place.trying.map(|it| WebhookTrying {
                position: it.position,
                attempts: it.attempts,
                next_attempt_at: it.next_at.rfc3339(),
            }),
            old_secret_until: older.and_then(|it| it.until).map(Timestamp::rfc3339),
            created_at: endpoint.created_at.rfc3339(),
            updated_at: endpoint.updated_at.rfc3339(),
        }
    }
}

/// All endpoints that the credential may see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookEndpoints {
    /// The endpoints, by the time of creation.
    pub data: Vec<WebhookEndpoint>,
}

/// An endpoint to be created.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhookEndpoint {
    /// The name shown to people, at most 100 characters.
    pub name: String,
    /// Where messages go: `https`, or `http` for names and addresses that are never public.
    pub url: String,
    /// The types of events; empty for all.
    #[serde(default)]
    pub types: BTreeSet<String>,
    /// The tools; empty for all.
    #[serde(default)]
    pub tools: BTreeSet<String>,
    /// Whose it is; the credential's own where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// It hears of what follows this position; the end of the log where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// What to change about an endpoint; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpointChange {
    /// The name from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL from the next attempt on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The types from now on; empty for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<String>>,
    /// The tools from now on; empty for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An endpoint with a secret that was just made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    /// Verifies messages, `whsec_…`. Shown once.
    pub secret: String,
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
}

/// How to change over to a new secret.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRotation {
    /// How long the old secret signs as well: `0s` to `30d`, 24 hours where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How to go on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEnabling {
    /// Why, for the history; required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It goes on after this position; where it stood where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// One message to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDelivery {
    /// The `webhook-id`, `msg_…`, the same for every attempt.
    pub id: String,
    /// The endpoint.
    pub endpoint: String,
    /// The type of the message.
    #[serde(rename = "type")]
    pub kind: String,
    /// The place of the event in the log; none for a test.
    pub position: Option<u64>,
    /// The action that it is about.
    pub action_id: Option<String>,
    /// `pending`, `delivered`, `failed`, `held` (its endpoint is disabled) or `dropped`.
    pub status: String,
    /// Why nothing is sent, of one that is held or dropped.
    pub note: Option<String>,
    /// When it is sent again.
    pub next_attempt_at: Option<String>,
    /// How often it was sent.
    pub attempts_made: u32,
    /// The latest attempts, the newest last.
    pub attempts: Vec<WebhookAttempt>,
}

/// One attempt to send a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookAttempt {
    /// When it began.
    pub at: String,
    /// How long it took.
    pub took_ms: u64,
    /// The status of the answer.
    pub http_status: Option<u16>,
    /// Why it did not count.
    pub error: Option<String>,
    /// Who asked for it; none for an attempt of the schedule.
    pub by: Option<String>,
}

impl From<&webhook::Delivery> for WebhookDelivery {
    fn from(delivery: &webhook::Delivery) -> Self {
        let attempt = |it: &webhook::Attempt| WebhookAttempt {
            at: it.at.rfc3339(),
            took_ms: it.took_ms,
            http_status: it.status,
            error: it.error.clone(),
            by: it.by.clone(),
        };
        let next = match delivery.state {
            webhook::DeliveryState::Pending { next_at } => Some(next_at.rfc3339()),
            webhook::DeliveryState::Delivered
            | webhook::DeliveryState::Failed
            | webhook::DeliveryState::Held
            | webhook::DeliveryState::Dropped => None,
        };
        Self {
            id: delivery.id.to_string(),
            endpoint: delivery.id.endpoint().to_string(),
            kind: delivery.kind.clone(),
            position: delivery.id.position(),
            action_id: delivery.action.map(|id| id.to_string()),
            status: delivery.state.name().into(),
            note: delivery.state.words().map(Into::into),
            next_attempt_at: next,
            attempts_made: delivery.made,
            attempts: delivery.attempts.iter().map(attempt).collect(),
        }
    }
}

/// The messages that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDeliveries {
    /// The messages, the one that was sent last first.
    pub data: Vec<WebhookDelivery>,
}

//! What the pages of webhooks show.

use std::collections::BTreeSet;

use holdpoint_engine::identity::Identity;
use holdpoint_engine::time::Timestamp;
use holdpoint_engine::webhook::{Attempt, Delivery, DeliveryState, Endpoint};

use crate::display::Shown;
use crate::pages::view::When;

/// The fields of a form about an endpoint, as they are typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) types: String,
    pub(super) tools: String,
    pub(super) owner: String,
    pub(super) from: String,
    pub(super) reason: String,
}

impl Fields {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self {
            name: endpoint.name.clone(),
            url: endpoint.url.clone(),
            types: joined(&endpoint.types),
            tools: joined(&endpoint.tools),
            ..Self::default()
        }
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    names.join(" ")
}

/// An endpoint.
pub(super) struct EndpointView {
    pub(super) id: String,
    pub(super) name: Shown,
    pub(super) url: Shown,
    pub(super) owner: Shown,
    pub(super) types: Shown,
    pub(super) tools: Shown,
    pub(super) is_enabled: bool,
    pub(super) state: &'static str,
    pub(super) badge: &'static str,
    pub(super) disabled: Option<(Shown, When)>,
    pub(super) silent: Option<Shown>,
    pub(super) trying: Option<(u64, u32, When)>,
    pub(super) position: u64,
    pub(super) old_secret_until: Option<When>,
    pub(super) created: When,
    pub(super) changed: When,
}

impl EndpointView {
    pub(super) fn new(endpoint: &Endpoint, identity: &Identity, now: Timestamp) -> Self {
        let all_or = |names: &BTreeSet<String>| {
            if names.is_empty() {
                Shown::line("all")
            } else {
                Shown::line(&joined(names))
            }
        };
        let owner = identity
            .principal(&endpoint.owner)
            .map_or_else(|| endpoint.owner.clone(), |owner| owner.name);
        let (state, badge) = match (&endpoint.disabled, &endpoint.silent, endpoint.place.trying) {
            (Some(_), _, _) => ("Disabled", "bad"),
            (None, Some(_), _) => ("Silent", "bad"),
            (None, None, Some(_)) => ("Failing", "wait"),
            (None, None, None) => ("Enabled", "good"),
        };
        let older = endpoint.generations.iter().rev().nth(1);
        let until = older.and_then(|it| it.until).filter(|until| now < *until);
        Self {
            id: endpoint.id.to_string(),
            name: Shown::line(&endpoint.name),
            url: Shown::line(&endpoint.url),
            owner: Shown::line(&owner),
            types: all_or(&endpoint.types),
            tools: all_or(&endpoint.tools),
            is_enabled: endpoint.is_enabled(),
            state,
            badge,
            disabled: endpoint
                .disabled
                .as_ref()
                .map(|it| (Shown::line(&it.reason), When::new(it.at, now))),
            silent: endpoint.silent.as_deref().map(Shown::line),
            trying: endpoint
                .place
                .trying
                .map(|it| (it.position, it.attempts, When::new(it.next_at, now))),
            position: endpoint.place.through,
            old_secret_until: until.map(|until| When::new(until, now)),
            created: When::new(endpoint.created_at, now),
            changed: When::new(endpoint.updated_at, now),
        }
    }
}

/// A message.
pub(super) struct DeliveryView {
    pub(super) id: String,
    pub(super) kind: Shown,
    pub(super) position: Option<u64>,
    pub(super) action: Option<String>,
    pub(super) state: &'static str,
    pub(super) badge: &'static str,
    pub(super) next: Option<When>,
    pub(super) made: u32,
    pub(super) attempts: Vec<AttemptView>,
}

/// What came of an attempt.
pub(super) fn outcome(attempt: &Attempt) -> Shown {
    Shown::line(&match (&attempt.error, attempt.status) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => format!("answered {status}"),
        (None, None) => "taken".to_owned(),
    })
}

/// One attempt.
pub(super) struct AttemptView {
    pub(super) at: When,
    pub(super) took_ms: u64,
    pub(super) outcome: Shown,
    pub(super) by_hand: bool,
}

impl DeliveryView {
    pub(super) fn new(delivery: &Delivery, now: Timestamp) -> Self {
        let (state, badge, next) = match delivery.state {
            DeliveryState::Pending { next_at } => ("Again later", "wait", Some(next_at)),
            DeliveryState::Delivered => ("Delivered", "good", None),
            DeliveryState::Failed => ("Failed", "bad", None),
            DeliveryState::Held => ("Held until it is enabled", "wait", None),
            DeliveryState::Dropped => ("Not sent any more", "off", None),
        };
        let attempt = |it: &Attempt| AttemptView {
            at: When::new(it.at, now),
            took_ms: it.took_ms,
            outcome: outcome(it),
            by_hand: it.by.is_some(),
        };
        Self {
            id: delivery.id.to_string(),
            kind: Shown::line(&delivery.kind),
            position: delivery.id.position(),
            action: delivery.action.map(|id| id.to_string()),
            state,
            badge,
            next: next.map(|at| When::new(at, now)),
            made: delivery.made,
            attempts: delivery.attempts.iter().rev().map(attempt).collect(),
        }
    }
}

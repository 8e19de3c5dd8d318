//! Webhook endpoints, for whoever may see and change them (invariant I18).
//!
//! Administrators manage all endpoints. A service, or a person, with the scope `webhooks:write`
//! manages the own ones; agents manage none, since an endpoint is a way out. Owners, auditors and
//! operators may look.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::Position;

use super::Engine;
use crate::action::PrincipalKind;
use crate::identity::{Principal, Role, Secret};
use crate::target::Notifier;
use crate::webhook::{
    Cause, Delivery, Endpoint, EndpointChange, EndpointId, MessageId, NewEndpoint, SigningKey,
    WebhookError, Webhooks,
};

/// What a principal needs to manage the own endpoints.
const SCOPE: &str = "webhooks:write";

/// How endpoints are told of events. The default has no key: nobody is told.
pub struct WebhookOptions {
    /// What secrets are made from; else why there is no key, and what to do about it.
    pub key: Result<SigningKey, String>,
    /// Where people and programs reach the server, without a slash at its end; links in messages
    /// begin with it.
    pub public_url: Option<String>,
    /// What takes the place of the network; none for the real one.
    pub notifier: Option<Arc<dyn Notifier>>,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self {
            key: Err("this process was given no key for them".to_owned()),
            public_url: None,
            notifier: None,
        }
    }
}

impl Engine {
    /// The endpoints that the principal may see, by the time of creation.
    pub fn webhooks(&self, by: &Principal) -> Vec<Endpoint> {
        let mut found = self.hooks().list();
        found.retain(|endpoint| may_look(by, endpoint));
        found
    }

    /// One endpoint.
    pub fn webhook(&self, by: &Principal, id: EndpointId) -> Result<Endpoint, WebhookError> {
        let found = self.hooks().get(id);
        found
            .filter(|endpoint| may_look(by, endpoint))
            .ok_or(WebhookError::NotFound)
    }

    /// Creates an endpoint; without an owner it is the principal's own. Its secret is in this answer
    /// and nowhere else.
    pub async fn create_webhook(
        &self,
        by: &Principal,
        mut new: NewEndpoint,
    ) -> Result<(Endpoint, Secret), WebhookError> {
        if new.owner.is_empty() {
            new.owner.clone_from(&by.id);
        }
        if !may_manage(by, &new.owner) {
            return Err(forbidden());
        }
        if self.identity().principal(&new.owner).is_none() {
            return Err(WebhookError::Invalid {
                field: "owner",
                reason: "is nobody who can act; name a person (per_…) or a key (key_…)".to_owned(),
            });
        }
        self.hooks().create(&by.id, new).await
    }

    /// Changes what an endpoint hears of, or where that goes.
    pub async fn change_webhook(
        &self,
        by: &Principal,
        id: EndpointId,
        change: EndpointChange,
    ) -> Result<Endpoint, WebhookError> {
        self.managed_webhook(by, id)?;
        self.hooks().change(&by.id, id, change).await
    }

    /// Gives it a new secret; the old one signs as well for `overlap`.
    pub async fn rotate_webhook(
        &self,
        by: &Principal,
        id: EndpointId,
        overlap: Option<Duration>,
        reason: Option<String>,
    ) -> Result<(Endpoint, Secret), WebhookError> {
        self.managed_webhook(by, id)?;
        self.hooks().rotate(&by.id, id, overlap, reason).await
    }

    /// Sends nothing to it any more; its place is kept.
    pub async fn disable_webhook(
        &self,
        by: &Principal,
        id: EndpointId,
        reason: &str,
    ) -> Result<Endpoint, WebhookError> {
        self.managed_webhook(by, id)?;
        let hooks = self.hooks();
        hooks.disable(&by.id, id, Cause::Person, reason).await
    }

    /// Sends to it again, from where it stood or from another position.
    pub async fn enable_webhook(
        &self,
        by: &Principal,
        id: EndpointId,
        from: Option<Position>,
        reason: &str,
    ) -> Result<Endpoint, WebhookError> {
        self.managed_webhook(by, id)?;
        self.hooks().enable(&by.id, id, from, reason).await
    }

    /// Deletes it; its history stays.
    pub async fn delete_webhook(
        &self,
        by: &Principal,
        id: EndpointId,
        reason: &str,
    ) -> Result<(), WebhookError> {
        self.managed_webhook(by, id)?;
        self.hooks().delete(&by.id, id, reason).await
    }

    /// Sends a test to it, at once and once.
    pub async fn test_webhook(
        &self,
        by: &Principal,
        id: EndpointId,
    ) -> Result<Delivery, WebhookError> {
        self.managed_webhook(by, id)?;
        self.inner.sender.test(&by.id, id).await
    }

    /// The messages to an endpoint that are kept, the one that was sent last first.
    pub fn webhook_deliveries(
        &self,
        by: &Principal,
        id: EndpointId,
    ) -> Result<Vec<Delivery>, WebhookError> {
        self.webhook(by, id)?;
        Ok(self.hooks().deliveries(id)?)
    }

    /// One message, where it is kept.
    pub fn webhook_delivery(
        &self,
        by: &Principal,
        id: MessageId,
    ) -> Result<Delivery, WebhookError> {
        self.webhook(by, id.endpoint())?;
        self.hooks().delivery(id)?.ok_or(WebhookError::NotFound)
    }

    /// Sends an event once more, at once and once, under the same id.
    pub async fn redeliver_webhook(
        &self,
        by: &Principal,
        id: MessageId,
    ) -> Result<Delivery, WebhookError> {
        self.managed_webhook(by, id.endpoint())?;
        self.inner.sender.redeliver(&by.id, id).await
    }

    fn hooks(&self) -> &Webhooks {
        &self.inner.sender.hooks
    }

    fn managed_webhook(&self, by: &Principal, id: EndpointId) -> Result<(), WebhookError> {
        let endpoint = self.webhook(by, id)?;
        if may_manage(by, &endpoint.owner) {
            Ok(())
        } else {
            Err(forbidden())
        }
    }
}

fn may_look(by: &Principal, endpoint: &Endpoint) -> bool {
    let roles = [Role::Admin, Role::Auditor, Role::Operator];
    roles.into_iter().any(|role| by.has(role)) || endpoint.owner == by.id
}

fn may_manage(by: &Principal, owner: &str) -> bool {
    let is_own = owner == by.id && by.kind != PrincipalKind::Agent && by.scopes.contains(SCOPE);
    by.has(Role::Admin) || is_own
}

fn forbidden() -> WebhookError {
    WebhookError::Forbidden(
        "webhook endpoints are managed by administrators, and by a service or person with the scope \
         webhooks:write for itself"
            .to_owned(),
    )
}

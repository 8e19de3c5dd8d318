//! What people send by hand: a test, or an event once more. It is sent at once and once, and the
//! answer says what came of it.

use super::decide::{GONE, Seen, after_attempt};
use super::delivery::{Delivery, DeliveryState};
use super::endpoint::Endpoint;
use super::error::WebhookError;
use super::event::{Cause, Event};
use super::id::{EndpointId, MessageId};
use super::message::Message;
use super::send::{Sender, Told, attempted};
use super::store::Draft;

impl Sender {
    /// Tries an endpoint out, also a disabled one. Moves nothing; an answer of 410 disables it.
    pub(crate) async fn test(&self, by: &str, id: EndpointId) -> Result<Delivery, WebhookError> {
        let endpoint = self.hooks.get(id).ok_or(WebhookError::NotFound)?;
        let message = Message::test(&endpoint, self.hooks.now());
        self.by_hand(by, &endpoint, message).await
    }

    /// Sends an event once more, under the same id. Where it is the one that the endpoint waits for
    /// and it is taken, the endpoint goes on behind it, at once or when it is enabled; else nothing
    /// moves. An answer of 410 disables it.
    pub(crate) async fn redeliver(
        &self,
        by: &str,
        id: MessageId,
    ) -> Result<Delivery, WebhookError> {
        let endpoint = self
            .hooks
            .get(id.endpoint())
            .ok_or(WebhookError::NotFound)?;
        let Some(position) = id.position() else {
            let why = "a test is not sent again; send another one";
            return Err(WebhookError::NotPossible(why.to_owned()));
        };
        if self.hooks.message_at(endpoint.id, position) != id {
            // Of what stood there before a copy took the place of the log, or stands there since.
            return Err(WebhookError::NotFound);
        }
        let before = position.checked_sub(1).ok_or(WebhookError::NotFound)?;
        let records = self.store.log.read_all(before, 1)?;
        let record = records.first().ok_or(WebhookError::NotFound)?;
        // What it asks for today need not be what it asked for then.
        let open = Endpoint {
            types: std::collections::BTreeSet::new(),
            tools: std::collections::BTreeSet::new(),
            ..endpoint.clone()
        };
        match self.told(&open, record)? {
            Told::Message(message) => self.by_hand(by, &endpoint, message).await,
            Told::Nothing => Err(WebhookError::NotFound),
            Told::OwnerLost => Err(WebhookError::NotPossible(
                "the owner of the endpoint is disabled, revoked or expired".to_owned(),
            )),
        }
    }

    async fn by_hand(
        &self,
        by: &str,
        endpoint: &Endpoint,
        message: Message,
    ) -> Result<Delivery, WebhookError> {
        let stopped = |why: String| WebhookError::NotPossible(why);
        self.hooks.key()?;
        let store = &self.store;
        store
            .stop
            .may_begin()
            .map_err(|error| stopped(error.to_string()))?;
        let _permit = self.hooks.inner.by_hand.try_acquire().map_err(|_| {
            stopped("too many messages are being sent by hand; wait for them".to_owned())
        })?;
        let sent = self
            .send(endpoint, &message, Some(by))
            .await
            .map_err(|_| stopped("its secret cannot be made; rotate it first".to_owned()))?;
        let (turn, now) = self
            .hooks
            .turn(endpoint.id)
            .await?
            .ok_or(WebhookError::NotFound)?;
        let mut delivery = self.known(&message)?;
        delivery.add(sent.attempt.clone());
        let awaited = match now.place.trying {
            Some(trying) => Some(trying.position),
            // It stands right before the event that it is to go on with.
            None if !now.is_enabled() => now.place.through.checked_add(1),
            None => None,
        };
        let is_awaited = awaited.is_some() && awaited == message.id.position();
        let mut draft = Draft {
            by: by.to_owned(),
            at: sent.ended,
            events: Vec::new(),
            place: None,
            deliveries: Vec::new(),
        };
        if sent.seen == Seen::Taken {
            delivery.state = DeliveryState::Delivered;
            if is_awaited && let Some(position) = message.id.position() {
                let decision = after_attempt(&now, &attempted(endpoint, position, &sent));
                draft.events = decision.events;
                draft.place = Some(decision.place);
            }
        }
        let is_the_same = now.place.epoch == endpoint.place.epoch && now.url == endpoint.url;
        if sent.seen == Seen::Gone && now.is_enabled() && is_the_same {
            draft.events.push(Event::Disabled {
                cause: Cause::Gone,
                reason: GONE.to_owned(),
                through: now.place.through,
            });
            draft.deliveries = self.hooks.held(&now)?;
            draft.deliveries.retain(|held| held.id != delivery.id);
            if is_awaited {
                delivery.state = DeliveryState::Held;
            }
        }
        draft.deliveries.push(delivery.clone());
        self.hooks.commit(turn, endpoint.id, draft).await?;
        Ok(delivery)
    }
}

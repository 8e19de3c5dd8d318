//! What becomes of a message whose next attempt never comes: nobody is to wait for it.

use holdpoint_storage::{Position, Version};

use super::delivery::{Delivery, DeliveryState};
use super::endpoint::Endpoint;
use super::id::EndpointId;
use super::store::{Draft, ENGINE, Webhooks};
use crate::identity::StoreError;
use crate::time::Timestamp;

impl Webhooks {
    /// The message that an endpoint tries, as it is while that is disabled.
    pub(super) fn held(&self, endpoint: &Endpoint) -> Result<Vec<Delivery>, StoreError> {
        match endpoint.place.trying {
            Some(trying) => self.ended(endpoint.id, trying.position, DeliveryState::Held),
            None => Ok(Vec::new()),
        }
    }

    /// What was held, as it is once the endpoint goes on behind `from`.
    pub(super) fn released(
        &self,
        id: EndpointId,
        from: Position,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        let mut held = self.deliveries(id)?;
        held.retain(|delivery| delivery.state == DeliveryState::Held);
        for delivery in &mut held {
            delivery.state = match delivery.id.position() {
                Some(position) if from < position => DeliveryState::Pending { next_at: now },
                Some(_) | None => DeliveryState::Dropped,
            };
        }
        Ok(held)
    }

    /// Notes that the event which an endpoint tries is none that it hears of any more.
    pub(super) async fn drop_tried(
        &self,
        id: EndpointId,
        epoch: Version,
        position: Position,
    ) -> Result<(), StoreError> {
        let Some((turn, endpoint)) = self.turn(id).await? else {
            return Ok(());
        };
        let tried = endpoint.place.trying.map(|trying| trying.position);
        if endpoint.place.epoch != epoch || tried != Some(position) {
            return Ok(());
        }
        let draft = Draft {
            by: ENGINE.to_owned(),
            at: self.now(),
            events: Vec::new(),
            place: Some(endpoint.done_with(position)),
            deliveries: self.ended(id, position, DeliveryState::Dropped)?,
        };
        self.commit(turn, id, draft).await.map(|_| ())
    }

    /// The message about an event in another state, where it waits for its next attempt.
    fn ended(
        &self,
        endpoint: EndpointId,
        position: Position,
        state: DeliveryState,
    ) -> Result<Vec<Delivery>, StoreError> {
        let kept = self.delivery(self.message_at(endpoint, position))?;
        let pending = kept.filter(|it| matches!(it.state, DeliveryState::Pending { .. }));
        Ok(pending
            .map(|it| Delivery { state, ..it })
            .into_iter()
            .collect())
    }
}

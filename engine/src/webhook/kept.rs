//! Which messages are kept so that people can look at them, and which make room.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::delivery::{Delivery, DeliveryState};
use super::id::MessageId;
use crate::time::Timestamp;

/// How many messages about events are kept of an endpoint; what makes room is still in the log of events.
const EVENTS_KEPT: usize = 100;

/// How many tests.
const TESTS_KEPT: usize = 10;

/// How many in all.
pub(super) const KEPT_MAX: usize = EVENTS_KEPT + TESTS_KEPT;

/// The messages that are kept of an endpoint, and how each stands.
pub(super) type Kept = BTreeMap<MessageId, Standing>;

/// How long a message is worth keeping, the longer the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    /// It was not taken, and somebody may still have to do something about it.
    is_open: bool,
    /// When it was sent last.
    last: Option<Timestamp>,
}

/// Keeps a message, as it is now.
pub(super) fn note(kept: &mut Kept, delivery: &Delivery) {
    let is_open = match delivery.state {
        DeliveryState::Pending { .. } | DeliveryState::Failed | DeliveryState::Held => true,
        DeliveryState::Delivered | DeliveryState::Dropped => false,
    };
    let standing = Standing {
        is_open,
        last: delivery.attempts.last().map(|attempt| attempt.at),
    };
    kept.insert(delivery.id, standing);
}

/// Keeps these messages; answers with those that make room for them. Never one of these, however old its
/// event is; tests only for tests.
pub(super) fn make_room(kept: &mut Kept, new: &[Delivery]) -> Vec<MessageId> {
    for delivery in new {
        note(kept, delivery);
    }
    let mut gone = Vec::new();
    for (is_event, max) in [(true, EVENTS_KEPT), (false, TESTS_KEPT)] {
        let of_kind = |id: &MessageId| id.position().is_some() == is_event;
        let mut all: Vec<_> = kept.iter().filter(|(id, _)| of_kind(id)).collect();
        all.sort_by_key(|(id, standing)| Reverse((**standing, **id)));
        let more = all.into_iter().skip(max).map(|(id, _)| *id);
        gone.extend(more.filter(|id| new.iter().all(|new| new.id != *id)));
    }
    for id in &gone {
        kept.remove(id);
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::EndpointId;
    use crate::webhook::delivery::Attempt;

    const ENDPOINT: EndpointId = EndpointId::from_bytes([1; 16]);

    fn sent(id: MessageId, state: DeliveryState, at: i64) -> Delivery {
        Delivery {
            id,
            kind: "kind".to_owned(),
            action: None,
            state,
            attempts: vec![Attempt {
                at: Timestamp(at),
                took_ms: 1,
                status: None,
                error: None,
                by: None,
            }],
            made: 1,
        }
    }

    fn event(position: u64) -> MessageId {
        let endpoint = ENDPOINT;
        MessageId::Event { endpoint, position }
    }

    #[test]
    fn i21_tests_push_no_event_out_and_events_make_room_by_their_last_attempt_the_open_ones_last() {
        let pending = DeliveryState::Pending {
            next_at: Timestamp(9),
        };
        let mut kept = Kept::new();
        let open = [pending, DeliveryState::Held, DeliveryState::Failed];
        let all: Vec<_> = (1_u64..)
            .zip(open)
            .map(|(position, state)| sent(event(position), state, 1))
            .collect();
        assert!(make_room(&mut kept, &all).is_empty());
        for number in 0..200_i64 {
            let at = Timestamp(number);
            let endpoint = ENDPOINT;
            let test = MessageId::Test { endpoint, at };
            make_room(&mut kept, &[sent(test, DeliveryState::Failed, number)]);
        }
        assert_eq!(kept.len(), 3 + TESTS_KEPT, "the latest tests");
        // Sent once more, so that it is not the oldest any more.
        for position in (4_u64..=100).chain([4]) {
            let at = if kept.contains_key(&event(position)) {
                999
            } else {
                2
            };
            let delivered = sent(event(position), DeliveryState::Delivered, at);
            assert!(make_room(&mut kept, &[delivered]).is_empty());
        }
        let next = sent(event(101), DeliveryState::Delivered, 3);
        assert_eq!(make_room(&mut kept, &[next]), [event(5)]);
        for still in [1, 2, 3, 4, 101] {
            assert!(kept.contains_key(&event(still)), "{still}");
        }
        assert_eq!(kept.len(), KEPT_MAX);
    }
}

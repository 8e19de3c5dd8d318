//! Webhooks: who wants to hear of events, and how they are told (Standard Webhooks 1.0).
//!
//! An endpoint is a stream of its own in the log, so that each change of it is in the history with
//! who and why (invariant I24). It is a cursor over the log: it hears of events in the order of the
//! log, at least once, each under an id that stays the same however often it is sent.
//!
//! ```text
//!            2xx: the next event                    410, or the schedule is at its end
//!          ┌──────────────┐                        ┌──────────► disabled, place kept
//! enabled ─┴─► next event ┴─ anything else ─► again later
//! ```
//!
//! Invariants:
//! * Nothing is told of that is not durable (I5), and nothing that the owner may not see (I18).
//! * An event that was not taken is in the way of all that follow, until the endpoint takes it or a
//!   person moves the place; nothing is skipped in silence.
//! * The place is durable before the next event is sent: a restart goes on where it stood.
//! * No secret is in the log, in an index, on a page or in an error: secrets are made from the key
//!   file when a message is signed (I16).
//!
//! Read in this order: the facts (`event`) and what they add up to ([`Endpoint`]); what an answer
//! means (`decide`, `schedule`), pure both; then the shell: [`Webhooks`] (changes), `worker` (one
//! task for each endpoint, asleep until the log grows), `send` (one attempt).

mod change;
mod decide;
mod delivery;
mod describe;
mod ending;
mod endpoint;
mod error;
mod event;
#[cfg(test)]
mod format_tests;
mod id;
mod kept;
mod key;
mod layout;
mod manual;
mod message;
mod schedule;
mod send;
mod store;
mod types;
mod worker;

pub use change::{EndpointChange, NewEndpoint};
pub use delivery::{Attempt, Delivery, DeliveryState};
pub use describe::describe;
pub use endpoint::{Disabled, Endpoint, Generation, Place, Trying};
pub use error::WebhookError;
pub use event::{Cause, Event};
pub use id::{EndpointId, EndpointIdFormatError, MessageId, MessageIdFormatError};
pub use key::{KeyFileError, SigningKey};
pub(crate) use layout::{ENDPOINTS, of_stream as endpoint_of};
pub use schedule::SCHEDULE;
pub(crate) use send::Sender;
pub use store::Webhooks;
pub use types::{EVENT_TYPES, EventType, TEST_TYPE};
pub(crate) use worker::Deliverer;

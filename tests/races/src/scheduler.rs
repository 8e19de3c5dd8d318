//! Files of `engine/src/scheduler`.

#[path = "../../../engine/src/scheduler/inbox.rs"]
pub(crate) mod inbox;

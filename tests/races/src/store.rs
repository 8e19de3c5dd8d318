//! Files of `engine/src/store`.

#[path = "../../../engine/src/store/index.rs"]
pub(crate) mod index;
#[path = "../../../engine/src/store/stop.rs"]
pub(crate) mod stop;
#[path = "../../../engine/src/store/waiters.rs"]
pub(crate) mod waiters;

//! Every bound, with its reason.

// The core of an action.

/// How often the source of truth may fail to answer, once quiet time has passed, before a person is
/// asked: with the default backoff of 1 s to 5 min about an hour, longer than most outages.
pub const INCONCLUSIVE_CHECKS_MAX: u32 = 20;

//! Processes that are killed, and disks whose power is cut, while a log is written.
//!
//! The child is this test binary, started again to run [`child::child`] alone. Set `HOLDPOINT_KILLS`
//! and `HOLDPOINT_CUTS` for more rounds, and `HOLDPOINT_SEED` for other moments.

mod child;
mod kill;
mod power;

/// A number from the environment.
fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

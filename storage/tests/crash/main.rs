//! Processes that are killed, disks that fail and disks whose power is cut, while a log is written.
//!
//! The child is this test binary, started again to run [`child::child`] or [`life::life`] alone. Set
//! `HOLDPOINT_KILLS`, `HOLDPOINT_CUTS`, `HOLDPOINT_PAIRS=all` and `HOLDPOINT_ERRORS=all` for more
//! rounds, and `HOLDPOINT_SEED` for other moments.

mod calls;
mod child;
mod cut;
mod errors;
mod kill;
#[expect(dead_code, reason = "the tests of the whole program use more of it")]
#[path = "../../../tests/preload/library.rs"]
mod library;
mod life;
mod power;
#[path = "../../../tests/preload/recording.rs"]
mod recording;

/// A number from the environment.
fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

//! The pure core and its tests alone, for `scripts/mutants`.
//!
//! These are the very files of the engine, included once more in one small crate: a change of one
//! of them is built and tested in seconds, where the whole engine takes a minute. What the tests
//! call the engine is this crate.

#![cfg(feature = "core")]

extern crate self as holdpoint_engine;

// A module with a folder, so that files below find theirs (`canon.rs` and `canon/read.rs`).
#[path = "../../../engine/src"]
mod engine {
    pub mod action;
    pub mod approval;
    pub mod canon;
    pub mod limits;
    pub mod time;
}

#[path = "../../../storage/src"]
mod storage {
    pub mod seeded;
}

#[cfg(test)]
#[path = "../../../engine/tests/core/main.rs"]
mod tests;

pub use engine::{action, approval, canon, limits, time};
pub use storage::seeded;
#[cfg(test)]
use tests::{given, kept, named, table};

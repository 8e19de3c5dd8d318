//! The parts that threads share, under a scheduler that tries their interleavings.
//!
//! These are the very files of the product, included once more: the writer of the log with its groups
//! and views, those who wait for a change, the stop, the scheduler's inbox. What they wait on
//! (`sync`) is that of [`shuttle`], which runs one thread at a time and chooses at each lock which;
//! a failure prints a schedule that repeats it. Below them sled is the real one; the device is
//! counted in `log::store`, so that each reader can be asked whether it saw more than was durable.
//!
//! The scenarios are in [`scenarios`]; `tests/races.rs` runs them.

// The included files have unit tests of their own, which belong where they are.
#![cfg(not(test))]
#![expect(
    dead_code,
    reason = "the included files serve more than the scenarios here"
)]

#[path = "../../../engine/tests/core/given.rs"]
mod given;
mod log;
pub mod scenarios;
mod scheduler;
mod store;
mod sync;

// What the included files call by these names, now or after their next change.
#[expect(unused_imports, reason = "not every name is in use at every time")]
use holdpoint_engine::{
    action, approval, canon, engine, identity, limits, seeded, target, time, tool,
};
#[expect(unused_imports, reason = "not every name is in use at every time")]
use holdpoint_storage::{batch, bounds, chain, codec, record, subscription, verify};

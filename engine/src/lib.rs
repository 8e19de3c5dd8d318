//! The engine of Holdpoint: what may happen, what did happen, and the careful making-happen of it.
//!
//! Read in this order:
//!
//! 1. [`canon`], [`time`], [`limits`]: canonical JSON and digests, injected time and ids, every bound.
//! 2. [`approval`]: the pure rules of people. [`action`]: the pure core of one action,
//!    `decide(state, command) → events` and `evolve(state, event) → state`.
//! 3. [`tool`]: the tools file and what a definition can do. [`identity`]: who acts.
//! 4. [`skill`]: the text of a skill file, what it says and how it is changed. [`recording`]: what was
//!    once done with tools, made into one.
//! 5. The shell around the core: `store` (load, decide, append durably, then make known),
//!    [`target`] (how the world is called, once), `scheduler` (what is due, and recovery).
//! 6. [`incarnation`]: whether this is the log, or a copy of it.
//! 7. [`webhook`]: who wants to hear of events, and how they are told.
//! 8. [`full`]: a full disk, told from other failures of the store.
//! 9. [`engine`]: the façade that everything above talks to.

pub mod action;
pub mod approval;
pub mod canon;
pub mod engine;
pub mod full;
mod hiding;
pub mod identity;
pub mod incarnation;
pub mod limits;
pub mod recording;
pub mod run;
pub mod schedule;
mod scheduler;
pub mod skill;
mod store;
mod sync;
pub mod target;
pub mod time;
pub mod tool;
pub mod webhook;

#[doc(hidden)]
pub use holdpoint_storage::seeded;

//! The pure core of one action.
//!
//! ```text
//!  Submit ─┬─► Staged ──votes──► Approved ─┐
//!          ├─► Accepted ───────────────────┼─Commit─► Executing ─┬─► Succeeded
//!          └─► Refused                     │                     ├─► Failed
//!                                          └─► ReplanRequired    └─► Unknown ─► reconciled or settled
//! ```
//!
//! [`decide`] answers a [`Command`] with the [`Event`]s it causes, or refuses it; [`evolve`] applies
//! one event and is the only place where an [`Action`] changes, live and on replay. No I/O, no
//! clock, no randomness: time, ids and everything read from the world arrive inside the command.
//! The whole table of transitions is in `docs/TRANSITIONS.md`, which a test keeps true.

mod command;
mod decide;
mod describe;
mod event;
mod evolve;
mod facts;
mod id;
mod proposal;
mod state;
mod transitions;

pub use command::{AttemptOutcome, Command, Finding, Holder, Refusal, Revalidation, WorkReport};
pub use decide::decide;
pub use describe::describe;
pub use event::Event;
pub use evolve::{IllegalEvent, evolve};
pub use facts::{
    Attempt, AttemptResult, Difference, Lease, Rendered, ReplanReason, Snapshot, WORKER_METHOD,
    Window, Worker,
};
pub use id::ActionId;
pub use proposal::{Caller, PrincipalKind, Proposal, SafetyClass, Terms};
pub use state::{Action, Approval, FailReason, Phase, Refused, Status};
pub use transitions::legal_from;

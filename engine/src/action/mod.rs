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

mod alarm;
mod command;
mod decide;
mod describe;
mod doubt;
mod event;
mod evolve;
mod explain;
mod facts;
mod held;
mod id;
mod kind;
mod proposal;
mod reminder;
mod settlement;
mod state;
mod transitions;

pub use alarm::explain_alarm;
pub use command::{Arrangement, AttemptOutcome, Command, Finding, Holder, Refusal, Revalidation};
pub use decide::decide;
pub use describe::describe;
pub use doubt::Doubt;
pub use event::Event;
pub use evolve::{IllegalEvent, evolve};
pub use explain::{Explanation, Trouble, explain, explain_short};
pub use facts::{
    AnswerBody, Attempt, AttemptResult, ClaimKey, Difference, Lease, Rendered, ReplanReason,
    Resend, SecretVersion, Snapshot, WORKER_METHOD, Window, WorkReport, Worker,
};
pub use id::ActionId;
pub use proposal::{Caller, Instigator, PrincipalKind, Proposal, SafetyClass, Terms};
pub use reminder::Reminder;
pub use settlement::Settlement;
pub use state::{Action, Approval, FailReason, Phase, Refused, Status};
pub use transitions::legal_from;

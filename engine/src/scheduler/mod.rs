//! Moves what is due: deadlines, calls, questions to the source of truth.
//!
//! ```text
//!  commit ──due now──► Inbox ──┐                         ┌─► deadline reached
//!                              ├─► Queues ─► Work::advance ─► revalidate, commit, send, record
//!  open index ──was due later──┘                         └─► ask the source of truth
//! ```
//!
//! Nothing is polled: the dispatcher sleeps until something is handed over or the earliest moment in
//! the index comes, and then reads one page of what is due. What waits costs nothing, and a restart
//! runs none of it again.
//!
//! * [`inbox`]: what has just become due. [`lane`]: what the index holds. [`queues`]: bounds and
//!   order. [`dispatcher`]: the loop.
//! * [`work`]: what is done about one action; [`revalidate`]: what is found right before a call;
//!   [`record`]: how it ended.
//! * [`pull`]: work for services that ask for it; [`board`]: who of them waits; [`changed`]: what
//!   none of them can have any more.
//! * [`recovery`]: what a crash left behind.

mod board;
mod changed;
mod dispatcher;
mod inbox;
mod lane;
mod pull;
mod queues;
mod record;
mod recovery;
mod revalidate;
mod work;

pub(crate) use board::Board;
pub(crate) use dispatcher::Dispatcher;
pub(crate) use inbox::Inbox;
pub(crate) use pull::{Asked, Pulled, lease_of};
pub(crate) use recovery::recover;
pub(crate) use revalidate::sends_without_etag;
pub(crate) use work::{ENGINE, Work};

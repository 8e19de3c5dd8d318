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
//! * [`inbox`]: what has just become due. [`queues`]: bounds and order. [`dispatcher`]: the loop.
//! * [`work`]: what is done about one action. [`recovery`]: what a crash left behind.

mod dispatcher;
mod inbox;
mod queues;
mod recovery;
mod work;

pub(crate) use dispatcher::Dispatcher;
pub(crate) use inbox::Inbox;
pub(crate) use recovery::recover;
pub(crate) use work::{Work, sends_without_etag};

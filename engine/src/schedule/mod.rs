//! Schedules: runs that begin by themselves.
//!
//! A schedule is a plan (what, for whom, when) with a stream of its own. When it is due, it starts a run
//! that claims the schedule and the moment, so that a moment has one run, whatever crashes in between. What was missed while nothing ran is made up for by one run. While the run before goes on, none
//! is started, unless the plan allows it; what was left out is in the history, with the reason.
//!
//! * [`cron`]: when. `event`: what can happen to a schedule, and what follows. `shell`: schedules in the log.
//!   `clock`: the task that starts what is due.

pub(crate) mod clock;
pub mod cron;
mod event;
mod id;
pub(crate) mod shell;

pub use cron::Timetable;
pub use event::{Event, Plan, Planned, Schedule, evolve};
pub use id::{ScheduleId, ScheduleIdFormatError};

//! Runs: workflows that are durable, step by step.
//!
//! A run is one execution of a skill file or of a function. It has a stream of its own, and each of its
//! steps that may change something is an action; running the same file or code again after a crash
//! finds the finished steps and goes on: the log is the journal.
//!
//! * The pure core: [`event`], `state` ([`Run`]), [`decide`], [`evolve`]; [`gate`]: what of a run may be made. [`id`]: what
//!   connects a step with its action.
//! * The shell: `layout` (where runs are in the log), `shell` (decide, append durably, make known).

pub(crate) mod ahead;
mod asking;
pub mod authority;
mod called;
pub(crate) mod carrying;
pub mod code;
mod decide;
pub(crate) mod describe;
pub(crate) mod driver;
pub mod event;
mod evolve;
mod follow;
pub mod gate;
pub mod heal;
mod heal_rules;
mod help;
pub mod id;
mod judge;
pub(crate) mod layout;
mod plan;
pub mod receipt;
mod refusal;
pub(crate) mod shares;
pub(crate) mod shell;
mod skill_file;
mod start;
mod state;
mod step;
mod waits;

pub use ahead::{check_steps, wrong_calls};
pub use decide::{Command, decide};
pub use event::{End, Event, Flags, Origin, Start};
pub use evolve::evolve;
pub use id::{RunId, RunIdFormatError, StepPath, StepPathError, StepTry};
pub use layout::RunSummary;
pub use plan::{PlannedStep, check_tools, plan};
pub use receipt::Receipt;
pub use refusal::{Divergence, RunRefusal};
pub use shell::RunError;
pub use skill_file::effect_of;
pub use start::{Inputs, NewOrigin, NewRun};
pub(crate) use start::{drive, prepare};
pub use state::{Ended, Made, Rejection, Run, RunStatus, Step, What};

//! Why a run does not do what somebody wishes.

use super::id::{RunId, StepPath};
use crate::limits::{RUN_EVENTS_MAX, RUN_SIGNALS_MAX, RUN_UNTAKEN_BYTES_MAX, RUN_UNTAKEN_MAX};

/// Why a run does not do that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunRefusal {
    /// There is no such run yet, or there is one already.
    #[error("a run starts once, before anything else happens to it")]
    Start,
    /// It is over.
    #[error("the run is over")]
    Over,
    /// It passed, or is of a kind that does not go on after an end.
    #[error("{0}")]
    NotResumable(&'static str),
    /// The code calls something else than it did at that place before.
    #[error("{0}")]
    Diverged(Box<Divergence>),
    /// The step is not under way.
    #[error("the step {0} is not under way")]
    NotUnderWay(StepPath),
    /// Its history is full.
    #[error(
        "the history of the run is full: it has {RUN_EVENTS_MAX} events; code goes on as a new run before that (Failure::ContinueAsNew)"
    )]
    Full,
    /// Too many events were sent to it.
    #[error("the run was sent {RUN_SIGNALS_MAX} events of the name {0:?} already")]
    TooManySignals(String),
    /// It has not taken what it was sent before.
    #[error(
        "the run has {count} events of {bytes} bytes that it has not taken, and at most {RUN_UNTAKEN_MAX} of {RUN_UNTAKEN_BYTES_MAX} bytes wait; send it again when the run has taken some"
    )]
    TooManyUntaken {
        /// How many.
        count: usize,
        /// How many bytes they have.
        bytes: usize,
    },
    /// It is over, and goes on as another one.
    #[error("the run goes on as {0}; ask that one")]
    GoesOn(RunId),
}

/// What differs between the code and the history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {path} the history has {was}, and the code wants {is}")]
pub struct Divergence {
    /// Where.
    pub path: StepPath,
    /// What happened there.
    pub was: String,
    /// What the code wants there now.
    pub is: String,
}

//! What can happen to a schedule. A stored body is a format byte and then bincode; variants and fields
//! keep their places for ever, new variants go to the end.

use bincode::{Decode, Encode};

use super::id::ScheduleId;
use crate::action::Caller;
use crate::canon::CanonicalJson;
use crate::run::{Flags, RunId};
use crate::time::Timestamp;

/// One fact about a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// It exists. First in its stream.
    Created {
        /// What it starts, for whom and when.
        plan: Box<Plan>,
    },
    /// It starts nothing by itself any more.
    Paused {
        /// Why.
        reason: String,
    },
    /// It starts runs again.
    Resumed,
    /// It is no more. Last in its stream.
    Deleted {
        /// Why.
        reason: String,
    },
    /// It started a run.
    Fired {
        /// The moment that it was due; that of the wish, where somebody wanted a run at once.
        planned: Timestamp,
        /// The run.
        run: RunId,
        /// Whether somebody wanted it.
        by_hand: bool,
    },
    /// It was due, and nothing was started.
    Skipped {
        /// The moment that it was due.
        planned: Timestamp,
        /// Why.
        reason: String,
    },
}

/// What a schedule starts, for whom and when.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Plan {
    /// What it is called.
    pub name: String,
    /// What it starts.
    pub what: Planned,
    /// What its runs are allowed.
    pub flags: Flags,
    /// The cron pattern.
    pub cron: String,
    /// The name of the time zone.
    pub zone: String,
    /// Whether a run may begin while the one before goes on.
    pub overlap: bool,
    /// On whose behalf.
    pub caller: Caller,
}

/// What a schedule starts.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Planned {
    /// A skill file, with its inputs.
    Skill {
        /// All of it.
        text: String,
        /// Its inputs by name, as JSON.
        inputs: CanonicalJson,
        /// Whether tools may differ from those that the file was made with.
        ignore_manifest: bool,
    },
    /// A function of the program.
    Code {
        /// Its name.
        name: String,
        /// Its version; the newest of the day where none is said.
        version: Option<u32>,
        /// What it is given.
        input: CanonicalJson,
    },
}

impl Event {
    /// Its name in the log. A contract.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "schedule.created",
            Self::Paused { .. } => "schedule.paused",
            Self::Resumed => "schedule.resumed",
            Self::Deleted { .. } => "schedule.deleted",
            Self::Fired { .. } => "schedule.fired",
            Self::Skipped { .. } => "schedule.skipped",
        }
    }
}

/// A schedule, as its events say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// What it starts, for whom and when.
    pub plan: Plan,
    /// Why it starts nothing by itself; none while it does.
    pub paused: Option<String>,
    /// The run that it started last.
    pub last_run: Option<RunId>,
    /// Why nothing was started when it was last due; none where a run was.
    pub last_skipped: Option<String>,
    /// The moment from which on the next one is looked for.
    pub since: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What follows an event; none once it is deleted. Fails with words where the events cannot be in this
/// order.
pub fn evolve(
    state: Option<Schedule>,
    id: ScheduleId,
    at: Timestamp,
    event: &Event,
) -> Result<Option<Schedule>, String> {
    let mut schedule = match (state, event) {
        (None, Event::Created { plan }) => {
            return Ok(Some(Schedule {
                id,
                plan: (**plan).clone(),
                paused: None,
                last_run: None,
                last_skipped: None,
                since: at,
                created_at: at,
            }));
        }
        (Some(_), Event::Created { .. }) => return Err("it was created twice".to_owned()),
        (None, _) => return Err(format!("{} of a schedule that is not there", event.kind())),
        (Some(schedule), _) => schedule,
    };
    match event {
        Event::Created { .. } => {}
        Event::Paused { reason } => schedule.paused = Some(reason.clone()),
        Event::Resumed => {
            schedule.paused = None;
            // What was due in between is not made up for: somebody did not want it.
            schedule.since = at;
        }
        Event::Deleted { .. } => return Ok(None),
        Event::Fired {
            planned,
            run,
            by_hand,
        } => {
            schedule.last_run = Some(*run);
            if !by_hand {
                schedule.last_skipped = None;
                schedule.since = schedule.since.max(*planned);
            }
        }
        Event::Skipped { planned, reason } => {
            schedule.last_skipped = Some(reason.clone());
            schedule.since = schedule.since.max(*planned);
        }
    }
    Ok(Some(schedule))
}

//! Schedules on the wire.

use holdpoint_engine::engine::Upcoming;
use holdpoint_engine::schedule::Planned;
use holdpoint_engine::skill::Skill;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Caller, NewRun, RunFlags};

/// A schedule to be made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSchedule {
    /// What it is called; 1 to 100 characters.
    pub name: String,
    /// A cron pattern of five fields: minute, hour, day of month, month, day of week.
    #[schema(example = "30 9 * * MON-FRI")]
    pub cron: String,
    /// The name of a time zone. A time that the clock leaves out is due right after the gap; one that it
    /// shows twice is due once.
    #[schema(example = "Europe/Berlin")]
    pub zone: String,
    /// Whether a run may begin while the one before goes on.
    #[serde(default)]
    pub overlap: bool,
    /// What it starts. Secret inputs cannot be given: they are stored nowhere.
    pub run: NewRun,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// `sch_…`
    pub id: String,
    /// What it is called.
    pub name: String,
    /// The name of the skill file, where it starts one.
    pub skill: Option<String>,
    /// The name of the workflow, where it starts one.
    pub workflow: Option<String>,
    /// Its cron pattern.
    pub cron: String,
    /// Its time zone.
    pub zone: String,
    /// When it is due, in words.
    pub words: String,
    /// Whether a run may begin while the one before goes on.
    pub overlap: bool,
    /// What its runs are allowed.
    pub flags: RunFlags,
    /// On whose behalf.
    pub caller: Caller,
    /// Why it starts nothing by itself; null while it does.
    pub paused: Option<String>,
    /// The next moments at which it is due.
    pub next: Vec<String>,
    /// The run that it started last.
    pub last_run: Option<String>,
    /// Why nothing was started when it was last due.
    pub last_skipped: Option<String>,
    /// When it was made.
    pub created_at: String,
}

/// Schedules.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Schedules {
    /// Those that the credential may see, in the order in which they were made.
    pub data: Vec<Schedule>,
}

impl From<&Upcoming> for Schedule {
    fn from(upcoming: &Upcoming) -> Self {
        let schedule = &upcoming.schedule;
        let plan = &schedule.plan;
        let (skill, workflow) = match &plan.what {
            // It was read when the schedule was made.
            Planned::Skill { text, .. } => (Skill::parse(text).ok().map(|skill| skill.name), None),
            Planned::Code { name, .. } => (None, Some(name.clone())),
        };
        Self {
            id: schedule.id.to_string(),
            name: plan.name.clone(),
            skill,
            workflow,
            cron: plan.cron.clone(),
            zone: plan.zone.clone(),
            words: upcoming.words.clone(),
            overlap: plan.overlap,
            flags: plan.flags.into(),
            caller: (&plan.caller).into(),
            paused: schedule.paused.clone(),
            next: upcoming.next.iter().map(|at| at.rfc3339()).collect(),
            last_run: schedule.last_run.map(|run| run.to_string()),
            last_skipped: schedule.last_skipped.clone(),
            created_at: schedule.created_at.rfc3339(),
        }
    }
}

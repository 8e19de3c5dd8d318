//! Schedules, for those who may make, see and steer them.

use std::sync::Arc;

use serde_json::json;

use super::act::REASON_CHARS_MAX;
use super::alone::{Asked, claimed};
use super::runs::is_own;
use super::runs_start::{flags, may_start, what};
use super::{ByHand, Engine};
use crate::canon::{CanonicalJson, Digest};
use crate::identity::{LOCAL, Principal, Role};
use crate::limits::{NAME_CHARS_MAX, SCHEDULES_MAX};
use crate::run::layout::LoadRunError;
use crate::run::{Inputs, NewOrigin, NewRun, Run, RunError, RunId, prepare};
use crate::schedule::shell::Schedules;
use crate::schedule::{Event, Plan, Planned, Schedule, ScheduleId, Timetable, clock};
use crate::time::Timestamp;

/// A schedule that somebody wants.
pub struct NewSchedule {
    /// What it is called; 1 to 100 characters.
    pub name: String,
    /// What it starts.
    pub what: NewOrigin,
    /// What its runs are allowed.
    pub flags: crate::run::Flags,
    /// A cron pattern of five fields.
    pub cron: String,
    /// The name of a time zone; `UTC`, `Europe/Berlin`.
    pub zone: String,
    /// Whether a run may begin while the one before goes on.
    pub overlap: bool,
}

/// A schedule with what follows from it.
#[derive(Clone, Debug)]
pub struct Upcoming {
    /// The schedule.
    pub schedule: Schedule,
    /// In words, when it is due.
    pub words: String,
    /// The next moments at which it is due; empty while it is paused.
    pub next: Vec<Timestamp>,
    /// The same, as clocks in the zone of the schedule show it.
    pub next_there: Vec<String>,
}

/// How many moments are told ahead.
const NEXT_SHOWN: usize = 3;

impl Engine {
    /// Makes a schedule. Everything that a run would be refused for at its start is refused now; secret
    /// inputs cannot be given, since they are stored nowhere.
    pub async fn create_schedule(
        &self,
        by: &Principal,
        new: NewSchedule,
    ) -> Result<Upcoming, RunError> {
        let (made, _) = self.create_schedule_once(by, new, None).await?;
        Ok(made)
    }

    /// The same, at most once for a key that the client chose, as with [`Engine::start_run_once`]: the same
    /// request under the same key is answered with the first schedule, and true.
    pub async fn create_schedule_once(
        &self,
        by: &Principal,
        new: NewSchedule,
        key: Option<&str>,
    ) -> Result<(Upcoming, bool), RunError> {
        may_start(by, new.flags)?;
        let asked = Asked::of("rk/schedules/", by, key, fingerprint(&new));
        if by.id == LOCAL {
            return Err(RunError::Forbidden(
                "schedules belong to people and keys of a server; make it there".to_owned(),
            ));
        }
        let schedules = self.schedules_of();
        let turn = schedules.turn().await;
        if let Some((id, asked)) = self.first(asked.as_ref())? {
            let first = self.schedule(by, ScheduleId::from_bytes(id));
            let first = first.ok().filter(|_| asked);
            let first = first.ok_or(RunError::KeyReused { first: None })?;
            return Ok((first, true));
        }
        let name = new.name.trim();
        if name.is_empty() || NAME_CHARS_MAX < name.chars().count() {
            return Err(RunError::Invalid(format!(
                "the name of a schedule has 1 to {NAME_CHARS_MAX} characters"
            )));
        }
        let table = Timetable::parse(&new.cron, &new.zone).map_err(RunError::Invalid)?;
        let what = self.planned(by, new.what, new.flags)?;
        if SCHEDULES_MAX <= schedules.len() {
            return Err(RunError::Invalid(format!(
                "there are {SCHEDULES_MAX} schedules already; delete one first"
            )));
        }
        let at = self.now();
        let id = ScheduleId::new(at, self.random_bytes()?);
        let plan = Box::new(Plan {
            name: name.to_owned(),
            what,
            flags: new.flags,
            cron: new.cron,
            zone: table.zone().to_owned(),
            overlap: new.overlap,
            caller: by.caller(),
        });
        let claim = asked.as_ref().map(|asked| asked.claim(id.as_bytes()));
        let made = schedules
            .commit_with(&turn, id, &by.id, Event::Created { plan }, claim)
            .await?;
        made.map(|schedule| (upcoming(schedule, &table), false))
            .ok_or(RunError::NotFound)
    }

    /// What is stored of what a schedule starts, checked as at the start of a run.
    fn planned(
        &self,
        by: &Principal,
        what: NewOrigin,
        flags: crate::run::Flags,
    ) -> Result<Planned, RunError> {
        let (text, ignore_manifest, code) = match &what {
            NewOrigin::Skill {
                text,
                ignore_manifest,
                ..
            } => (Some(text.clone()), *ignore_manifest, None),
            NewOrigin::Code { name, version, .. } => (None, false, Some((name.clone(), *version))),
        };
        let given = match &what {
            NewOrigin::Skill { inputs, .. } => names(inputs),
            NewOrigin::Code { .. } => Vec::new(),
        };
        let new = NewRun {
            what,
            flags,
            unattended: true,
            schedule: None,
            continues: None,
        };
        let (start, _) = prepare(self, by, new)?;
        if let Some(secret) = given.iter().find(|name| start.secrets.contains(*name)) {
            return Err(RunError::BadInputs(vec![format!(
                "the input {secret:?} is secret, and a schedule cannot keep it; use a tool of the tools file, whose secrets are read from files"
            )]));
        }
        Ok(match (text, code) {
            (Some(text), _) => Planned::Skill {
                text,
                inputs: start.input,
                ignore_manifest,
            },
            (None, Some((name, version))) => Planned::Code {
                name,
                version,
                input: start.input,
            },
            (None, None) => return Err(RunError::NotFound),
        })
    }

    /// Every schedule that the principal may see.
    pub fn schedules(&self, by: &Principal) -> Vec<Upcoming> {
        let all = self.schedules_of().list().into_iter();
        all.filter(|(schedule, _)| sees(by, schedule))
            .map(|(schedule, table)| upcoming(schedule, &table))
            .collect()
    }

    /// One schedule, where the principal may see it.
    pub fn schedule(&self, by: &Principal, id: ScheduleId) -> Result<Upcoming, RunError> {
        let found = self.schedules_of().get(id);
        found
            .filter(|(schedule, _)| sees(by, schedule) && !self.identity().has_ended(&by.id))
            .map(|(schedule, table)| upcoming(schedule, &table))
            .ok_or(RunError::NotFound)
    }

    /// Starts nothing by itself any more, until it is resumed. Needs a reason.
    pub async fn pause_schedule(
        &self,
        by: &Principal,
        id: ScheduleId,
        reason: &str,
    ) -> Result<Upcoming, RunError> {
        let reason = checked(reason)?;
        self.steer(by, id, Event::Paused { reason }).await?;
        self.schedule(by, id)
    }

    /// Starts runs again from now on. What was due in between is not made up for.
    pub async fn resume_schedule(
        &self,
        by: &Principal,
        id: ScheduleId,
    ) -> Result<Upcoming, RunError> {
        self.steer(by, id, Event::Resumed).await?;
        self.schedule(by, id)
    }

    /// Takes a schedule away; its runs and its history stay. Needs a reason.
    pub async fn delete_schedule(
        &self,
        by: &Principal,
        id: ScheduleId,
        reason: &str,
    ) -> Result<(), RunError> {
        let reason = checked(reason)?;
        self.steer(by, id, Event::Deleted { reason }).await
    }

    /// Starts a run of it now, whether it is due or not.
    pub async fn run_schedule(&self, by: &Principal, id: ScheduleId) -> Result<Arc<Run>, RunError> {
        let (run, _) = self.run_schedule_once(by, id, None).await?;
        Ok(run)
    }

    /// The same, at most once for a key that the client chose: the same request under the same key is
    /// answered with the first run, and true.
    pub async fn run_schedule_once(
        &self,
        by: &Principal,
        id: ScheduleId,
        key: Option<&str>,
    ) -> Result<(Arc<Run>, bool), RunError> {
        let asked = Asked::of(
            "rk/runs/",
            by,
            key,
            Digest::of(format!("run now\n{id}").as_bytes()),
        );
        let schedules = self.schedules_of();
        let turn = schedules.turn().await;
        let schedule = self.steerable(by, id)?;
        if let Some((first, asked)) = self.first(asked.as_ref())? {
            let first = self.run(by, RunId::from_bytes(first));
            let first = first.ok().filter(|_| asked);
            let first = first.ok_or(RunError::KeyReused { first: None })?;
            return Ok((first, true));
        }
        let asked = asked.as_ref();
        let by_hand = Some(ByHand { by, asked });
        let fired = clock::fire(self, &turn, &schedule, self.now(), by_hand).await?;
        let run = fired.ok_or_else(|| {
            RunError::Forbidden(
                "the credential of whoever made the schedule works no longer; it is paused now"
                    .to_owned(),
            )
        })?;
        Ok((self.inner.runs.open(run)?.run(), false))
    }

    /// What the first request under a key made, and whether it asked for the same; none where this is the
    /// first one.
    pub(super) fn first(
        &self,
        asked: Option<&Asked>,
    ) -> Result<Option<([u8; 16], bool)>, RunError> {
        let Some(asked) = asked else {
            return Ok(None);
        };
        let held = asked
            .held(self.log().as_ref())
            .map_err(LoadRunError::from)?;
        let Some(holder) = held else {
            return Ok(None);
        };
        let first = claimed(&holder);
        let (digest, id) = first.map_err(|error| RunError::Unavailable(Box::new(error)))?;
        Ok(Some((id, digest == asked.fingerprint)))
    }

    async fn steer(&self, by: &Principal, id: ScheduleId, event: Event) -> Result<(), RunError> {
        let schedules = self.schedules_of();
        let turn = schedules.turn().await;
        let schedule = self.steerable(by, id)?;
        self.inner.store.may_answer()?;
        let is_so = match &event {
            Event::Paused { .. } => schedule.paused.is_some(),
            Event::Resumed => schedule.paused.is_none(),
            Event::Created { .. }
            | Event::Deleted { .. }
            | Event::Fired { .. }
            | Event::Skipped { .. } => false,
        };
        if is_so {
            return Ok(());
        }
        schedules.commit(&turn, id, &by.id, event).await.map(|_| ())
    }

    /// A schedule that the principal may change.
    fn steerable(&self, by: &Principal, id: ScheduleId) -> Result<Schedule, RunError> {
        let schedule = self.schedule(by, id)?.schedule;
        let caller = &schedule.plan.caller;
        let may = is_own(by, &caller.id, caller.owner.as_ref())
            || by.has(Role::Operator)
            || by.has(Role::Admin);
        if !may {
            return Err(RunError::Forbidden(
                "a schedule is changed by whoever made it, an operator or an administrator"
                    .to_owned(),
            ));
        }
        Ok(schedule)
    }

    /// The schedules.
    pub(crate) fn schedules_of(&self) -> &Arc<Schedules> {
        &self.inner.schedules
    }
}

/// Over everything that is asked for.
fn fingerprint(new: &NewSchedule) -> Digest {
    let all = json!({
        "what": what(&new.what), "flags": flags(new.flags), "name": new.name, "cron": new.cron,
        "zone": new.zone, "overlap": new.overlap,
    });
    Digest::of(format!("schedule\n{}", CanonicalJson::of(&all)).as_bytes())
}

fn names(inputs: &Inputs) -> Vec<String> {
    match inputs {
        Inputs::Texts(texts) => texts.iter().map(|(name, _)| name.clone()).collect(),
        Inputs::Values(values) => values.iter().map(|(name, _)| name.clone()).collect(),
    }
}

fn sees(by: &Principal, schedule: &Schedule) -> bool {
    let caller = &schedule.plan.caller;
    by.sees_all() || is_own(by, &caller.id, caller.owner.as_ref())
}

fn upcoming(schedule: Schedule, table: &Timetable) -> Upcoming {
    let mut next = Vec::new();
    let mut at = Some(schedule.since).filter(|_| schedule.paused.is_none());
    while let Some(moment) = at.filter(|_| next.len() < NEXT_SHOWN) {
        at = table.next_after(moment);
        next.extend(at);
    }
    Upcoming {
        schedule,
        words: table.words(),
        next_there: next.iter().map(|at| table.shown(*at)).collect(),
        next,
    }
}

fn checked(reason: &str) -> Result<String, RunError> {
    let reason = reason.trim();
    if reason.is_empty() || REASON_CHARS_MAX < reason.chars().count() {
        return Err(RunError::Invalid(format!(
            "say why, in 1 to {REASON_CHARS_MAX} characters"
        )));
    }
    Ok(reason.to_owned())
}

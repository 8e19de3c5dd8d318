//! Going on with a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Engine;
use super::runs::is_own;
use super::runs_start::may_start;
use crate::identity::{Principal, Role};
use crate::run::ahead::check_secrets;
use crate::run::event::StepOutcome;
use crate::run::{Command, Flags, Origin, Run, RunError, RunId, StepPath, What};
use crate::skill::{Secrets, Skill, Vars};

/// How a run is gone on with.
#[derive(Default)]
pub struct Resumption {
    /// What it is allowed from now on.
    pub flags: FlagChange,
    /// Its secret inputs, by name: they are stored nowhere, so they are given again.
    pub secrets: Vec<(String, String)>,
}

/// What changes of what a run is allowed; what is none stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagChange {
    /// Whether idempotent writes may be made.
    pub allow_writes: Option<bool>,
    /// Whether destructive steps may be made, and so idempotent writes.
    pub yes: Option<bool>,
    /// Whether what is not allowed is put before people instead of being withheld.
    pub stage: Option<bool>,
}

impl FlagChange {
    fn of(self, flags: Flags) -> Flags {
        Flags {
            allow_writes: self.allow_writes.unwrap_or(flags.allow_writes),
            yes: self.yes.unwrap_or(flags.yes),
            stage: self.stage.unwrap_or(flags.stage),
        }
    }
}

impl From<Flags> for FlagChange {
    /// Exactly these.
    fn from(flags: Flags) -> Self {
        Self {
            allow_writes: Some(flags.allow_writes),
            yes: Some(flags.yes),
            stage: Some(flags.stage),
        }
    }
}

impl Engine {
    /// Goes on with a run: one that was left behind by a process that died, or one that did not pass,
    /// from the step that did not. What passed is not made again. One that is carried on is given what
    /// it may do from now on and its secrets, and goes on as it was.
    pub async fn resume_run(
        &self,
        by: &Principal,
        id: RunId,
        how: Resumption,
    ) -> Result<Arc<Run>, RunError> {
        let run = self.run(by, id)?;
        let flags = how.flags.of(run.flags);
        if is_own(by, &run.start.caller.id, run.start.caller.owner.as_ref()) {
            may_start(by, flags)?;
        } else if !by.has(Role::Operator) || flags != run.flags {
            return Err(RunError::Forbidden(
                "a run is resumed by whoever started it, or by an operator with the flags that it has"
                    .to_owned(),
            ));
        }
        if !self.is_run_carried_on(id) {
            self.check_room_for_run(&run.start.caller.id)?;
        }
        let secrets = self.secrets_of(&run, &how.secrets)?;
        self.has_code_of(&run)?;
        let live = self.inner.runs.open(id)?;
        let (by, wishes) = (by.instigator(), vec![Command::Resume { flags }]);
        let runs = &self.inner.runs;
        let resumed = runs.commit_asking(&live, by, wishes, false, None).await?;
        let run = resumed.map_err(|_| RunError::KeyReused { first: None })?;
        live.given.add(&secrets);
        self.drive(live);
        Ok(run)
    }

    /// The secret inputs that a step of the run which is under way needs, and that this process does not
    /// know any more.
    pub fn secrets_needed(&self, run: &Run) -> Vec<String> {
        let Ok(live) = self.inner.runs.open(run.id) else {
            return Vec::new();
        };
        let known = live.given.now();
        let open = run.steps.iter().filter_map(|step| step.open());
        let used = open.flat_map(|made| run.secrets_in(&made.call.args));
        let mut needed: Vec<_> = used.filter(|name| !known.has(name)).cloned().collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The secrets that a run is given again. Fails where a tool decides by one, as it is now.
    fn secrets_of(&self, run: &Run, given: &[(String, String)]) -> Result<Secrets, RunError> {
        let skill = match &run.start.origin {
            Origin::Skill { text, .. } => Skill::parse(text).map_err(RunError::BadSkill)?,
            Origin::Code { .. } if given.is_empty() => return Ok(Secrets::default()),
            Origin::Code { .. } => {
                return Err(RunError::BadInputs(vec![
                    "a run of code has no secret inputs".to_owned(),
                ]));
            }
        };
        let is_done = |number| match run.step(&StepPath::number(number)).map(|step| &step.what) {
            Some(What::Made(made)) => {
                let report = made.ended.as_ref().map(|(_, report)| report);
                report.is_some_and(|report| report.outcome == StepOutcome::Passed)
            }
            Some(What::Skipped { .. }) => true,
            None => false,
        };
        check_secrets(&skill, self.registry(), |step| is_done(step.number))?;
        let vars = Vars::restored(&skill, BTreeMap::new(), given);
        let vars = vars.map_err(|errors| {
            RunError::BadInputs(errors.into_iter().map(|error| error.message).collect())
        })?;
        Ok(vars.secrets().clone())
    }
}

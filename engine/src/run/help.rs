//! A step that failed and is shown to a model: what it proposes, taken or not, and how the step then ends.

use std::sync::Arc;

use chrono::NaiveDate;

use super::called::Called;
use super::decide::Command;
use super::driver::{Driver, Halt};
use super::event::{StepOutcome, StepReport};
use super::heal::{self, Helper, Level};
use super::judge::{judge, text_of};
use super::skill_file::{call_of, unmade, wish};
use super::step::StepWish;
use crate::skill::{Skill, Step, Vars};

/// A step that failed, and whoever may help with it.
pub(super) struct Help {
    pub(super) helper: Arc<dyn Helper>,
    pub(super) level: Level,
    pub(super) called: Called,
    pub(super) wish: StepWish,
    pub(super) today: NaiveDate,
}

impl Help {
    /// Asks for help, takes what may be taken, and ends the step. Whatever goes wrong here is a note:
    /// the step stays as it was.
    pub(super) async fn with(
        self,
        driver: &Driver,
        skill: &mut Skill,
        (step, mut report): (&Step, StepReport),
        vars: &Vars,
    ) -> Result<Option<StepReport>, Halt> {
        let path = self.wish.path.clone();
        let text = text_of(&self.called);
        let ask = heal::ask(step, &report, &text, &driver.secrets(), self.level);
        let proposed = self.helper.propose(&ask).await;
        let taken = proposed.and_then(|proposal| {
            let file = heal::applied(skill, (step, &report), &proposal, self.level)?;
            let mut steps = file.steps.iter();
            let after = steps.find(|other| other.number == step.number).cloned();
            let after = after.ok_or("the step is gone from the changed file")?;
            Ok((file, after, proposal.reason))
        });
        let (file, after, reason) = match taken {
            Ok(taken) => taken,
            Err(why) => {
                report.notes.push(format!("no help: {why}"));
                driver.end_step(&path, report.clone()).await?;
                return Ok(Some(report));
            }
        };
        let is_called_again = after.args != step.args;
        let level = if is_called_again {
            Level::Two
        } else {
            Level::One
        };
        let healed = heal::record(step, &after, level, &reason);
        if !is_called_again {
            let mut again = judge(&after, &self.called, &driver.secrets());
            again.notes.clone_from(&report.notes);
            if again.outcome != StepOutcome::Passed {
                report
                    .notes
                    .push("no help: what was proposed does not hold either".to_owned());
                driver.end_step(&path, report.clone()).await?;
                return Ok(Some(report));
            }
            let heal = Command::Heal {
                path: path.clone(),
                heal: healed,
            };
            driver.commit(heal).await?;
            keep(&self, &file, skill, &mut again).await;
            driver.end_step(&path, again.clone()).await?;
            return Ok(Some(again));
        }
        // The step failed; its change makes it begin once more, under the same gate.
        driver.end_step(&path, report.clone()).await?;
        driver
            .commit(Command::Heal {
                path: path.clone(),
                heal: healed,
            })
            .await?;
        let (call, unfilled) = call_of(driver, &after, vars, self.today)?;
        let wish = wish(&after, call);
        if let Some(mut again) = unmade(&wish.call, unfilled) {
            again.notes.clone_from(&wish.call.notes);
            driver.end_unmade(&wish, again.clone()).await?;
            return Ok(Some(again));
        }
        let made = match driver.begin_step(&wish).await? {
            Err(report) => return Ok(Some(report)),
            Ok(made) => made,
        };
        let called = driver.make(&wish, &made).await?;
        let mut again = judge(&after, &called, &driver.secrets());
        again.notes.splice(0..0, wish.call.notes.iter().cloned());
        if again.outcome == StepOutcome::Passed {
            keep(&self, &file, skill, &mut again).await;
        }
        driver.end_step(&path, again.clone()).await?;
        Ok(Some(again))
    }
}

/// Goes on with the changed file, and has it kept.
async fn keep(help: &Help, file: &Skill, skill: &mut Skill, report: &mut StepReport) {
    if let Err(why) = help.helper.keep(file).await {
        report
            .notes
            .push(format!("the changed file was not kept: {why}"));
    }
    *skill = file.clone();
}

//! What each event does to a run: the only place where its state changes, live and on replay.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{Event, Flags, Note, Origin, StepCall, StepOutcome, Waiting};
use super::id::{RunId, StepPath};
use super::state::{Ended, Made, Run, Step, What};
use crate::action::ActionId;
use crate::skill::Skill;
use crate::time::Timestamp;

/// What follows a sequence of events: none before [`Event::Started`].
///
/// Fails with words where the events cannot be in this order, which no log of this program holds.
pub fn evolve(state: Option<Run>, id: RunId, at: Timestamp, event: &Event) -> Result<Run, String> {
    let mut run = match (state, event) {
        (None, Event::Started(start)) => {
            return Ok(Run {
                id,
                flags: start.flags,
                planned: planned(&start.origin),
                start: Arc::new((**start).clone()),
                steps: Vec::new(),
                instigators: Vec::new(),
                notes: BTreeMap::new(),
                signals: BTreeMap::new(),
                answered: Vec::new(),
                heals: Vec::new(),
                cancel: None,
                ended: None,
                created_at: at,
                updated_at: at,
                events: 1,
            });
        }
        (Some(run), _) => run,
        (None, _) => return Err(format!("{} before run.started", event.kind())),
    };
    run.updated_at = at;
    run.events += 1;
    match event {
        Event::Started(_) => return Err("it started twice".to_owned()),
        Event::StepStarted { path, call } => run.begin(path, call, at),
        Event::StepWaiting { path, action, why } => {
            let made = run.open(path)?;
            made.waiting = Some((*action, *why));
            made.is_asked |= *why == Waiting::Approval;
        }
        Event::StepEnded { path, report } => {
            let made = run.open(path)?;
            made.ended = Some((at, (**report).clone()));
            made.waiting = None;
            run.answer(path);
        }
        Event::StepSkipped {
            path,
            title,
            reason,
        } => run.steps.push(Arc::new(Step {
            path: path.clone(),
            what: What::Skipped {
                title: title.clone(),
                reason: reason.clone(),
            },
        })),
        Event::Noted { path, note } => {
            let notes = run.notes.entry(path.clone()).or_default();
            notes.push(note.clone());
            match note {
                Note::Now(_) | Note::Random(_) | Note::Received { .. } | Note::Woke => {
                    run.answer(path);
                }
                Note::Sleep { .. } | Note::WaitFor { .. } => {}
            }
        }
        Event::Signalled { name, data } => {
            let sent = run.signals.entry(name.clone()).or_default();
            sent.push(Arc::new(data.clone()));
        }
        Event::Healed { path, heal } => {
            run.heals.push((path.clone(), heal.clone()));
            run.try_again(path);
        }
        Event::CancelRequested { reason } => run.cancel = Some(reason.clone()),
        Event::Resumed { flags } => run.resume(*flags),
        Event::Instigated { by } => run.instigators.push(by.clone()),
        Event::Ended {
            end,
            output,
            message,
        } => {
            run.ended = Some(Ended {
                end: end.clone(),
                output: output.clone(),
                message: message.clone(),
                at,
            });
        }
    }
    Ok(run)
}

/// How many steps a file has.
fn planned(origin: &Origin) -> Option<u32> {
    match origin {
        // It was read when the run started.
        Origin::Skill { text, .. } => {
            let skill = Skill::parse(text).ok()?;
            u32::try_from(skill.steps.len()).ok()
        }
        Origin::Code { .. } => None,
    }
}

impl Made {
    /// The actions of all tries that are over.
    pub(super) fn actions(&self) -> impl Iterator<Item = ActionId> {
        let last = self.ended.as_ref().and_then(|(_, report)| report.action);
        self.before.iter().copied().chain(last)
    }

    fn has_not_passed(&self) -> bool {
        let report = self.ended.as_ref().map(|(_, report)| report);
        report.is_some_and(|report| report.outcome != StepOutcome::Passed)
    }
}

impl Run {
    fn begin(&mut self, path: &StepPath, call: &StepCall, at: Timestamp) {
        let last = self.step(path).and_then(|step| step.made());
        let rejected = last.map_or_else(Vec::new, Made::rejections);
        let made = What::Made(Box::new(Made {
            call: call.clone(),
            started_at: at,
            waiting: None,
            is_asked: false,
            ended: None,
            again: false,
            before: last.map_or_else(Vec::new, |last| last.actions().collect()),
            rejected,
        }));
        match self.step_mut(path) {
            Some(step) => step.what = made,
            None => self.steps.push(Arc::new(Step {
                path: path.clone(),
                what: made,
            })),
        }
    }

    fn answer(&mut self, path: &StepPath) {
        if !self.is_skill() {
            self.answered.push(path.clone());
        }
    }

    fn open(&mut self, path: &StepPath) -> Result<&mut Made, String> {
        match self.step_mut(path).map(|step| &mut step.what) {
            Some(What::Made(made)) if made.ended.is_none() => Ok(made),
            Some(What::Made(_) | What::Skipped { .. }) | None => {
                Err(format!("the step {path} is not under way"))
            }
        }
    }

    /// A step that did not pass is tried again with what was changed in it; any other stays as it is.
    fn try_again(&mut self, path: &StepPath) {
        if let Some(What::Made(made)) = self.step_mut(path).map(|step| &mut step.what) {
            made.again = made.has_not_passed();
        }
    }

    /// What called it off was over with its end. What passed stays. What did not pass is tried again by a file, which stopped there; code has
    /// gone on from there, and gets the answer that it got.
    fn resume(&mut self, flags: Flags) {
        self.flags = flags;
        if self.ended.take().is_some() {
            self.cancel = None;
        }
        if !self.is_skill() {
            return;
        }
        for step in &mut self.steps {
            let fails = step.made().is_some_and(Made::has_not_passed);
            if fails && let What::Made(made) = &mut Arc::make_mut(step).what {
                made.again = true;
            }
        }
    }
}

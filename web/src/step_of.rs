//! Which step of which run an action is. Anybody can write labels; the id of an action is made from its
//! run and step, so that a claim can be verified.

use holdpoint_engine::action::{Action, ActionId};
use holdpoint_engine::engine::Engine;
use holdpoint_engine::identity::Principal;
use holdpoint_engine::run::{Run, RunId, RunSummary, StepPath, StepTry};
use std::sync::Arc;

/// How many tries of a step a list looks at; the page of an action looks at all of them.
const TRIES_MAX: u32 = 16;

/// The step that an action says it is.
pub(crate) struct StepOf {
    /// The run.
    run: RunId,
    /// Where the step stands.
    pub(crate) path: StepPath,
}

impl StepOf {
    /// What the labels of an action say. Not verified.
    pub(crate) fn said_by(action: &Action) -> Option<Self> {
        let labels = &action.proposal.labels;
        Some(Self {
            run: labels.get("run")?.parse().ok()?,
            path: StepPath::new(labels.get("step")?.as_str()).ok()?,
        })
    }

    /// The run in short, where the action is a step of it and the principal may see it.
    pub(crate) fn run_of(
        &self,
        engine: &Engine,
        by: &Principal,
        action: ActionId,
    ) -> Option<RunSummary> {
        let made = |number| StepTry {
            run: self.run,
            path: self.path.clone(),
            number,
        };
        let is_true = (1..=TRIES_MAX).any(|number| made(number).made(action));
        if !is_true {
            return None;
        }
        engine.run_summary(by, self.run).ok()
    }

    /// The run, where the action is a step of it and the principal may see it, and which try of the step
    /// the action is.
    pub(crate) fn run(
        &self,
        engine: &Engine,
        by: &Principal,
        action: ActionId,
    ) -> Option<(Arc<Run>, u32)> {
        let run = engine.run(by, self.run).ok()?;
        let number = run.try_made(&self.path, action)?;
        Some((run, number))
    }
}

//! The run that an action is a step of: what came before, so that an approver sees the context.

use holdpoint_engine::action::Action;
use holdpoint_engine::engine::Engine;
use holdpoint_engine::identity::Principal;

use crate::display::Shown;
use crate::pages::view::{Rejected, Row, StatusView, run_status, step_outcome, value_row};
use crate::step_of::StepOf;

/// The most steps that are shown; the page of the run shows all of them.
const EARLIER_MAX: usize = 20;

/// A step before this one.
pub(in crate::pages) struct Earlier {
    pub(in crate::pages) path: Shown,
    pub(in crate::pages) title: Shown,
    pub(in crate::pages) outcome: StatusView,
    pub(in crate::pages) binds: Vec<Row>,
}

/// The run, as the page of its action shows it.
pub(in crate::pages) struct OfRun {
    pub(in crate::pages) run: String,
    pub(in crate::pages) name: Shown,
    pub(in crate::pages) path: Shown,
    /// How many steps there are, where that is known.
    pub(in crate::pages) all: Option<usize>,
    pub(in crate::pages) title: Shown,
    pub(in crate::pages) intent: Option<Shown>,
    pub(in crate::pages) status: StatusView,
    pub(in crate::pages) caller: Shown,
    /// Who else made it go on.
    pub(in crate::pages) instigators: Vec<Shown>,
    /// What people said to earlier tries.
    pub(in crate::pages) rejected: Option<Rejected>,
    pub(in crate::pages) earlier: Vec<Earlier>,
    pub(in crate::pages) left_out: usize,
}

impl OfRun {
    /// The run of an action; none where it is no step, or only says so.
    pub(in crate::pages) fn of(engine: &Engine, by: &Principal, action: &Action) -> Option<Self> {
        let said = StepOf::said_by(action)?;
        let (run, tried) = said.run(engine, by, action.id)?;
        let place = run.steps.iter().position(|step| step.path == said.path)?;
        let step = run.steps.get(place)?;
        let made = step.made()?;
        let (now, receipt) = (engine.now(), engine.receipt(&run));
        let left_out = place.saturating_sub(EARLIER_MAX);
        let earlier = receipt.steps.iter().zip(&run.steps).take(place);
        let earlier = earlier.skip(left_out).map(|(receipt, step)| {
            let report = step.made().and_then(|made| made.ended.as_ref());
            let binds = report.into_iter().flat_map(|(_, report)| &report.binds);
            Earlier {
                path: Shown::line(&receipt.path),
                title: Shown::line(&receipt.title),
                outcome: step_outcome(receipt.outcome),
                binds: binds.map(|(name, value)| value_row(name, value)).collect(),
            }
        });
        Some(Self {
            run: run.id.to_string(),
            name: Shown::line(run.start.origin.name()),
            path: Shown::line(said.path.as_str()),
            all: run.is_skill().then_some(receipt.steps.len()),
            title: Shown::line(step.title()),
            intent: made.call.intent.as_deref().map(Shown::line),
            status: run_status(run.status(), engine.is_run_carried_on(run.id)),
            caller: Shown::line(&run.start.caller.name),
            instigators: action
                .instigators
                .iter()
                .map(|by| Shown::line(&by.name))
                .collect(),
            rejected: Rejected::before(made, tried, now),
            earlier: earlier.collect(),
            left_out,
        })
    }
}

//! Help of a model with a step that failed: new assertions and binds, at level 2 new arguments too.
//!
//! Nobody is asked unless whoever runs the file has given a [`Helper`]. What it proposes is read as
//! strictly as the file, and never opens a door: a step that was withheld is not shown to it, a destructive
//! step is never called again, the gate is asked again, and a step goes on checking what it checked
//! (`heal_rules`). What is taken is in the history before it counts.

use async_trait::async_trait;
use serde_json::Value;

use super::event::{Heal, StepOutcome, StepReport};
use super::heal_rules::{check_args, check_asserts, check_binds};
use crate::skill::{EditError, Secrets, Skill, Step};
use crate::tool::EffectClass;

/// The longest part of an answer that a model is shown, in characters.
const ANSWER_CHARS_MAX: usize = 16 * 1024;

/// How far help may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// New assertions and binds for the answer in hand.
    One,
    /// New arguments too, and one more call of a step that reads or writes idempotently.
    Two,
}

impl Level {
    /// Its number.
    pub fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// Whoever helps: a model behind its own key.
#[async_trait]
pub trait Helper: Send + Sync + 'static {
    /// How far it may go.
    fn level(&self) -> Level;

    /// Proposes what would make the step pass. Fails with words.
    async fn propose(&self, ask: &Ask) -> Result<Proposal, String>;

    /// Keeps the changed file. Fails with words; the run goes on with the change all the same.
    async fn keep(&self, skill: &Skill) -> Result<(), String>;
}

/// A step that failed. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The number of the step.
    pub step: u32,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub intent: String,
    /// The tool. It stays.
    pub tool: String,
    /// The arguments as they stand in the file, with their holes.
    pub args: Value,
    /// Its assertions.
    pub asserts: Vec<String>,
    /// Its binds.
    pub binds: Vec<String>,
    /// Why it failed.
    pub failures: Vec<String>,
    /// The status of the answer.
    pub http_status: Option<u16>,
    /// The answer, cut.
    pub answer: String,
    /// Whether new arguments may be proposed.
    pub may_change_args: bool,
}

/// What a model proposes. What is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// All assertions of the step.
    pub asserts: Option<Vec<String>>,
    /// All binds of the step.
    pub binds: Option<Vec<String>>,
    /// The arguments.
    pub args: Option<Value>,
    /// Why, in its own words.
    pub reason: String,
}

/// Whether a step that ended so may be shown to a model, and at which level.
pub(super) fn level_for(
    helper: &dyn Helper,
    effect: EffectClass,
    report: &StepReport,
) -> Option<Level> {
    let answered = report.outcome == StepOutcome::Failed
        && (report.http_status.is_some() || !report.asserts.is_empty());
    match (answered, effect, helper.level()) {
        (false, _, _) => None,
        // It is never called again.
        (true, EffectClass::Destructive, _) | (true, _, Level::One) => Some(Level::One),
        (true, EffectClass::Read | EffectClass::IdempotentWrite, Level::Two) => Some(Level::Two),
    }
}

/// What a model is asked about a step.
pub(super) fn ask(
    step: &Step,
    report: &StepReport,
    answer: &str,
    secrets: &Secrets,
    level: Level,
) -> Ask {
    Ask {
        step: step.number,
        title: step.title.clone(),
        intent: step.intent.clone(),
        tool: step.tool.clone(),
        args: step.args.clone(),
        asserts: lines(step.asserts.iter().map(crate::skill::Assertion::text)),
        binds: lines(step.binds.iter().map(crate::skill::Bind::text)),
        failures: report
            .failures
            .iter()
            .map(|line| secrets.hide(line))
            .collect(),
        http_status: report.http_status,
        answer: secrets
            .hide(answer)
            .chars()
            .take(ANSWER_CHARS_MAX)
            .collect(),
        may_change_args: level == Level::Two,
    }
}

fn lines<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.map(str::to_owned).collect()
}

/// The file with a proposal in it, read again; else why it is not taken.
pub(super) fn applied(
    skill: &Skill,
    (step, report): (&Step, &StepReport),
    proposal: &Proposal,
    level: Level,
) -> Result<Skill, String> {
    if let Some(proposed) = &proposal.asserts {
        check_asserts(step, report, proposed)?;
    }
    if let Some(proposed) = &proposal.binds {
        check_binds(step, report, proposed)?;
    }
    let args = proposal.args.as_ref().filter(|args| **args != step.args);
    if args.is_some() && level < Level::Two {
        return Err("it would change the arguments, which this level does not allow".to_owned());
    }
    if let Some(args) = args {
        check_args(skill, &step.args, args)?;
    }
    let number = step.number;
    let mut edit = skill.edit();
    if let Some(proposed) = &proposal.asserts {
        edit = edit.asserts(number, proposed.clone());
    }
    if let Some(proposed) = &proposal.binds {
        edit = edit.binds(number, proposed.clone());
    }
    if let Some(args) = args {
        edit = edit.args(number, args.clone());
    }
    let entry = format!(
        "step {number}, healed at level {}: {}",
        if args.is_some() { 2 } else { 1 },
        proposal.reason
    );
    edit.changelog(&entry).apply().map_err(|error| match error {
        EditError::Line { message, .. } => message,
        EditError::NoStep(_) | EditError::Unreadable(_) | EditError::Different => error.to_string(),
    })
}

/// What the history keeps of a change.
pub(super) fn record(before: &Step, after: &Step, level: Level, reason: &str) -> Heal {
    Heal {
        level: level.number(),
        before: step_lines(before),
        after: step_lines(after),
        reason: reason.to_owned(),
    }
}

fn step_lines(step: &Step) -> Vec<String> {
    let asserts = step
        .asserts
        .iter()
        .map(|line| format!("- assert: {}", line.text()));
    let binds = step
        .binds
        .iter()
        .map(|line| format!("- bind: {}", line.text()));
    let action = format!("- action: {} {}", step.tool, step.args);
    std::iter::once(action)
        .chain(asserts)
        .chain(binds)
        .collect()
}

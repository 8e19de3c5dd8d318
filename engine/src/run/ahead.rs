//! What can be said of the steps of a file before the first one is made: what they would call, and what
//! of it is wrong whatever earlier steps bind.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use serde_json::Value;

use super::shell::RunError;
use super::skill_file::day;
use crate::skill::{FillError, Skill, SkillError, Step, Vars, secret_holes_in};
use crate::time::Timestamp;
use crate::tool::{ArgError, Open, Registry};

/// A step, filled as far as it can be.
pub(super) struct Ahead<'a> {
    pub(super) step: &'a Step,
    /// The arguments, in which what an earlier step binds, and secrets, stay holes; or what nothing fills.
    pub(super) args: Result<Value, Vec<FillError>>,
    /// What of the arguments is not known.
    open: Open,
}

/// All steps of a file, for a run that begins at `now`.
pub(super) fn ahead<'a>(skill: &'a Skill, vars: &Vars, now: Timestamp) -> Vec<Ahead<'a>> {
    let mut vars = vars.clone();
    let mut bound = BTreeSet::new();
    let today = day(now);
    let steps = skill.steps.iter().map(|step| {
        let looked_at = look(step, &vars, &bound, today);
        for bind in &step.binds {
            // What is not known yet is shown as its own hole.
            vars.bind(&bind.name, Value::String(format!("{{{{{}}}}}", bind.name)));
            bound.insert(bind.name.as_str());
        }
        looked_at
    });
    steps.collect()
}

fn look<'a>(step: &'a Step, vars: &Vars, bound: &BTreeSet<&str>, today: NaiveDate) -> Ahead<'a> {
    let args = step.fill(vars, today).map(|filled| filled.args);
    let open = match &args {
        Ok(args) => step.open(args, |name| bound.contains(name)),
        Err(_) => Open::new(),
    };
    Ahead { step, args, open }
}

/// Refuses a file with steps that could not be made: holes that nothing fills, and arguments that their
/// tools do not take, secrets by which a tool decides among them. Whether a step with a condition is reached is
/// not known: of such a one only what stands in the file itself is looked at.
pub fn check_steps(
    skill: &Skill,
    vars: &Vars,
    registry: &Registry,
    now: Timestamp,
) -> Result<(), RunError> {
    let mut lines = Vec::new();
    for Ahead { step, args, open } in ahead(skill, vars, now) {
        let wrong = match args {
            _ if step.when.is_some() => as_written(step, registry),
            Ok(args) => wrong_in(step, &args, &open, registry),
            Err(errors) => {
                lines.extend(errors.iter().map(ToString::to_string));
                as_written(step, registry)
            }
        };
        let wrong = wrong
            .into_iter()
            .chain(wrong_secrets(skill, step, registry));
        lines.extend(wrong.map(|error| line(step, &error)));
    }
    all_right(lines)
}

/// Refuses to go on with a file that has secrets by which the tools decide as they are now. Steps that are
/// `done` are not looked at.
pub(crate) fn check_secrets(
    skill: &Skill,
    registry: &Registry,
    done: impl Fn(&Step) -> bool,
) -> Result<(), RunError> {
    let steps = skill.steps.iter().filter(|step| !done(step));
    let lines = steps.flat_map(|step| {
        let wrong = wrong_secrets(skill, step, registry).into_iter();
        wrong.map(|error| line(step, &error))
    });
    all_right(lines.collect())
}

fn all_right(lines: Vec<String>) -> Result<(), RunError> {
    if lines.is_empty() {
        Ok(())
    } else {
        Err(RunError::BadSteps(lines))
    }
}

/// What is wrong with the calls of a file, whatever fills their holes, each with its place.
pub fn wrong_calls(skill: &Skill, registry: &Registry) -> Vec<SkillError> {
    let mistakes = skill.steps.iter().flat_map(|step| {
        let wrong = as_written(step, registry).into_iter();
        let wrong = wrong.chain(wrong_secrets(skill, step, registry));
        wrong.filter_map(|error| {
            let message = line(step, &error);
            skill.at_action(step.number, message)
        })
    });
    mistakes.collect()
}

fn as_written(step: &Step, registry: &Registry) -> Vec<ArgError> {
    let open = step.open(&step.args, |_| true);
    wrong_in(step, &step.args, &open, registry)
}

fn wrong_in(step: &Step, args: &Value, open: &Open, registry: &Registry) -> Vec<ArgError> {
    let tool = registry.get(&step.tool);
    tool.map_or_else(Vec::new, |tool| tool.check_ahead(args, open))
}

/// The secrets of a step by which its tool decides.
fn wrong_secrets(skill: &Skill, step: &Step, registry: &Registry) -> Vec<ArgError> {
    let is_secret = |name: &str| skill.inputs.get(name).is_some_and(|input| input.secret);
    let tool = registry.get(&step.tool);
    tool.map_or_else(Vec::new, |tool| {
        tool.check_secrets(&secret_holes_in(&step.args, &is_secret))
    })
}

fn line(step: &Step, error: &ArgError) -> String {
    let place = match error.pointer.as_str() {
        "" => "the arguments",
        pointer => pointer,
    };
    format!(
        "step {}, {place}: {} does not take it: {}",
        step.number, step.tool, error.message
    )
}

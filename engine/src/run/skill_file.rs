//! A run of a skill file: its steps in order, until one does not pass.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate};
use serde_json::Value;

use super::ahead::check_steps;
use super::called::{Called, withheld};
use super::decide::Command;
use super::driver::{Driver, Halt};
use super::event::{End, Origin, StepCall, StepOutcome, StepReport};
use super::gate::{Approved, Effects, gate};
use super::heal;
use super::help::Help;
use super::id::StepPath;
use super::judge::judge;
use super::plan::check_tools;
use super::receipt::PEOPLE_DECIDE;
use super::shell::RunError;
use super::start::Inputs;
use super::state::{Made, Run, What};
use super::step::StepWish;
use crate::action::{ActionId, SafetyClass};
use crate::canon::CanonicalJson;
use crate::engine::Engine;
use crate::skill::{Secrets, Skill, Step, Vars};
use crate::time::Timestamp;
use crate::tool::{Annotations, EffectClass, Registry};

/// What a run of a file starts with.
pub(super) struct Prepared {
    pub(super) origin: Origin,
    pub(super) input: CanonicalJson,
    pub(super) names: BTreeSet<String>,
    pub(super) secrets: Secrets,
}

/// Reads a file and refuses what can be refused before the first step.
pub(super) fn prepare(
    engine: &Engine,
    text: &str,
    inputs: &Inputs,
    ignore_manifest: bool,
) -> Result<Prepared, RunError> {
    let skill = Skill::parse(text).map_err(RunError::BadSkill)?;
    let vars = match inputs {
        Inputs::Texts(texts) => Vars::given(&skill, texts),
        Inputs::Values(values) => Vars::given_values(&skill, values),
    };
    let vars = vars.map_err(|errors| {
        RunError::BadInputs(errors.into_iter().map(|error| error.message).collect())
    })?;
    check_tools(&skill, engine.registry(), ignore_manifest)?;
    check_steps(&skill, &vars, engine.registry(), engine.now())?;
    let names = skill.inputs.iter().filter(|(_, input)| input.secret);
    let values = vars.values().clone().into_iter().collect();
    Ok(Prepared {
        origin: Origin::Skill {
            name: skill.name.clone(),
            text: text.to_owned(),
            digest: skill.digest(),
        },
        input: CanonicalJson::of(&Value::Object(values)),
        names: names.map(|(name, _)| name.clone()).collect(),
        secrets: vars.secrets().clone(),
    })
}

/// What a repeat of a step does: as the file says, else as the tools file or the tool's name does; and
/// what should be known about that.
pub fn effect_of(step: &Step, registry: &Registry) -> (EffectClass, Vec<String>) {
    let told = step.classified(Annotations::default());
    let usual = usual_effect(step, registry);
    let Some(own) = step.effect.filter(|own| *own != usual) else {
        return (usual, Vec::new());
    };
    let weaker = if own < usual { ", a weaker class" } else { "" };
    let note = format!(
        "effect: {own} in the file overrides {usual}{weaker} ({})",
        told.classified.reason
    );
    (own, vec![note])
}

/// What a repeat of a step does, whatever its file says: as the tools file, else the tool's name, does.
pub(super) fn usual_effect(step: &Step, registry: &Registry) -> EffectClass {
    let told = || step.classified(Annotations::default()).classified.effect;
    registry
        .get(&step.tool)
        .map_or_else(told, |tool| tool.effect)
}

/// What a step says of its own approval.
pub(super) fn approved(step: &Step) -> Approved {
    match step.approved() {
        None => Approved::NotSaid,
        Some(true) => Approved::ThisCall,
        Some(false) => Approved::AnotherCall,
    }
}

/// Makes the steps, from the first that has not passed.
pub(super) async fn carry_on(driver: &Driver, text: &str) -> Result<(), Halt> {
    let mut skill = Skill::parse(text).map_err(RunError::BadSkill)?;
    let run = driver.run();
    let mut vars = restore(&run, &skill, &driver.secrets());
    let today = day(run.created_at);
    for index in 0..skill.steps.len() {
        let is_open = skill.steps.get(index).is_some_and(|step| {
            let path = StepPath::number(step.number);
            let run = driver.run();
            run.step(&path).is_some_and(|step| step.open().is_some())
        });
        if !is_open {
            // What is under way is taken back first, or followed to its end.
            driver.check_cancel()?;
        }
        vars.know(&driver.secrets());
        let made = Box::pin(make(driver, &mut skill, index, &vars, today)).await?;
        let Some(report) = made else {
            continue;
        };
        if let Some(end) = report.outcome.ends() {
            let why = report.failures.first().cloned().unwrap_or_default();
            let message = format!("step {}: {why}", index + 1);
            return driver.end(end, null(), Some(message)).await;
        }
        for (name, value) in &report.binds {
            vars.bind(name, value.value());
        }
    }
    driver.end(End::Passed, null(), None).await
}

/// Makes one step, or finds how it went; none where it was left out. A model that helps may change it in
/// the file.
async fn make(
    driver: &Driver,
    skill: &mut Skill,
    index: usize,
    vars: &Vars,
    today: NaiveDate,
) -> Result<Option<StepReport>, Halt> {
    let Some(step) = skill.steps.get(index).cloned() else {
        return Ok(None);
    };
    let path = StepPath::number(step.number);
    let run = driver.run();
    let made = match run.step(&path).map(|step| &step.what) {
        Some(What::Skipped { .. }) => return Ok(None),
        Some(What::Made(made)) => Some(made),
        None => None,
    };
    if let Some(report) = made.and_then(|made| made.settled()) {
        return Ok(Some(report.clone()));
    }
    let open = made.filter(|made| made.ended.is_none());
    let wish = match open {
        // What was sent goes on as it began.
        Some(made) if driver.has_action(&path, made)? => wish(&step, made.call.clone()),
        Some(_) | None => {
            if let Some(made) = made
                && let Some(action) = driver.happened(made)?
            {
                let report = happened(made, action);
                if open.is_some() {
                    driver.end_step(&path, report.clone()).await?;
                }
                return Ok(Some(report));
            }
            let mut failures = Vec::new();
            match step.when.as_ref().map(|when| (when, when.holds(vars))) {
                None | Some((_, Ok(true))) => {}
                Some((when, Ok(false))) => {
                    let command = Command::SkipStep {
                        path,
                        title: step.title.clone(),
                        reason: format!("its condition does not hold: {}", when.text()),
                    };
                    driver.commit(command).await?;
                    return Ok(None);
                }
                Some((_, Err(why))) => failures.push(format!("when: {why}")),
            }
            let (call, unfilled) = call_of(driver, &step, vars, today)?;
            failures.extend(unfilled);
            let wish = wish(&step, call);
            if let Some(mut report) = unmade(&wish.call, failures) {
                report.notes.clone_from(&wish.call.notes);
                driver.end_unmade(&wish, report.clone()).await?;
                return Ok(Some(report));
            }
            wish
        }
    };
    let made = match driver.begin_step(&wish).await? {
        Err(report) => return Ok(Some(report)),
        Ok(made) => made,
    };
    let notes = wish.call.notes.clone();
    let called = driver.make(&wish, &made).await?;
    let mut report = judge(&step, &called, &driver.secrets());
    report.notes.splice(0..0, notes);
    if report.outcome == StepOutcome::Failed
        && let Some(helper) = driver.engine()?.helper()
        && let Some(level) = heal::level_for(helper.as_ref(), wish.call.effect, &report)
    {
        let help = Help {
            helper,
            level,
            called,
            wish,
            today,
        };
        return Box::pin(help.with(driver, skill, (&step, report), vars)).await;
    }
    driver.end_step(&wish.path, report.clone()).await?;
    Ok(Some(report))
}

/// What a step calls, as it is filled now, and what could not be filled.
pub(super) fn call_of(
    driver: &Driver,
    step: &Step,
    vars: &Vars,
    today: NaiveDate,
) -> Result<(StepCall, Vec<String>), Halt> {
    let engine = driver.engine()?;
    let (effect, mut notes) = effect_of(step, engine.registry());
    let effects = Effects {
        said: effect,
        usual: usual_effect(step, engine.registry()),
    };
    let authority = driver.authority(&engine);
    let tool = engine.registry().get(&step.tool);
    let before_people = tool.is_some_and(|tool| tool.class == SafetyClass::ApprovalBound);
    drop(engine);
    let verdict = gate(effects, approved(step), driver.run().flags, authority);
    if before_people && verdict.flag().is_some() {
        notes.push(PEOPLE_DECIDE.to_owned());
    }
    let (args, failures) = match step.fill(vars, today) {
        Ok(filled) => (filled.args, Vec::new()),
        Err(errors) => {
            let lines = errors.iter().map(ToString::to_string).collect();
            (step.args.clone(), lines)
        }
    };
    let call = StepCall {
        number: 1,
        title: step.title.clone(),
        intent: Some(step.intent.clone()),
        tool: step.tool.clone(),
        args: CanonicalJson::of(&args),
        effect,
        verdict,
        notes,
    };
    Ok((call, failures))
}

pub(super) fn wish(step: &Step, call: StepCall) -> StepWish {
    StepWish {
        path: StepPath::number(step.number),
        call,
        timeout: step.timeout,
        retries: step.retry,
    }
}

/// The report of a step that is not sent: it could not be filled, or is not allowed.
pub(super) fn unmade(call: &StepCall, failures: Vec<String>) -> Option<StepReport> {
    if !failures.is_empty() {
        return Some(unsent(failures));
    }
    (!call.verdict.calls()).then(|| withheld(call.verdict).report())
}

/// The report of a step of which nothing was sent.
fn unsent(failures: Vec<String>) -> StepReport {
    StepReport {
        failures,
        ..Called::not_made(StepOutcome::Failed, String::new()).report()
    }
}

/// What a resumption finds of a step that did not pass although a write of it took effect: it is not made
/// again, whatever its answer should have been.
fn happened(made: &Made, action: ActionId) -> StepReport {
    let last = made.ended.as_ref().map(|(_, report)| report.clone());
    let mut report = last.unwrap_or_else(|| unsent(Vec::new()));
    let words = if report.action == Some(action) {
        "its write took effect and is not made again; its answer did not hold".to_owned()
    } else {
        format!(
            "the write of an earlier try took effect ({action}) and is not made again; its answer did not hold"
        )
    };
    report.failures.insert(0, words);
    report
}

/// The variables as they were when the run stopped.
fn restore(run: &Run, skill: &Skill, secrets: &Secrets) -> Vars {
    let mut vars = Vars::stored(skill, &run.start.input.value(), secrets.clone());
    for step in &run.steps {
        let report = step.made().and_then(|made| made.settled());
        for (name, value) in report.iter().flat_map(|report| &report.binds) {
            vars.bind(name, value.value());
        }
    }
    vars
}

/// The day of a moment, in UTC.
pub(super) fn day(at: Timestamp) -> NaiveDate {
    DateTime::from_timestamp_millis(at.0)
        .unwrap_or(DateTime::UNIX_EPOCH)
        .date_naive()
}

fn null() -> CanonicalJson {
    CanonicalJson::of(&Value::Null)
}

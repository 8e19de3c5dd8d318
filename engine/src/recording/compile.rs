//! From a recording to a skill file.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use super::error::CompileError;
use super::fill::Filler;
use super::flow::Flow;
use super::gather::{Call, Recording};
use super::inputs::Inputs;
use super::kept::{Kept as Calls, kept};
use super::naming::{check_name, name};
use super::repeat::repeated;
use super::secret::Secrets;
use super::steps::{Step, changing, step};
use super::words::first_sentence;
use super::write::write;
use crate::limits::{QUESTIONS_MAX, SKILL_BYTES_MAX, SKILL_INPUTS_MAX, SKILL_STEPS_MAX};
use crate::skill::Skill;
use crate::tool::{EffectClass, classify_effect};

/// Which proposals are put into effect. Without that they are open questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apply {
    /// Days become days relative to the day of the run.
    pub dates: bool,
    /// Values that several steps use become inputs, with the recorded value as their default.
    pub inputs: bool,
}

/// How many steps there are of each effect class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Steps that only look.
    pub read: usize,
    /// Steps that may be repeated.
    pub idempotent_write: usize,
    /// Steps that may not.
    pub destructive: usize,
}

impl Census {
    fn count(&mut self, effect: EffectClass) {
        *match effect {
            EffectClass::Read => &mut self.read,
            EffectClass::IdempotentWrite => &mut self.idempotent_write,
            EffectClass::Destructive => &mut self.destructive,
        } += 1;
    }
}

impl std::fmt::Display for Census {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            read,
            idempotent_write,
            destructive,
        } = self;
        write!(
            f,
            "effects: read={read} idempotent-write={idempotent_write} destructive={destructive}"
        )
    }
}

/// A skill file, and what to tell about it. No part of it holds a secret of the recording.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The name of the skill: letters, digits and dashes, never a path.
    pub name: String,
    /// The file.
    pub text: String,
    /// How many steps do what.
    pub census: Census,
    /// What to be careful with.
    pub warnings: Vec<String>,
    /// What a person should look at; the file has them too.
    pub questions: Vec<String>,
    /// The inputs that a run asks for and never stores.
    pub secrets: Vec<String>,
}

impl Compiled {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.skill.md", self.name)
    }
}

/// Everything that is written.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) origin: String,
    pub(super) inputs: Map<String, Value>,
    pub(super) steps: Vec<Step>,
    pub(super) left_out: Vec<String>,
    pub(super) questions: Vec<String>,
}

/// Makes a skill of a recording. `fallback` names it where the recording does not.
///
/// # Errors
///
/// Where no call succeeded, and where a call holds what a skill file cannot express.
pub fn compile(
    recording: &Recording,
    fallback: &str,
    apply: Apply,
) -> Result<Compiled, CompileError> {
    compile_all(recording, fallback, apply).map(|(compiled, _)| compiled)
}

/// As [`compile`], and the values of its inputs by their names.
pub(super) fn compile_all(
    recording: &Recording,
    fallback: &str,
    apply: Apply,
) -> Result<(Compiled, Recorded), CompileError> {
    let secrets = Secrets::of(recording)?;
    let Calls {
        steps: calls,
        words,
        left_out,
        questions: failed,
    } = kept(recording)?;
    // What one argument follows, all of its other places follow: they are found once all calls were seen.
    let (first, _) = fill(recording, &calls, &secrets, apply, HashSet::new())?;
    let (mut filler, mut filled) = fill(recording, &calls, &secrets, apply, first.followed)?;
    repeated(&mut filler, &mut filled, &secrets, apply.inputs);
    let mut kept_of = std::mem::take(&mut filler.kept);
    let mut census = Census::default();
    let mut warnings = Vec::new();
    let mut steps = Vec::new();
    for (index, (call, args)) in calls.iter().zip(filled).enumerate() {
        filler.step = index + 1;
        let step = step(
            call,
            words.get(&(index + 1)).copied(),
            args,
            kept_of.remove(&(index + 1)).unwrap_or_default(),
            &mut filler,
            &mut warnings,
        );
        census.count(step.effect);
        steps.push(step);
    }
    if filler.flow.is_full {
        filler
            .questions
            .push("The answers are so large that not all of them were compared with arguments. Is a value missing?".to_owned());
    }
    if let Some(warning) = changing(&steps) {
        warnings.insert(0, warning);
    }
    let mut questions = recording.questions.clone();
    questions.extend(failed);
    questions.append(&mut filler.questions);
    limit(&mut questions);
    let name = name(recording, fallback, &secrets, &mut warnings);
    let description = recording
        .description
        .as_deref()
        .and_then(|text| first_sentence(&secrets.redact(text)))
        .unwrap_or_else(|| match steps.len() {
            1 => "A recorded job of one step".to_owned(),
            count => format!("A recorded job of {count} steps"),
        });
    let secret_names = filler.inputs.secret_names();
    let recorded = filler.inputs.recorded();
    let draft = Draft {
        name: name.clone(),
        description,
        origin: origin(recording),
        inputs: filler.inputs.declared(),
        steps,
        left_out,
        questions: questions.clone(),
    };
    let compiled = Compiled {
        text: write(&draft),
        name,
        census,
        warnings,
        questions,
        secrets: secret_names,
    };
    check(&compiled, &draft, apply)?;
    Ok((compiled, recorded))
}

/// The arguments of all calls with their holes, where these values are known to be followed.
fn fill<'a>(
    recording: &Recording,
    calls: &[&Call],
    secrets: &'a Secrets,
    apply: Apply,
    followed: HashSet<String>,
) -> Result<(Filler<'a>, Vec<Map<String, Value>>), CompileError> {
    let mut filler = Filler {
        secrets,
        flow: Flow::of(followed),
        inputs: Inputs::of(recording),
        kept: HashMap::new(),
        today: recording.day,
        apply_dates: apply.dates,
        questions: Vec::new(),
        followed: HashSet::new(),
        is_write: false,
        step: 0,
        line: 0,
    };
    let mut filled = Vec::new();
    for (call, event) in events(calls) {
        filler.step = event.step;
        filler.line = call.line;
        if event.is_call {
            check_name(call, secrets)?;
            let effect = classify_effect(&call.tool, call.hints).effect;
            filler.is_write = effect != EffectClass::Read;
            filled.push(filler.args(&call.args)?);
        } else if let Some(answer) = &call.answer {
            if let Some(json) = &answer.json {
                filler.flow.learn(event.step, &call.tool, json, secrets);
            }
            if let Some(text) = &answer.text {
                filler.flow.learn_text(event.step, text);
            }
        }
    }
    Ok((filler, filled))
}

/// Reads the file again: it must say what was meant, and nothing else.
fn check(compiled: &Compiled, draft: &Draft, apply: Apply) -> Result<(), CompileError> {
    for (what, is, most) in [
        ("steps", draft.steps.len(), SKILL_STEPS_MAX),
        ("inputs", draft.inputs.len(), SKILL_INPUTS_MAX),
        ("bytes", compiled.text.len(), SKILL_BYTES_MAX),
    ] {
        if is > most {
            let help = if what == "inputs" && apply.inputs {
                "leave out `--apply inputs`"
            } else {
                "record one job at a time"
            };
            return Err(CompileError::TooMuch { what, most, help });
        }
    }
    let skill = Skill::parse(&compiled.text)
        .map_err(|errors| CompileError::NotReadBack(errors.to_string()))?;
    let is_same = skill.steps.len() == draft.steps.len()
        && skill.name == draft.name
        && skill.inputs.len() == draft.inputs.len()
        && skill.steps.iter().zip(&draft.steps).all(|(read, meant)| {
            read.tool == meant.tool
                && read.args == Value::Object(meant.args.clone())
                && read.effect == Some(meant.effect)
                && read.binds.len() == meant.binds.len()
        });
    if is_same {
        Ok(())
    } else {
        let what = "it does not say what was recorded".to_owned();
        Err(CompileError::NotReadBack(what))
    }
}

/// What the holes of inputs stood for, by their names.
pub(super) type Recorded = BTreeMap<String, Value>;

/// A call, or what it answered.
struct Event {
    step: usize,
    is_call: bool,
}

/// Calls and answers in the order in which they were recorded: an answer helps no earlier call.
fn events<'a>(calls: &[&'a Call]) -> Vec<(&'a Call, Event)> {
    let mut events: Vec<(usize, &Call, Event)> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let event = |is_call| Event {
            step: index + 1,
            is_call,
        };
        events.push((call.order, call, event(true)));
        if let Some(answer) = &call.answer {
            events.push((answer.order, call, event(false)));
        }
    }
    events.sort_by_key(|(order, ..)| *order);
    events
        .into_iter()
        .map(|(_, call, event)| (call, event))
        .collect()
}

/// Where the skill comes from.
fn origin(recording: &Recording) -> String {
    let calls = recording.calls.len();
    let calls = if calls == 1 {
        "1 call".to_owned()
    } else {
        format!("{calls} calls")
    };
    let day = recording
        .day
        .map(|day| format!(", recorded on {day}"))
        .unwrap_or_default();
    format!("Made from {} of {calls}{day}.", recording.format.title())
}

fn limit(questions: &mut Vec<String>) {
    let more = questions.len().saturating_sub(QUESTIONS_MAX);
    if more > 0 {
        questions.truncate(QUESTIONS_MAX);
        questions.push(format!("And {more} more like these."));
    }
}

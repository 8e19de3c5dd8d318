//! From a recording to a skill file.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::error::CompileError;
use super::fill::{Filler, Kept};
use super::flow::Flow;
use super::gather::{Call, Recording};
use super::inputs::Inputs;
use super::kept::{Kept as Calls, kept, refused};
use super::naming::{check_name, intent, name};
use super::repeat::repeated;
use super::secret::Secrets;
use super::words::{first_sentence, one_line, sentence, title};
use super::write::write;
use crate::limits::{
    QUESTIONS_MAX, SKILL_BYTES_MAX, SKILL_INPUTS_MAX, SKILL_STEPS_MAX, TOOL_NAME_BYTES_MAX,
};
use crate::skill::Skill;
use crate::tool::{Annotations, EffectClass, classify_effect};

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

/// A step, ready to be written.
pub(super) struct Step {
    pub(super) title: String,
    pub(super) intent: String,
    pub(super) tool: String,
    pub(super) args: Map<String, Value>,
    pub(super) status: Option<u64>,
    pub(super) binds: Vec<Kept>,
    pub(super) effect: EffectClass,
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
    let mut filler = Filler {
        secrets: &secrets,
        flow: Flow::default(),
        inputs: Inputs::of(recording),
        kept: HashMap::new(),
        today: recording.day,
        apply_dates: apply.dates,
        questions: Vec::new(),
        step: 0,
        line: 0,
    };
    let mut filled = Vec::new();
    for (call, event) in events(&calls) {
        filler.step = event.step;
        filler.line = call.line;
        if event.is_call {
            check_name(call, &secrets)?;
            filled.push(filler.args(&call.args)?);
        } else if let Some(json) = call.answer.as_ref().and_then(|answer| answer.json.as_ref()) {
            filler.flow.learn(event.step, json, &secrets);
        }
    }
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
    check(&compiled, &draft)?;
    Ok((compiled, recorded))
}

/// Reads the file again: it must say what was meant, and nothing else.
fn check(compiled: &Compiled, draft: &Draft) -> Result<(), CompileError> {
    for (what, is, most) in [
        ("steps", draft.steps.len(), SKILL_STEPS_MAX),
        ("inputs", draft.inputs.len(), SKILL_INPUTS_MAX),
        ("bytes", compiled.text.len(), SKILL_BYTES_MAX),
    ] {
        if is > most {
            return Err(CompileError::TooMuch { what, most });
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

fn step(
    call: &Call,
    words: Option<&str>,
    args: Map<String, Value>,
    binds: Vec<Kept>,
    filler: &mut Filler<'_>,
    warnings: &mut Vec<String>,
) -> Step {
    let told = classify_effect(&call.tool, call.hints);
    let by_name = classify_effect(&call.tool, Annotations::default());
    let number = filler.step;
    let tool = one_line(&call.tool, TOOL_NAME_BYTES_MAX);
    if told.review {
        filler.question(&format!(
            "nothing says what {tool} does ({}), so it counts as {}. Is that right?",
            told.reason, told.effect
        ));
    } else if told.effect < by_name.effect {
        warnings.push(format!(
            "step {number} ({tool}) counts as {} because its server said so; by its name it would be {}",
            told.effect, by_name.effect
        ));
        filler.question(&format!(
            "{tool} counts as {} because its server said so. Do you trust it?",
            told.effect
        ));
    }
    let mut status = None;
    match &call.answer {
        None => filler.question("its answer was not recorded. Did it take effect?"),
        Some(answer) => {
            if let Some(status) = refused(call) {
                filler.question(&format!(
                    "it was answered with the status {status}. Is that what the job expects?"
                ));
            }
            let looks = matches!(
                call.tool.as_str(),
                "http.get" | "http.head" | "http.options"
            );
            if call.tool.starts_with("http.") {
                status = answer.status.or(looks.then_some(200));
            }
        }
    }
    for secret in binds.iter().filter(|kept| kept.is_secret) {
        let name = &secret.name;
        filler.question(&format!(
            "it binds {name:?}, which looks like a secret, and what is bound is stored with a run. May it be?"
        ));
    }
    let said = words
        .or(call.words.as_deref())
        .and_then(|words| sentence(&filler.secrets.redact(words)));
    let intent = said.unwrap_or_else(|| intent(&tool, &args));
    Step {
        title: title(&intent),
        intent,
        tool: call.tool.clone(),
        args,
        status,
        binds,
        effect: told.effect,
    }
}

/// Names the steps that change something.
fn changing(steps: &[Step]) -> Option<String> {
    let named: Vec<String> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.effect != EffectClass::Read)
        .map(|(index, step)| format!("{} ({}, {})", index + 1, step.tool, step.effect))
        .collect();
    let word = if named.len() == 1 { "step" } else { "steps" };
    (!named.is_empty()).then(|| {
        format!(
            "{word} {} would change something; a run withholds that without --allow-writes or --yes",
            named.join(", ")
        )
    })
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

//! The receipt of a run: what each step came to, for people and for programs.

mod rejection;
mod step;
mod totals;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use self::rejection::RejectionReceipt;
pub use self::totals::Totals;
use self::totals::{PENDING, SKIPPED};
use super::event::{End, Origin};
use super::state::Run;
use crate::action::ActionId;
use crate::skill::Skill;
use crate::time::Timestamp;
use crate::tool::EffectClass;
pub use step::{BEFORE_PEOPLE, PEOPLE_DECIDE};
use step::{empty, ms, of};

/// The key of an action of a tool; none where it is the one that the step has of its own.
pub(crate) type Keys<'a> = dyn Fn(&str, ActionId) -> Option<String> + 'a;

/// The receipt of a run, as it is stored nowhere and made from the log at any time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// The id of the run.
    pub run: String,
    /// Where it stands.
    pub status: &'static str,
    /// Whether it is over and passed.
    pub passed: bool,
    /// The skill file; none for code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillRef>,
    /// The function; none for a skill file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowRef>,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended; none while it goes on.
    pub ended_at: Option<String>,
    /// How long it took, or has taken so far, in milliseconds.
    pub ms: u64,
    /// Why it did not pass.
    pub message: Option<String>,
    /// What code answered.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// The run that goes on from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_as: Option<String>,
    /// How many steps ended how.
    pub totals: Totals,
    /// The steps: of a file all of them, of code those that began.
    pub steps: Vec<StepReceipt>,
}

/// A skill file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillRef {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowRef {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReceipt {
    /// Where it stands: its number in a file.
    pub path: String,
    /// Its number in a file; none for code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub intent: Option<String>,
    /// `passed`, `failed`, `withheld`, `skipped`, `waiting`, `running`, `pending` (still to come), and the
    /// outcomes of people.
    pub outcome: &'static str,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The tool.
    pub tool: Option<String>,
    /// What a repeat does to the world.
    pub effect: Option<&'static str>,
    /// The effect class that the file says itself; what that overrides stands in the notes.
    #[serde(rename = "override")]
    pub own_effect: Option<&'static str>,
    /// The SHA-256 of the canonical arguments, secrets left out.
    pub args_digest: Option<String>,
    /// The key that is sent to targets that take one; none where the step only reads.
    pub idempotency_key: Option<String>,
    /// Which try of the step it is.
    pub tried: u32,
    /// The tries before it to which people said no.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<RejectionReceipt>,
    /// How often the call was made.
    pub attempts: u32,
    /// The status of the answer.
    pub http_status: Option<u16>,
    /// Each assertion, and whether it held.
    pub asserts: Vec<AssertReceipt>,
    /// The names that were bound.
    pub binds: Vec<String>,
    /// Why it did not pass, or what it waits for.
    pub failures: Vec<String>,
    /// What should be known about it, such as an override or a change by a model.
    pub notes: Vec<String>,
    /// The call that was not made, and what would allow it.
    pub withheld: Option<Withheld>,
    /// The action that stands for it, where there is one.
    pub action: Option<String>,
    /// What came of asking people: `waiting`, `approved`, `rejected`, `expired`, `cancelled`, `refused`,
    /// `replan_required`; none where nobody was asked. Who said what is with the action.
    pub approval: Option<&'static str>,
}

/// An assertion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssertReceipt {
    /// As it stands in the file.
    pub assert: String,
    /// Whether it held.
    pub passed: bool,
    /// What was there instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// A call that was not made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Withheld {
    /// The tool.
    pub tool: String,
    /// The arguments, filled but for secrets.
    pub args: Value,
    /// The flag that would allow it; none where no flag does.
    pub flag: Option<&'static str>,
}

impl Receipt {
    /// The receipt of a run as it is at `now`. `keys` answers the key of an action, where that is not the one
    /// that a step has of its own.
    pub(crate) fn of(run: &Run, now: Timestamp, keys: &Keys<'_>) -> Self {
        let ended = run.ended.as_ref();
        let (skill, workflow) = match &run.start.origin {
            Origin::Skill { name, digest, .. } => {
                let sha256 = digest.to_string();
                let sha256 = sha256.trim_start_matches("sha256:").to_owned();
                let name = name.clone();
                (Some(SkillRef { name, sha256 }), None)
            }
            Origin::Code { name, version } => {
                let (name, version) = (name.clone(), *version);
                (None, Some(WorkflowRef { name, version }))
            }
        };
        let steps = steps(run, now, keys);
        Self {
            run: run.id.to_string(),
            status: run.status().name(),
            passed: ended.is_some_and(|ended| ended.end == End::Passed),
            skill,
            workflow,
            started_at: run.created_at.rfc3339(),
            ended_at: ended.map(|ended| ended.at.rfc3339()),
            ms: ms(ended.map_or(now, |ended| ended.at), run.created_at),
            message: ended.and_then(|ended| ended.message.clone()),
            output: ended.map_or(Value::Null, |ended| ended.output.value()),
            continued_as: ended
                .and_then(|ended| ended.end.continued_as())
                .map(|next| next.to_string()),
            totals: Totals::of(&steps),
            steps,
        }
    }
}

fn steps(run: &Run, now: Timestamp, keys: &Keys<'_>) -> Vec<StepReceipt> {
    let began = run.steps.iter();
    let mut found: Vec<StepReceipt> = began.map(|step| of(run, step, now, keys)).collect();
    let Origin::Skill { text, .. } = &run.start.origin else {
        return found;
    };
    // It was read when the run started.
    let Ok(skill) = Skill::parse(text) else {
        return found;
    };
    let began: BTreeMap<String, usize> = (0..)
        .zip(&found)
        .map(|(at, step)| (step.path.clone(), at))
        .collect();
    for step in &skill.steps {
        let path = step.number.to_string();
        let own_effect = step.effect.map(EffectClass::name);
        if let Some(receipt) = began.get(&path).and_then(|at| found.get_mut(*at)) {
            receipt.own_effect = own_effect;
            receipt.number = Some(step.number);
        } else {
            let failures = match run.ended {
                Some(_) => vec!["the run ended before it".to_owned()],
                None => Vec::new(),
            };
            let outcome = if run.ended.is_some() {
                SKIPPED
            } else {
                PENDING
            };
            found.push(StepReceipt {
                intent: Some(step.intent.clone()),
                number: Some(step.number),
                tool: Some(step.tool.clone()),
                outcome,
                own_effect,
                failures,
                ..empty(path, step.title.clone())
            });
        }
    }
    found
}

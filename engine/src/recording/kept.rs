//! Which calls of a recording are steps.

use std::collections::HashMap;

use super::error::CompileError;
use super::gather::{Call, Recording};
use crate::canon::CanonicalJson;
use serde_json::Value;

/// What becomes of the calls.
pub(super) struct Kept<'a> {
    /// The steps, in order.
    pub(super) steps: Vec<&'a Call>,
    /// What was said before the first try of a step, by its number.
    pub(super) words: HashMap<usize, &'a str>,
    /// What was left out because it was repeated, in words.
    pub(super) left_out: Vec<String>,
    /// What was left out for a person to look at.
    pub(super) questions: Vec<String>,
}

/// A call that failed is no step: a replay would fail there too.
pub(super) fn kept(recording: &Recording) -> Result<Kept<'_>, CompileError> {
    // An error that the job went on with may be what it expects; one that was tried again was none.
    let mut well = HashMap::new();
    for call in &recording.calls {
        if !failed(call) && call.answer.is_some() && refused(call).is_none() {
            well.insert(identity(call), call.order);
        }
    }
    let repeated = |call: &Call| {
        well.get(&identity(call))
            .is_some_and(|order| *order > call.order)
    };
    let failed = |call: &Call| failed(call) || (refused(call).is_some() && repeated(call));
    let mut steps = Vec::new();
    let mut numbers = HashMap::new();
    for call in recording.calls.iter().filter(|call| !failed(call)) {
        steps.push(call);
        if call.answer.is_some() {
            // The last success of equal calls.
            numbers.insert(identity(call), (call.order, steps.len()));
        }
    }
    let mut words = HashMap::new();
    let (mut left_out, mut questions) = (Vec::new(), Vec::new());
    for (index, call) in recording.calls.iter().enumerate() {
        if !failed(call) {
            continue;
        }
        let (number, line) = (index + 1, call.line);
        if !call.is_readable {
            questions.push(format!(
                "Call {number} (line {line}) has arguments that are no JSON object, so it counts as failed and is left out. Does the job need it?"
            ));
            continue;
        }
        match numbers.get(&identity(call)) {
            Some((order, step)) if *order > call.order => {
                if let Some(said) = &call.words {
                    words.entry(*step).or_insert(said.as_str());
                }
                left_out.push(format!(
                    "Call {number} (line {line}) failed and was repeated successfully: it is step {step}."
                ));
            }
            Some(_) | None => questions.push(format!(
                "Call {number} (line {line}) failed, was not repeated, and is left out. Does the job need it?"
            )),
        }
    }
    if steps.is_empty() {
        return Err(CompileError::NoStep("all of them failed"));
    }
    Ok(Kept {
        steps,
        words,
        left_out,
        questions,
    })
}

/// Whether a call says of itself that it failed.
fn failed(call: &Call) -> bool {
    !call.is_readable || call.answer.as_ref().is_some_and(|answer| !answer.ok)
}

/// The status with which a server refused a call.
pub(super) fn refused(call: &Call) -> Option<u64> {
    let status = call.answer.as_ref().and_then(|answer| answer.status);
    status.filter(|status| *status >= 400)
}

/// What two calls that do the same have in common.
fn identity(call: &Call) -> String {
    let args = CanonicalJson::of(&Value::Object(call.args.clone()));
    format!("{} {args}", call.tool)
}

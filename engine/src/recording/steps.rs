//! The steps: effects, checks, and what to ask about them.

use serde_json::{Map, Value};

use super::fill::{Filler, Kept};
use super::gather::Call;
use super::kept::refused;
use super::naming::intent;
use super::words::{one_line, sentence, title};
use crate::limits::TOOL_NAME_BYTES_MAX;
use crate::tool::{Annotations, EffectClass, classify_effect};

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

/// Makes a step of a call and its arguments.
pub(super) fn step(
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
pub(super) fn changing(steps: &[Step]) -> Option<String> {
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

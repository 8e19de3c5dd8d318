//! What can be said about a definition that is valid: typos in placeholders, and warnings.

use super::definition::{Execute, Mode, Tool};
use super::fields::Fields;
use super::problem::{Report, nearest};
use super::schema::Schema;
use super::template::Root;
use crate::action::SafetyClass;

/// Looks at one definition as a whole.
pub(super) fn tool(tool: &Tool, fields: &Fields<'_>, report: &mut Report<'_>) {
    placeholders(tool, fields, report);
    let at = fields.pointer.clone();
    let mut doubt = |key: &str, message: &str, help: &str| {
        let pointer = if fields.get(key).is_some() {
            fields.at(key)
        } else {
            at.clone()
        };
        report.doubt(&tool.name, &pointer, message, help);
    };
    effect(tool, fields, &mut doubt);
    if tool.input.is_none() {
        doubt(
            "input",
            "no input schema; any object is taken as arguments",
            "describe the arguments with JSON Schema",
        );
    }
    match &tool.execute {
        Execute::Worker if fields.get("execute").is_none() => {
            doubt(
                "execute",
                "no execute; a service must pull the work",
                "run a worker whose key has the scope work:NAME (examples/worker.py), or give execute",
            );
        }
        Execute::Http(call) if call.origin.scheme == "http" && !loopback(&call.origin.host) => {
            doubt(
                "execute",
                "the call goes over the network without encryption",
                "use https",
            );
        }
        Execute::Http(_) | Execute::Worker | Execute::Local(_) | Execute::Request(_) => {}
    }
    if matches!(tool.execute, Execute::Worker) && tool.class == SafetyClass::Idempotent {
        doubt(
            "safetyClass",
            "idempotent tools are called at once, and nobody would pull this one",
            "give execute, or say write-once-checkable",
        );
    }
    let records = tool.class != SafetyClass::Idempotent;
    if records && tool.key.is_none() {
        doubt(
            "idempotencyKey",
            "no idempotencyKey; the same intent submitted twice is two actions",
            "name the arguments that identify the intent, such as \"refund:{order_id}\"",
        );
    }
    if records && tool.check.is_none() {
        doubt(
            "check",
            "no check; every attempt of unknown outcome waits for a person",
            "say how to ask the target whether it happened",
        );
    }
    state(tool, &mut doubt);
    if tool.class != SafetyClass::ApprovalBound && fields.get("approval").is_some() {
        let help = "set \"safetyClass\": \"approval-bound\", or remove approval";
        let message = format!(
            "approval has no effect on a tool that is {}",
            tool.class.name()
        );
        report.wrong_key(&fields.at("approval"), message, Some(help.to_owned()));
    }
    for secret in tool.secrets() {
        if !secret.path.is_file() {
            let message = format!(
                "the secret {:?} is not there; calls would fail",
                secret.name
            );
            report.doubt(
                &tool.name,
                &at,
                message,
                "put it into that file; a relative name starts at the folder of this file",
            );
        }
    }
}

/// Compares what the file says of the effect and the class with what the name says.
fn effect(tool: &Tool, fields: &Fields<'_>, doubt: &mut impl FnMut(&str, &str, &str)) {
    let told = &tool.told;
    // A name that says nothing contradicts nobody.
    if tool.effect < told.effect && !told.review {
        doubt(
            "effect",
            &format!(
                "the effect {} is weaker than {}, as the name has it ({})",
                tool.effect, told.effect, told.reason
            ),
            "make sure that a repeat of the call really does no more than that",
        );
    }
    let (class, suggested) = (tool.class.name(), tool.effect.safety_class());
    if fields.get("safetyClass").is_none() {
        let why = if fields.get("effect").is_some() {
            format!("its effect is {}", tool.effect)
        } else {
            format!("its effect is taken for {} ({})", tool.effect, told.reason)
        };
        doubt(
            "",
            &format!("no safetyClass; treated as {class}, since {why}"),
            "say which of idempotent, write-once-checkable, irreversible, approval-bound it is",
        );
    } else if tool.class < suggested {
        doubt(
            "safetyClass",
            &format!(
                "{class} is weaker than {}, which a {} effect asks for ({})",
                suggested.name(),
                tool.effect,
                if tool.effect == told.effect {
                    &told.reason
                } else {
                    "as the file says"
                },
            ),
            "make sure that this is meant; where the name misleads, say what the effect is: \"effect\": \"read\"",
        );
    }
}

fn state(tool: &Tool, doubt: &mut impl FnMut(&str, &str, &str)) {
    let revalidated = match tool.class {
        SafetyClass::Irreversible | SafetyClass::ApprovalBound => true,
        SafetyClass::Idempotent | SafetyClass::WriteOnceCheckable => false,
    };
    let Some(state) = &tool.state else {
        if revalidated {
            doubt(
                "state",
                "no state; nothing is read again before the call",
                "say how to read what the decision depends on",
            );
        }
        return;
    };
    if !revalidated {
        doubt(
            "state",
            "the state of a tool of this class is not read again before the call",
            "use irreversible or approval-bound where it matters",
        );
    }
    if state.watch.is_empty() && state.mode == Mode::Strict {
        doubt(
            "state",
            "no watch; any change of the whole answer counts as a move",
            "name the fields that matter, such as \"watch\": [\"/status\"]",
        );
    }
    if state.mode == Mode::Conditions && tool.preconditions.is_empty() {
        doubt(
            "state",
            "mode conditions without preconditions lets everything move",
            "add preconditions over state",
        );
    }
    if let Execute::Http(call) = &tool.execute
        && revalidated
        && !call.sends_state_etag()
    {
        doubt(
            "execute",
            "the version of the state does not travel with the call; a change right before it goes unseen (window: narrowed)",
            "where the target supports it, add the header \"If-Match\": \"{state_etag}\"",
        );
    }
}

/// Compares the placeholders with the arguments that the schema knows.
fn placeholders(tool: &Tool, fields: &Fields<'_>, report: &mut Report<'_>) {
    let slots = std::mem::take(&mut report.slots);
    let (names, closed) = tool
        .input
        .as_ref()
        .map(Schema::properties)
        .unwrap_or_default();
    let required = tool
        .input
        .as_ref()
        .map(Schema::required)
        .unwrap_or_default();
    let labels = tool.labels.iter().enumerate().filter_map(|(index, path)| {
        Some((
            path.first()?.as_str(),
            format!("{}/{index}", fields.at("labels")),
            true,
        ))
    });
    let used = slots
        .iter()
        .filter(|(slot, _)| slot.root == Root::Args)
        .filter_map(|(slot, pointer)| Some((slot.path.first()?.as_str(), pointer.clone(), false)));
    for (name, pointer, label) in used.chain(labels) {
        let near = nearest(name, names.iter().copied());
        if names.contains(&name) {
            // A summary shows what is missing, and a label is left out; all others refuse.
            if closed && !label && !required.contains(&name) && !pointer.ends_with("/summary") {
                let message =
                    format!("the argument {name:?} may be missing; then the call is refused");
                report.doubt(
                    &tool.name,
                    &pointer,
                    message,
                    "list it under required in the input schema",
                );
            }
        } else if closed {
            let help = near.map_or_else(
                || format!("known: {}", names.join(", ")),
                |near| format!("did you mean {near:?}?"),
            );
            report.wrong(
                &pointer,
                format!("the input schema has no argument {name:?}"),
                Some(help),
            );
        } else if let Some(near) = near {
            let message = format!("the input schema does not mention the argument {name:?}");
            report.doubt(
                &tool.name,
                &pointer,
                message,
                &format!("did you mean {near:?}?"),
            );
        }
    }
    if tool.state.is_none()
        && fields.get("state").is_none()
        && let Some((slot, pointer)) = slots
            .iter()
            .find(|(slot, _)| matches!(slot.root, Root::State | Root::StateEtag))
    {
        let help = "add state, which says how to read it".to_owned();
        report.wrong(
            pointer,
            format!(
                "{{{}}} needs a state query, and the tool has none",
                slot.written
            ),
            Some(help),
        );
    }
}

fn loopback(host: &str) -> bool {
    host == "localhost" || host == "[::1]" || host.starts_with("127.")
}

//! The text of a skill file.

use std::fmt::Write as _;

use serde_json::Value;

use super::compile::Draft;
use super::steps::Step;
use super::words::json_line;

/// Writes it. Everything in the draft is one harmless line already, or is written as JSON.
pub(super) fn write(draft: &Draft) -> String {
    let mut out = String::new();
    head(&mut out, draft);
    for (index, step) in draft.steps.iter().enumerate() {
        write_step(&mut out, index + 1, step);
    }
    list(&mut out, "Open questions", &draft.questions);
    list(&mut out, "Left out", &draft.left_out);
    out
}

// Writing to a string cannot fail, here and below.
fn head(out: &mut String, draft: &Draft) {
    let Draft {
        name,
        description,
        origin,
        inputs,
        ..
    } = draft;
    let _ = write!(out, "---\nname: {name}\ndescription: {description}\n");
    if !inputs.is_empty() {
        let inputs = json_line(&Value::Object(inputs.clone()));
        let _ = writeln!(out, "inputs: {inputs}");
    }
    let _ = write!(out, "---\n\n# {name}\n\n{origin}\n\n## Steps\n");
}

fn write_step(out: &mut String, number: usize, step: &Step) {
    let Step {
        title,
        intent,
        tool,
        args,
        status,
        binds,
        effect,
    } = step;
    let args = json_line(&Value::Object(args.clone()));
    let _ = write!(
        out,
        "\n### Step {number} — {title}\n- intent: {intent}\n- action: {tool} {args}\n- effect: {effect}\n"
    );
    if let Some(status) = status {
        let _ = writeln!(out, "- assert: status == {status}");
    }
    for bind in binds {
        let (path, kind) = (&bind.source.path, bind.source.kind);
        let _ = writeln!(out, "- assert: {path} is {kind}");
    }
    for bind in binds {
        let (name, path) = (&bind.name, &bind.source.path);
        let _ = writeln!(out, "- bind: {name} = {path}");
    }
}

fn list(out: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(out, "\n## {heading}\n\n");
    for line in lines {
        let _ = writeln!(out, "- {line}");
    }
}

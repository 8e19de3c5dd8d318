//! `holdpoint classify`: what a repeat of a tool's call does to the world, told from its name.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use clap::Args;
use holdpoint_engine::tool::{Annotations, Classified, classify_effect};
use serde_json::{Map, Value, json};

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The longest line that is read, in bytes: a name and a few hints.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// The arguments of `classify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  holdpoint classify get_order issue_refund mcp__crm__updateContact
  holdpoint classify snapshot --annotations '{\"readOnlyHint\": true}'
  holdpoint classify --jsonl tools.jsonl")]
pub(crate) struct ClassifyArgs {
    /// The names of tools
    #[arg(value_name = "NAME", required_unless_present = "jsonl")]
    names: Vec<String>,
    /// What their server says of them, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = annotations, conflicts_with = "jsonl")]
    annotations: Option<Annotations>,
    /// Read lines of {"tool", "annotations"} from a file or `-`, and answer each with a line
    #[arg(long, value_name = "FILE|-", conflicts_with = "names")]
    jsonl: Option<String>,
}

fn annotations(text: &str) -> Result<Annotations, String> {
    serde_json::from_str::<Map<String, Value>>(text)
        .map(|members| Annotations::of(&members))
        .map_err(|error| {
            format!("write a JSON object such as {{\"readOnlyHint\": true}} ({error})")
        })
}

/// Prints the class, the review flag and the reason of each.
pub(crate) fn run(args: &ClassifyArgs, output: Output) -> Outcome {
    if let Some(file) = &args.jsonl {
        return lines(file, output);
    }
    let hints = args.annotations.unwrap_or_default();
    let told = args
        .names
        .iter()
        .map(|name| (name, classify_effect(name, hints)));
    if output.json {
        output.value(&told.map(|(name, told)| to_json(name, &told)).collect())?;
    } else {
        output.table(
            ["tool", "effect", "review", "because"],
            told.map(|(name, told)| {
                let review = if told.review { "yes" } else { "no" };
                let effect = told.effect.name().to_owned();
                [name.clone(), effect, review.to_owned(), told.reason]
            }),
        )?;
    }
    Ok(ExitCode::Ok)
}

fn lines(file: &str, output: Output) -> Outcome {
    let reader: Box<dyn BufRead> = if file == "-" {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file)
            .map_err(|error| Failure::usage(format!("{file} cannot be read: {error}")))?;
        Box::new(BufReader::new(opened))
    };
    for (index, line) in reader.lines().enumerate() {
        let wrong = |what: String| {
            Failure::usage(format!("line {} of {file}: {what}", index + 1))
                .help("each line is an object: {\"tool\": \"NAME\", \"annotations\": {…}}")
        };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        if LINE_BYTES_MAX < line.len() {
            return Err(wrong(format!("is longer than {LINE_BYTES_MAX} bytes")));
        }
        if line.trim().is_empty() {
            continue;
        }
        let (tool, hints) = request(&line).map_err(wrong)?;
        let told = classify_effect(&tool, hints);
        output.line(&crate::escape::json(&to_json(&tool, &told)))?;
    }
    Ok(ExitCode::Ok)
}

fn request(line: &str) -> Result<(String, Annotations), String> {
    let members = serde_json::from_str::<Map<String, Value>>(line)
        .map_err(|error| format!("is not such an object ({error})"))?;
    let unknown = |key: &&String| !matches!(key.as_str(), "tool" | "annotations");
    if let Some(key) = members.keys().find(unknown) {
        return Err(format!("has an unknown member {key:?}"));
    }
    let tool = members.get("tool").and_then(Value::as_str);
    let tool = tool.ok_or("has no text \"tool\"")?.to_owned();
    let hints = match members.get("annotations") {
        None | Some(Value::Null) => Annotations::default(),
        Some(Value::Object(hints)) => Annotations::of(hints),
        Some(_) => return Err("has \"annotations\" that are not an object".to_owned()),
    };
    Ok((tool, hints))
}

fn to_json(tool: &str, told: &Classified) -> Value {
    json!({
        "tool": tool,
        "effect": told.effect.name(),
        "review": told.review,
        "reason": told.reason,
    })
}

//! `holdpoint skill check`: reads skill files and says what they do.

use std::path::PathBuf;

use clap::Args;
use holdpoint_engine::run::wrong_calls;
use holdpoint_engine::skill::{Skill, SkillError, SkillWarning};
use holdpoint_engine::tool::{Annotations, Registry};
use miette::Severity;
use serde_json::{Map, Value, json};

use super::file::{self, SkillFile};
use crate::config;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, counted};

/// The arguments of `skill check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is called. All mistakes of all files are shown at once (exit code 2).

Examples:
  holdpoint skill check SKILL.md
  holdpoint skill check --strict skills/*.md
  holdpoint skill check --json - < SKILL.md

The format is described in docs/SKILLS.md.")]
pub(crate) struct CheckArgs {
    /// Skill files; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Fail where there are warnings
    #[arg(long)]
    strict: bool,
    /// The tools file, whose tools the calls are held against [default: holdpoint.json, where there is one]
    #[arg(long, env = "HOLDPOINT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Prints what each file does, its census and its warnings; or all mistakes.
pub(crate) fn run(args: &CheckArgs, output: Output) -> Outcome {
    let tools = config::load_found(args.config.as_deref())?;
    let registry = tools.map_or_else(Registry::default, |(_, tools, _)| tools.registry);
    let registry = registry.with_built_in();
    let files = args
        .files
        .iter()
        .map(|name| Ok(with_calls(file::read(name)?, &registry)))
        .collect::<Outcome<Vec<SkillFile>>>()?;
    if output.json {
        output.value(&json!({ "files": files.iter().map(to_json).collect::<Vec<_>>() }))?;
    } else {
        for file in &files {
            if let Ok(skill) = &file.read {
                tell(file, skill, output)?;
            }
        }
    }
    if let Some(failure) = file::failure(&files) {
        return Err(failure);
    }
    let warnings = files.iter().flat_map(|file| &file.read).map(warnings);
    let count = warnings.map(|warnings| warnings.len()).sum();
    if args.strict && count > 0 {
        return Err(Failure::failed(counted(count, "warning"))
            .help("change what they say, or leave --strict out"));
    }
    Ok(ExitCode::Ok)
}

/// The file, wrong where its calls of the tools that are known here are.
fn with_calls(mut file: SkillFile, registry: &Registry) -> SkillFile {
    if let Ok(skill) = &file.read {
        let wrong = wrong_calls(skill, registry);
        if !wrong.is_empty() {
            file.read = Err(wrong);
        }
    }
    file
}

fn warnings(skill: &Skill) -> Vec<SkillWarning> {
    skill.warnings(|_| Annotations::default())
}

fn tell(file: &SkillFile, skill: &Skill, output: Output) -> Outcome<()> {
    output.line(&format!(
        "{} is valid: {}, {}",
        escape::text(&file.name),
        escape::text(&skill.name),
        counted(skill.steps.len(), "step")
    ))?;
    output.table(
        ["step", "tool", "effect", "said by", "title"],
        skill.steps.iter().map(|step| {
            let told = step.classified(Annotations::default());
            let by = match (step.effect, told.weakens) {
                (Some(_), true) => "the file, weaker than the name",
                (Some(_), false) => "the file",
                (None, _) if told.classified.review => "nothing; look at it",
                (None, _) => "the name",
            };
            [
                step.number.to_string(),
                step.tool.clone(),
                told.effect.name().to_owned(),
                by.to_owned(),
                step.title.clone(),
            ]
        }),
    )?;
    let effects = skill.census(|_| Annotations::default());
    let effects = effects.map(|(effect, count)| format!("{effect}={count}"));
    output.line(&format!("effects: {}", effects.join(" ")))?;
    for warning in warnings(skill) {
        output.note(&file::show(file, &warning.place, Severity::Warning));
    }
    Ok(())
}

fn to_json(file: &SkillFile) -> Value {
    let skill = match &file.read {
        Ok(skill) => skill,
        Err(errors) => {
            let errors: Vec<Value> = errors.iter().map(place).collect();
            return json!({ "file": file.name, "valid": false, "errors": errors });
        }
    };
    let steps = skill.steps.iter().map(|step| {
        let told = step.classified(Annotations::default());
        json!({
            "number": step.number,
            "title": step.title,
            "tool": step.tool,
            "effect": told.effect.name(),
            "override": told.overrides,
            "weaker": told.weakens,
            "review": told.classified.review && step.effect.is_none(),
            "approve_digest": step.approve_digest().to_string(),
            "approved": step.approved(),
        })
    });
    let census = skill.census(|_| Annotations::default());
    let census: Map<String, Value> = census
        .into_iter()
        .map(|(effect, count)| (effect.name().to_owned(), json!(count)))
        .collect();
    let inputs: Map<String, Value> = skill
        .inputs
        .iter()
        .map(|(name, input)| (name.clone(), input.to_json()))
        .collect();
    let warnings = warnings(skill).into_iter().map(|warning| {
        let mut value = place(&warning.place);
        value["step"] = json!(warning.step);
        value
    });
    json!({
        "file": file.name,
        "valid": true,
        "name": skill.name,
        "description": skill.description,
        "digest": skill.digest().to_string(),
        "inputs": inputs,
        "steps": steps.collect::<Vec<_>>(),
        "effects": census,
        "warnings": warnings.collect::<Vec<_>>(),
    })
}

fn place(error: &SkillError) -> Value {
    json!({
        "message": error.message,
        "help": error.help,
        "line": error.line,
        "column": error.column,
    })
}

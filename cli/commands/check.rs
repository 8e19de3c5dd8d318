//! `holdpoint check`: reads the tools file and says what it means.

use clap::{ArgMatches, Args};
use miette::Severity;
use serde_json::{Value, json};

use crate::config::{self, PlaceArgs, ServingArgs, Settings};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::logging;
use crate::output::{Output, counted};

/// The arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    serving: ServingArgs,
    /// Fail where there are warnings
    #[arg(long)]
    strict: bool,
}

/// Prints the census, the warnings and the effective settings, or every mistake.
pub(crate) fn run(args: &CheckArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let (path, tools, file) = config::load_required(args.place.config.as_deref())?;
    let settings = Settings::resolve(
        args.place.data.as_ref(),
        Some(&args.serving),
        file,
        config::leaf(matches),
    );
    settings.check_listen()?;
    logging::filter(&settings.log.value)?;
    let warnings = &tools.warnings;
    let registry = &tools.registry;
    if output.json {
        output.value(&json!({
            "file": path.display().to_string(),
            "tools": registry.iter().map(|tool| json!({
                "name": tool.name,
                "safety_class": tool.class.name(),
                "effect": tool.effect.name(),
                "digest": tool.digest.to_string(),
            })).collect::<Vec<_>>(),
            "census": registry.census().into_iter()
                .map(|(class, count)| (class.name().to_owned(), json!(count)))
                .collect::<serde_json::Map<_, _>>(),
            "effects": registry.effects().into_iter()
                .map(|(effect, count)| (effect.name().to_owned(), json!(count)))
                .collect::<serde_json::Map<_, _>>(),
            "warnings": warnings.iter().map(|warning| json!({
                "tool": warning.tool,
                "message": warning.problem.message,
                "help": warning.problem.help,
                "line": warning.problem.line,
                "column": warning.problem.column,
            })).collect::<Vec<_>>(),
            "settings": settings.rows().into_iter()
                .map(|(key, value, source)| {
                    (key.to_owned(), json!({ "value": value, "source": source.name() }))
                })
                .collect::<serde_json::Map<_, _>>(),
        }))?;
    } else {
        output.line(&format!(
            "{} is valid: {}",
            escape::text(&path.display().to_string()),
            counted(registry.len(), "tool")
        ))?;
        output.table(
            ["safety class", "tools", "names"],
            registry.census().into_iter().map(|(class, count)| {
                let names = registry.iter().filter(|tool| tool.class == class);
                let names: Vec<_> = names.map(|tool| tool.name.as_str()).collect();
                [class.name().to_owned(), count.to_string(), names.join(", ")]
            }),
        )?;
        let effects = registry.effects();
        let effects = effects.map(|(effect, count)| format!("{effect}={count}"));
        output.line(&format!("effects: {}", effects.join(" ")))?;
        output.line("")?;
        output.table(
            ["setting", "value", "from"],
            settings.rows().into_iter().map(|(key, value, source)| {
                let value = match value {
                    Value::Null => "none".to_owned(),
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                [key.to_owned(), value, source.name().to_owned()]
            }),
        )?;
        for warning in warnings {
            let file = tools.file();
            output.note(&config::show(
                file,
                tools.text(),
                &warning.problem,
                Severity::Warning,
            ));
        }
    }
    if args.strict && !warnings.is_empty() {
        return Err(Failure::failed(counted(warnings.len(), "warning"))
            .help("change what they say, or leave --strict out"));
    }
    Ok(ExitCode::Ok)
}

//! `holdpoint check`: reads the tools file and says what it means, and whether it fits the people.

use std::path::Path;

use clap::{ArgMatches, Args};
use holdpoint_engine::tool::Registry;
use miette::Severity;
use serde_json::{Value, json};

use crate::config::{self, PlaceArgs, ServingArgs, Settings};
use crate::data;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::logging;
use crate::output::{Output, counted};
use crate::voters::{Lack, lacks};

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
pub(crate) async fn run(args: CheckArgs, matches: &ArgMatches, output: Output) -> Outcome {
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
    let lacks = lacks_in(&settings.data.value, registry, output).await;
    let short = lacks.as_deref().unwrap_or_default();
    if output.json {
        output.value(&json!({
            "file": path.display().to_string(),
            "digest": registry.digest().to_string(),
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
            "voters": lacks.as_ref().map(|lacks| lacks.iter().map(|lack| json!({
                "tool": lack.tool,
                "message": lack.words,
                "help": lack.help,
            })).collect::<Vec<_>>()),
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
        output.line(&format!("digest of its tools: {}", registry.digest()))?;
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
        for lack in short {
            let (words, help) = (escape::text(&lack.words), escape::text(&lack.help));
            output.note(&format!("warning: {words}\n  help: {help}"));
        }
    }
    let count = warnings.len() + short.len();
    if args.strict && 0 < count {
        return Err(Failure::failed(counted(count, "warning"))
            .help("change what they say, or leave --strict out"));
    }
    Ok(ExitCode::Ok)
}

/// What the tools ask of the people of the folder and cannot get; none where nobody was looked at.
async fn lacks_in(folder: &Path, registry: &Registry, output: Output) -> Option<Vec<Lack>> {
    if !folder.exists() {
        return None;
    }
    let not_looked_at = |failure: &Failure| {
        output.note(&escape::text(&format!(
            "whether enough people may vote was not looked at: {}; `holdpoint doctor` asks a server",
            failure.in_a_line()
        )));
    };
    let log = data::open(folder, output).inspect_err(not_looked_at).ok()?;
    let identity = data::identity(&log).await.inspect_err(not_looked_at);
    let approvers = identity.ok().map(|identity| identity.approvers());
    log.close().await;
    let approvers = approvers?;
    let groups: Vec<_> = approvers.iter().map(|voter| &voter.groups).collect();
    Some(lacks(registry, &groups))
}

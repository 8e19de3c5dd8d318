//! The log of the server, on stderr.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};

/// Starts logging. Fields with arguments, keys or passwords do not exist; `tests/cli.rs` looks for
/// them in every line.
pub(crate) fn start(settings: &Settings) -> Outcome<()> {
    start_with(&settings.log.value, settings.log_format.value)
}

/// What is logged by `text`: a level, or levels of modules.
///
/// The library takes a word that is no level for the name of a module, of which everything is logged and
/// of nothing else anything: a misspelt level would silence errors too.
pub(crate) fn filter(text: &str) -> Outcome<EnvFilter> {
    let refused = |failure: Failure| {
        failure.with_code(ExitCode::Usage).help(
            "write error, warn, info, debug, trace or off, or for example info,holdpoint_engine=debug",
        )
    };
    let mut parts = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (module, level) = match part.rsplit_once('=') {
            Some((module, level)) => (Some(module), level),
            None => (None, part),
        };
        let level = match level.to_ascii_lowercase().as_str() {
            level @ ("error" | "warn" | "info" | "debug" | "trace" | "off") => level.to_owned(),
            "warning" => "warn".to_owned(),
            _ => {
                let message = format!("{level:?} in {text:?} is not a log level");
                return Err(refused(Failure::usage(message)));
            }
        };
        parts.push(match module {
            Some(module) => format!("{module}={level}"),
            None => level,
        });
    }
    EnvFilter::try_new(parts.join(",")).map_err(|error| {
        let message = format!("{text:?} does not say what to log");
        refused(Failure::because(message, &error))
    })
}

/// Starts logging what `level` says.
pub(crate) fn start_with(level: &str, format: LogFormat) -> Outcome<()> {
    let filter = filter(level)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Json => builder.json().with_current_span(true).try_init(),
        LogFormat::Text => {
            let choice = anstream::AutoStream::choice(&std::io::stderr());
            let colour = choice != anstream::ColorChoice::Never && std::io::stderr().is_terminal();
            builder.with_ansi(colour).with_target(false).try_init()
        }
    };
    started.map_err(|error| Failure::because("cannot start the log", error.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_instead_of_silencing_everything() {
        for (text, expected) in [
            ("info", "info"),
            ("warning", "warn"),
            ("WARN", "warn"),
            ("off", "off"),
            (
                "info, holdpoint_engine=warning",
                "holdpoint_engine=warn,info",
            ),
        ] {
            let filter = filter(text).map(|filter| filter.to_string());
            assert_eq!(filter.ok().as_deref(), Some(expected), "{text}");
        }
        for text in [
            "eror",
            "",
            "info,",
            "holdpoint_engine",
            "holdpoint_engine=loud",
            "info,verbose",
        ] {
            let failure = filter(text).expect_err("refused");
            assert_eq!(failure.code, ExitCode::Usage, "{text}");
            assert!(failure.in_a_line().contains("not a log level"), "{text}");
        }
    }
}

//! The log of the server, on stderr.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};
use crate::failure::{Failure, Outcome};

/// Starts logging. Fields with arguments, keys or passwords do not exist; `tests/cli.rs` looks for
/// them in every line.
pub(crate) fn start(settings: &Settings) -> Outcome<()> {
    start_with(&settings.log.value, settings.log_format.value)
}

/// Starts logging what `level` says.
pub(crate) fn start_with(level: &str, format: LogFormat) -> Outcome<()> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::because(format!("{level:?} is not a log level"), &error)
            .with_code(crate::exit_code::ExitCode::Usage)
            .help(
                "write error, warn, info, debug, trace, or for example info,holdpoint_engine=debug",
            )
    })?;
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

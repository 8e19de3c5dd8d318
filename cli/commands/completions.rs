//! `holdpoint completions`: completion scripts for shells.

use clap::{Args, CommandFactory};

use crate::args::Cli;
use crate::exit_code::ExitCode;
use crate::failure::Outcome;

/// The arguments of `completions`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  holdpoint completions bash > ~/.local/share/bash-completion/completions/holdpoint"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Prints the script to stdout.
pub(crate) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "holdpoint", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(ExitCode::Ok)
}

//! `holdpoint skill`: skill files, read, explained and written in one way.

mod check;
pub(in crate::commands) mod file;
mod fmt;

use clap::Subcommand;

use crate::failure::Outcome;
use crate::output::Output;

/// What to do with skill files.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// Read skill files and say what they do, or everything that is wrong with them
    Check(check::CheckArgs),
    /// Write the lines of skill files in one way; prose stays as it is
    Fmt(fmt::FmtArgs),
}

/// Runs one of them.
pub(crate) fn run(command: &SkillCommand, output: Output) -> Outcome {
    match command {
        SkillCommand::Check(args) => check::run(args, output),
        SkillCommand::Fmt(args) => fmt::run(args, output),
    }
}

//! `holdpoint compile`: a skill from a trace.

use std::path::PathBuf;

use clap::Args;
use holdpoint_engine::recording::{Format, Kind};

use super::recording::{self, Opened, SkillArgs};
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The arguments of `compile`.
#[derive(Args, Debug)]
#[command(after_help = "\
A trace has lines of {\"t\": \"meta\"}, \"note\", \"call\" and \"result\". Transcripts of Claude Code, Codex
and OpenClaw are read by `holdpoint import`. docs/RECORDINGS.md says what becomes of what.

Examples:
  holdpoint compile release.jsonl
  holdpoint compile release.jsonl -o - | less")]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    skill: SkillArgs,
    /// The trace; - for stdin
    #[arg(value_name = "TRACE")]
    file: PathBuf,
}

/// Makes a skill of the trace.
pub(crate) fn run(args: &CompileArgs, output: Output) -> Outcome {
    let Opened { kind, input } = recording::open(&args.file)?;
    let file = args.file.display();
    match kind {
        Kind::Recording(Format::Trace) => {
            recording::make_skill(&args.file, Format::Trace, input, &args.skill, output)
        }
        Kind::Recording(other) => Err(Failure::usage(format!("{file} is {}", other.title()))
            .help(format!("make a skill of it: holdpoint import {file}"))),
        Kind::ExportedLog => Err(Failure::usage(format!("{file} is an exported log"))
            .help("it holds no recording; `holdpoint import` makes a data folder of it")),
        Kind::Unknown(seen) => Err(Failure::usage(format!("{file} is no trace"))
            .detail(seen)
            .help("each line of a trace is an object with \"t\": \"meta\", \"note\", \"call\" or \"result\"")),
    }
}

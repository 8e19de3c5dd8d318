//! `holdpoint import`: a log from an exported file, or a skill from a transcript.
//!
//! What a file is, its first lines say; nothing is guessed. A data folder is touched only where the
//! first line is that of an exported log.

mod log;

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueEnum};
use holdpoint_engine::recording::{Format, Kind};

pub(super) use log::damaged;

use super::recording::{self, Opened, SkillArgs};
use crate::config::{self, PlaceArgs};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The arguments of `import`.
#[derive(Args, Debug)]
#[command(after_help = "\
The first lines of the file say what it is.

An exported log: the data folder (--data, --config) must be empty or not be there. Everything is checked
while it is read; a file that is damaged or was cut off leaves nothing behind. Records keep their
positions, times and hashes. Nobody is signed in any more. The server starts on it once with
--confirm-restore.

A transcript of Claude Code, Codex or OpenClaw: its calls become the steps of a skill file, which is
written to the current folder or to -o. No data folder is touched. docs/RECORDINGS.md says how.")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    skill: SkillArgs,
    /// What the transcript is, where its first lines do not tell
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Transcripts")]
    format: Option<Transcript>,
    /// The file that `holdpoint export` wrote, or a transcript; - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The formats of transcripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transcript {
    /// A session of Claude Code
    ClaudeCode,
    /// A session of the Codex command line
    Codex,
    #[value(name = "openclaw", help = "A session of OpenClaw")]
    OpenClaw,
}

impl Transcript {
    fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
            Self::OpenClaw => Format::OpenClaw,
        }
    }
}

/// Looks at the file, then imports what it is.
pub(crate) async fn run(args: ImportArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let of_log = given(matches, &["data", "config"]);
    let of_skill = given(matches, &["output", "force", "apply", "format"]);
    if let (Some(log), Some(skill)) = (of_log, of_skill) {
        return Err(Failure::usage(format!(
            "--{log} belongs to an exported log, and --{skill} to a transcript"
        ))
        .help("a file is one of both; give the options of one"));
    }
    let Opened { kind, input } = recording::open(&args.file)?;
    let file = args.file.display();
    let format = match kind {
        Kind::ExportedLog => {
            if let Some(option) = of_skill {
                return Err(Failure::usage(format!(
                    "{file} is an exported log, and --{option} belongs to a transcript"
                ))
                .help("leave it out, and name the data folder with --data FOLDER"));
            }
            return log::run(&args, input, matches, output).await;
        }
        Kind::Recording(Format::Trace) => {
            return Err(Failure::usage(format!("{file} is a trace"))
                .help(format!("make a skill of it: holdpoint compile {file}")));
        }
        Kind::Recording(format) => {
            if let Some(said) = args.format.filter(|said| said.format() != format) {
                let said = said.format();
                return Err(Failure::usage(format!(
                    "{file} is {}, and --format says {said}",
                    format.title()
                ))
                .help("leave --format out"));
            }
            format
        }
        Kind::Unknown(seen) => match args.format {
            Some(said) => said.format(),
            None => return Err(neither(&args, &seen)),
        },
    };
    if let Some(option) = of_log {
        return Err(Failure::usage(format!(
            "{file} is {}, and --{option} belongs to an exported log",
            format.title()
        ))
        .help("leave it out; the skill is written to the current folder, or to -o FILE"));
    }
    recording::make_skill(&args.file, format, input, &args.skill, output)
}

/// The first of these options that was given on the command line; what the environment says for
/// other commands does not count.
fn given<'a>(matches: &ArgMatches, options: &[&'a str]) -> Option<&'a str> {
    let matches = config::leaf(matches);
    options
        .iter()
        .find(|option| matches.value_source(option) == Some(ValueSource::CommandLine))
        .copied()
}

fn neither(args: &ImportArgs, seen: &str) -> Failure {
    Failure::new(
        ExitCode::Failure,
        format!("{} is nothing that can be imported", args.file.display()),
    )
    .detail(seen)
    .detail("line 1 is not the first line of an exported log, and no line is one of a transcript")
    .help(
        "give a file that `holdpoint export` wrote, or a transcript of Claude Code, Codex or OpenClaw (--format says which, where its first lines do not); nothing was written",
    )
}

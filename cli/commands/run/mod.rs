//! `holdpoint run`: a skill file, done again.
//!
//! The same receipt comes out of a folder of its own ([`embedded`]) and of a server ([`remote`]); both
//! are printed by [`receipt`].

mod embedded;
mod paper;
mod place;
mod plan;
mod receipt;
mod remote;
mod vars;

use std::time::Duration;

use clap::{ArgMatches, Args};
use holdpoint_engine::run::{Flags, RunError};
use holdpoint_engine::tool::{Registry, parse_duration};

pub(super) use self::embedded::{in_doubt, to_value};
pub(super) use self::place::{Folder, Place, RunPlaceArgs, open_folder, reopen, run_id, shell};
pub(super) use self::plan::Job;
pub(super) use self::receipt::{describe, exit_code};
pub(super) use self::remote::{inputs, is_open, of_request, receipt_of};
pub(super) use self::vars::VarArgs;

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use paper::Paper;

/// The arguments of `run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Reads run always. A step that writes is withheld, and the exact call printed, until a flag allows it:
idempotent writes with --allow-writes, destructive steps with --yes. With --stage they are put into
the approval queue instead. Without --server everything happens in this process, on a data folder of
its own; what was made is never made again by --resume.

Exit codes of a run: 0 passed, 1 a step failed or was withheld, 2 wrong usage or file, 3 rejected,
4 expired, 5 still waiting, 6 the world moved (replan_required), 130 interrupted.

Examples:
  holdpoint run SKILL.md --dry-run
  holdpoint run SKILL.md --var crate=serde --var-file token=token.txt --allow-writes
  holdpoint run --resume run_0198… --allow-writes
  holdpoint run SKILL.md --stage --server https://holdpoint.example --wait=1h

The guide is docs/RUNS.md.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[expect(
    clippy::option_option,
    reason = "not given, given, and given with a time"
)]
pub(crate) struct RunArgs {
    /// The skill file; `-` is stdin
    #[arg(value_name = "SKILL.md", required_unless_present = "resume")]
    skill: Option<String>,
    #[command(flatten)]
    vars: VarArgs,
    /// Make idempotent writes
    #[arg(long, help_heading = "What is allowed")]
    allow_writes: bool,
    /// Make destructive steps too, and so idempotent writes
    #[arg(long, help_heading = "What is allowed")]
    yes: bool,
    /// Put what no flag allows into the approval queue instead of withholding it
    #[arg(long, help_heading = "What is allowed")]
    stage: bool,
    /// Run although tools are missing or have another input than the manifest of the file says
    #[arg(long, conflicts_with = "resume", help_heading = "What is allowed")]
    ignore_manifest: bool,
    /// Ask a model about steps that fail: 1 may change assertions and binds, 2 also the arguments of reads
    /// and idempotent writes. Changes are written into the file. `HOLDPOINT_MODEL_URL`, `_KEY` and `_NAME`
    /// say which model
    #[arg(
        long,
        value_name = "LEVEL",
        default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=2),
        conflicts_with_all = ["server", "resume"],
        help_heading = "What is allowed"
    )]
    max_level: u8,
    /// Show every call that would be made and what would be withheld; call nothing, store nothing
    #[arg(long, conflicts_with_all = ["resume", "wait", "detach"])]
    dry_run: bool,
    /// Go on with this run, from the first step that has not passed. Its secrets are given again
    #[arg(long, value_name = "RUN", conflicts_with = "skill")]
    resume: Option<String>,
    /// With --server: wait until it is over [default], or at most so long
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = parse_duration,
        num_args = 0..=1,
        require_equals = true,
        requires = "server"
    )]
    wait: Option<Option<Duration>>,
    /// With --server: print where the run is and do not wait (exit code 5)
    #[arg(long, requires = "server", conflicts_with = "wait")]
    detach: bool,
    #[command(flatten)]
    place: RunPlaceArgs,
}

impl RunArgs {
    fn flags(&self) -> Flags {
        Flags {
            allow_writes: self.allow_writes,
            yes: self.yes,
            stage: self.stage,
        }
    }
}

/// Runs a file, or goes on with a run.
pub(crate) fn run(args: &RunArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let place = args.place.resolve(matches, output)?;
    let mut paper = Paper::new(output);
    if let Some(id) = &args.resume {
        let id = run_id(id)?;
        // Nothing else is given to a run that began.
        let secrets = args.vars.read(|_| true)?;
        return match &place {
            Place::Server(server) => {
                super::block_on(remote::resume(args, server, id, secrets, paper))
            }
            Place::Folder(folder) => embedded::resume(args, folder, id, secrets, paper),
        };
    }
    let is_here = match &place {
        Place::Folder(_) => true,
        Place::Server(_) => false,
    };
    let registry = match &place {
        Place::Folder(folder) => folder.registry.clone(),
        // Which others a server has, it says itself.
        Place::Server(_) => Registry::default().with_built_in(),
    };
    let job = Job::read(
        args.skill.as_deref().unwrap_or_default(),
        registry,
        &args.vars,
    )?;
    if args.dry_run {
        let ignore_manifest = is_here.then_some(args.ignore_manifest);
        return job.show(args.flags(), ignore_manifest, output);
    }
    job.tell(&mut paper);
    match &place {
        Place::Server(server) => super::block_on(remote::start(args, server, &job, paper)),
        Place::Folder(folder) => embedded::start(args, folder, job, paper),
    }
}

/// Why the engine did not do what was asked.
pub(super) fn refused(error: &RunError) -> Failure {
    use crate::exit_code::ExitCode;
    let of_file = |lines: &[String], message: &str| {
        let failure = Failure::usage(message);
        lines.iter().fold(failure, Failure::detail)
    };
    match error {
        RunError::BadInputs(lines) => of_file(lines, "the variables are not those of the file"),
        RunError::BadTools(lines) => of_file(lines, "the tools are not those of the file").help(
            "define them in the tools file (--config FILE); --ignore-manifest runs with other inputs of tools",
        ),
        RunError::BadSteps(lines) => of_file(lines, "steps of the file could not be made")
            .help("nothing was called; `holdpoint skill check` and `holdpoint run --dry-run` look at the file without a run"),
        RunError::BadSkill(errors) => Failure::because("the skill file cannot be read", errors)
            .with_code(ExitCode::Usage),
        RunError::NotFound => {
            Failure::failed("there is no such run").help("`holdpoint runs ls` prints the ids")
        }
        RunError::Forbidden(_) => Failure::new(ExitCode::NotAllowed, error.to_string()),
        RunError::Invalid(_) => Failure::usage(error.to_string()),
        other => Failure::because("the run was not changed", other),
    }
}

//! The command line.

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    actions, bench, check, classify, compile, completions, doctor, events, export, import, init,
    key, login, pause, run, runs, schedules, serve, skill, user, verify, webhooks,
};
use crate::exit_code;

/// A durable workflow engine with an approval queue
///
/// Services and agents hand it the calls that they want to make; it runs the harmless ones, proves
/// that the risky ones ran once, and lets a person say yes or no to the dangerous ones.
#[derive(Debug, Parser)]
#[command(
    name = "holdpoint",
    version,
    after_help = exit_code::HELP,
    after_long_help = exit_code::HELP,
    arg_required_else_help = true,
    disable_help_subcommand = false,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Global {
    /// Print data as JSON, and errors as JSON on stderr
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print no messages but errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[arg(
        long,
        global = true,
        help_heading = "Output",
        help = "No colours (NO_COLOR does the same)"
    )]
    pub(crate) no_color: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a tools file to start from, and make the data folder
    Init(init::InitArgs),
    /// Read the tools file and say what it means, or what is wrong with it
    Check(check::CheckArgs),
    /// Say what a repeat of a tool's call does to the world, told from its name
    Classify(classify::ClassifyArgs),
    /// Skill files: jobs written down so that they can be done again
    #[command(subcommand)]
    Skill(skill::SkillCommand),
    /// Make a skill file of a trace: of what was once done with tools
    Compile(compile::CompileArgs),
    /// Run a skill file, step by step, so that it can go on after a crash
    Run(Box<run::RunArgs>),
    /// Runs: list them, look at one, call one off
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    /// Schedules: runs of a server that begin by themselves
    #[command(subcommand)]
    Schedules(schedules::SchedulesCommand),
    /// Run the engine, the pages and the API
    Serve(serve::ServeArgs),
    /// The people who approve, audit and administer
    #[command(subcommand)]
    User(user::UserCommand),
    /// The keys of services and agents
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Who is told of events, and what was sent
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Propose actions, look at them and decide on them
    #[command(subcommand)]
    Actions(actions::ActionsCommand),
    /// Read the history of everything
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Sign in to a server and keep the token in a file
    Login(login::LoginArgs),
    /// Send nothing new until `holdpoint resume`; everything else goes on
    Pause(pause::PauseArgs),
    /// Send what is due again
    Resume(pause::ResumeArgs),
    /// Look at everything and say what is wrong and what to do
    Doctor(doctor::DoctorArgs),
    /// Check every record of the log: that nothing was changed, dropped or added
    Verify(verify::VerifyArgs),
    /// Write the log out as JSON lines that know no store, with its hash chain
    Export(export::ExportArgs),
    /// Make a log of an exported file, in an empty data folder, or a skill file of a transcript
    Import(import::ImportArgs),
    /// Measure what this machine and its disk give
    Bench(bench::BenchArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

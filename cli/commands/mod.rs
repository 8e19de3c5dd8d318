//! One file per command.

pub(crate) mod actions;
mod admin;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod key;
pub(crate) mod login;
pub(crate) mod pause;
mod proof;
mod recording;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schedules;
pub(crate) mod serve;
pub(crate) mod skill;
pub(crate) mod user;
pub(crate) mod verify;
pub(crate) mod webhooks;

use std::future::Future;

use clap::ArgMatches;

use crate::args::Command;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Runs one command to its end.
pub(crate) fn run(command: Command, matches: &ArgMatches, output: Output) -> Outcome {
    match command {
        Command::Init(args) => init::run(&args, output),
        Command::Check(args) => block_on(check::run(args, matches, output)),
        Command::Classify(args) => classify::run(&args, output),
        Command::Skill(command) => skill::run(&command, output),
        Command::Compile(args) => compile::run(&args, output),
        Command::Run(args) => run::run(&args, matches, output),
        Command::Runs(command) => block_on(runs::run(command, matches, output)),
        Command::Schedules(command) => block_on(schedules::run(command, output)),
        Command::Serve(args) => serve::run(&args, matches, output),
        Command::User(command) => block_on(user::run(command, matches, output)),
        Command::Key(command) => block_on(key::run(command, matches, output)),
        Command::Webhooks(command) => block_on(webhooks::run(command, matches, output)),
        Command::Doctor(args) => block_on(doctor::run(args, matches, output)),
        Command::Pause(args) => block_on(pause::pause(args, matches, output)),
        Command::Resume(args) => block_on(pause::resume(args, matches, output)),
        Command::Bench(args) => bench::run(&args, output),
        Command::Verify(args) => block_on(verify::run(args, matches, output)),
        Command::Export(args) => block_on(export::run(args, matches, output)),
        Command::Import(args) => block_on(import::run(args, matches, output)),
        Command::Actions(command) => block_on(actions::run(command, output)),
        Command::Events(command) => block_on(events::run(command, output)),
        Command::Login(args) => block_on(login::run(args, output)),
        Command::Completions(args) => completions::run(&args),
    }
}

/// Runs a future that talks to a server: one thread is enough for that.
fn block_on<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("cannot start", &error))?
        .block_on(future)
}

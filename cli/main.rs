//! The `holdpoint` program: parses the command line, runs one command, prints what came of it.
//!
//! Each command is a file in [`commands`]. Data goes to stdout, messages to stderr, and the exit
//! code says how it ended ([`exit_code`]).

mod args;
mod client;
mod commands;
mod config;
mod data;
mod escape;
mod exit_code;
mod failure;
mod logging;
mod model;
mod output;
mod problem;
mod progress;
mod replace;
mod secret;
mod voters;

use std::io::Write as _;
use std::process::ExitCode as ProcessCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::Output;

fn main() -> ProcessCode {
    // The parser prints before it has parsed, so this flag is looked for by hand.
    if std::env::args_os().any(|argument| argument == "--no-color") {
        anstream::ColorChoice::Never.write_global();
    }
    let matches = match Cli::command().color(color_of_help()).try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to stdout and are no mistake.
            let code = if error.use_stderr() {
                ExitCode::Usage
            } else {
                ExitCode::Ok
            };
            let _ = error.print();
            return code.into();
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::Usage.into();
        }
    };
    let output = Output {
        json: cli.global.json,
        quiet: cli.global.quiet,
    };
    match commands::run(cli.command, &matches, output) {
        Ok(code) => code.into(),
        Err(failure) => {
            print_failure(&failure, output);
            failure.code.into()
        }
    }
}

fn color_of_help() -> clap::ColorChoice {
    match anstream::ColorChoice::global() {
        anstream::ColorChoice::Never => clap::ColorChoice::Never,
        anstream::ColorChoice::Auto
        | anstream::ColorChoice::AlwaysAnsi
        | anstream::ColorChoice::Always => clap::ColorChoice::Auto,
    }
}

fn print_failure(failure: &Failure, output: Output) {
    if failure.code == ExitCode::Ok {
        return;
    }
    let text = if output.json {
        format!("{}\n", escape::json(&failure.to_json()))
    } else {
        failure.to_text()
    };
    // There is nowhere left to say that stderr is closed.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

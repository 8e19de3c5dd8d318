//! `holdpoint verify`: the hash chain of the whole log.

use std::time::Duration;

use clap::{ArgMatches, Args};
use holdpoint_storage::verify::{VerifyError, verify_chain};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::config::{self, PlaceArgs, Settings};
use crate::data;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// How many records are checked between two steps of the progress bar.
const STEP: u64 = 4096;

/// The arguments of `verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
It reads every record, so it needs the data folder: stop the server, or verify a copy of the folder.")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The hash that the last record must have, as printed by an earlier run, with its position
    #[arg(long, value_name = "POSITION:HASH", value_parser = known)]
    expect: Option<(u64, String)>,
}

fn known(text: &str) -> Result<(u64, String), String> {
    text.split_once(':')
        .and_then(|(position, hash)| Some((position.parse().ok()?, hash.to_owned())))
        .filter(|(position, hash)| 0 < *position && hash.len() == 64)
        .ok_or_else(|| "write the position, a colon, and 64 hexadecimal digits".to_owned())
}

/// Checks every record.
pub(crate) async fn run(args: VerifyArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let file = config::load_settings(args.place.config.as_deref())?;
    let settings = Settings::resolve(args.place.data.as_ref(), None, file, config::leaf(matches));
    let folder = &settings.data.value;
    if !folder.exists() {
        return Err(
            Failure::usage(format!("there is no folder {}", folder.display()))
                .help("name the data folder with --data FOLDER"),
        );
    }
    let log = data::open(folder, output).map_err(|failure| {
        if failure.code == ExitCode::Conflict {
            failure.help("stop the server that holds it, or verify a copy: --data FOLDER")
        } else {
            failure
        }
    })?;
    let result = check(log.as_ref(), args.expect.as_ref(), output);
    log.close().await;
    let (position, hash) = result?;
    if output.json {
        output.value(&json!({ "records": position, "last_hash": hash }))?;
    } else {
        output.line(&format!(
            "{position} records, all whole; the last: {position}:{hash}"
        ))?;
    }
    if position != 0 && args.expect.is_none() {
        output.note(&format!(
            "keep that somewhere else; --expect {position}:{hash} later proves that nothing before it was changed or cut off"
        ));
    }
    Ok(ExitCode::Ok)
}

fn check(
    log: &dyn holdpoint_storage::EventLog,
    expect: Option<&(u64, String)>,
    output: Output,
) -> Outcome<(u64, String)> {
    let end = log
        .stats()
        .map_err(|error| Failure::because("the log cannot be read", &error))?
        .last_position;
    let bar = bar(end, output);
    let mut last = (0, "0".repeat(64));
    let mut seen = false;
    while last.0 < end {
        let mut to = (last.0 + STEP).min(end);
        if let Some((position, _)) = expect
            && last.0 < *position
        {
            to = to.min(*position);
        }
        let verified = verify_chain(log, last.0, to).map_err(|error| broken(&error))?;
        last = (verified.last_position, verified.last_hash.to_string());
        if let Some((position, hash)) = expect
            && *position == last.0
        {
            if !hash.eq_ignore_ascii_case(&last.1) {
                return Err(Failure::failed(format!(
                    "record {position} has the hash {}, and {hash} was expected: the history was changed",
                    last.1
                ))
                .help("keep a copy of the folder as it is, and compare it with a backup"));
            }
            seen = true;
        }
        if let Some(bar) = &bar {
            bar.set_position(last.0);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    match expect {
        Some((position, _)) if !seen => Err(Failure::failed(format!(
            "the log ends at record {end}, and record {position} was expected: its end was cut off"
        ))
        .help("keep a copy of the folder as it is, then restore a backup")),
        _ => Ok(last),
    }
}

fn broken(error: &VerifyError) -> Failure {
    let failure = Failure::because("the log is not whole", error);
    match error {
        VerifyError::Broken { position, .. } => failure.help(format!(
            "what comes before record {position} is whole; keep a copy of the folder as it is, then restore a backup"
        )),
        VerifyError::Read(_) => failure.help("look at the disk, then run it again"),
    }
}

fn bar(end: u64, output: Output) -> Option<ProgressBar> {
    if !output.can_animate() {
        return None;
    }
    let bar = ProgressBar::new(end).with_message("checking");
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} ({eta} left)") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(bar)
}

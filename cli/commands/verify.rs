//! `holdpoint verify`: the hash chain of the whole log, in its folder or in an exported file.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use holdpoint_storage::transfer::LogFile;
use holdpoint_storage::verify::{VerifyError, verify_chain};
use serde_json::json;

use super::{import, recording};
use crate::config::{self, PlaceArgs, Settings};
use crate::data;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::progress::Progress;

/// How many records are checked between two steps of the progress bar.
const STEP: u64 = 4096;

/// The arguments of `verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
It reads every record, so it needs the data folder: stop the server, or verify a copy of the folder. With
--file it checks an exported file instead, on any machine.")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Check this exported file and no folder; - for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
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
    let expect = args.expect.as_ref();
    let (records, position, hash) = if let Some(file) = &args.file {
        check_file(file, expect, output)?
    } else {
        let file = config::load_settings(args.place.config.as_deref())?;
        let settings =
            Settings::resolve(args.place.data.as_ref(), None, file, config::leaf(matches));
        let log = data::open_to_read(&settings.data.value, output)?;
        let result = check(log.as_ref(), expect, output);
        log.close().await;
        let (position, hash) = result?;
        (position, position, hash)
    };
    if output.json {
        output.value(&json!({ "records": records, "last_hash": hash }))?;
    } else {
        output.line(&format!(
            "{records} records, all whole; the last: {position}:{hash}"
        ))?;
    }
    if position != 0 && args.expect.is_none() {
        output.note(&format!(
            "keep that somewhere else; --expect {position}:{hash} later proves that nothing before it was changed or cut off"
        ));
    }
    Ok(ExitCode::Ok)
}

/// Checks an exported file: how many records it has, and the position and hash of the last.
fn check_file(
    path: &Path,
    expect: Option<&(u64, String)>,
    output: Output,
) -> Outcome<(u64, u64, String)> {
    let damaged = |error| import::damaged(path, &error);
    let mut file = LogFile::open(recording::open_file(path)?).map_err(damaged)?;
    let header = file.header();
    let bar = Progress::over(header.to, "checking", output);
    let mut seen = false;
    while file.next_item().map_err(damaged)?.is_some() {
        let head = file.head();
        bar.at(head.position);
        if let Some((position, hash)) = expect
            && *position == head.position
            && !seen
        {
            compare(*position, hash, &head.hash.to_string())?;
            seen = true;
        }
    }
    if let Some((position, _)) = expect
        && !seen
    {
        let (from, to) = (header.from, header.to);
        return Err(Failure::failed(format!(
            "the file holds records {from} to {to}, and record {position} was expected"
        )));
    }
    let head = file.head();
    let records = (header.to + 1).saturating_sub(header.from);
    Ok((records, head.position, head.hash.to_string()))
}

fn compare(position: u64, expected: &str, found: &str) -> Outcome<()> {
    if expected.eq_ignore_ascii_case(found) {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "record {position} has the hash {found}, and {expected} was expected: the history was changed"
    ))
    .help("keep a copy of it as it is, and compare it with a backup"))
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
    let bar = Progress::over(end, "checking", output);
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
            compare(*position, hash, &last.1)?;
            seen = true;
        }
        bar.at(last.0);
    }
    drop(bar);
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

//! `holdpoint verify`: the hash chain of the whole log and its claims, in its folder or in an exported
//! file.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use holdpoint_storage::transfer::LogFile;
use holdpoint_storage::verify::{VerifyError, verify_chain};
use holdpoint_storage::{EventLog, Hash};

use super::proof::{Kept, Proof};
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
    /// What an earlier run of this, or of export, printed: the record with its hash, and the claims
    #[arg(long, value_name = "POSITION:HASH:CLAIMS", value_parser = Kept::parse)]
    expect: Option<Kept>,
}

/// Checks every record.
pub(crate) async fn run(args: VerifyArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let expect = args.expect.as_ref();
    let end = if let Some(file) = &args.file {
        check_file(file, expect, output)?
    } else {
        let file = config::load_settings(args.place.config.as_deref())?;
        let settings =
            Settings::resolve(args.place.data.as_ref(), None, file, config::leaf(matches));
        data::try_without_snapshot(&settings.data.value)?;
        let log = data::open_to_read(&settings.data.value, output)?;
        let result = check(log.as_ref(), expect, output);
        log.close().await;
        result?
    };
    if let Some(kept) = expect {
        kept.compare_claims(&end, output)?;
    }
    if output.json {
        output.value(&end.json())?;
    } else {
        output.line(&format!("{}, all whole; the last: {end}", end.counts()))?;
    }
    if end.position != 0 && expect.is_none() {
        let proves = match end.claims {
            Some(_) => {
                "no record up to that one was changed or cut off, and while it is the last one no claim either"
            }
            None => "no record up to that one was changed or cut off",
        };
        output.note(&format!(
            "keep that somewhere else; --expect {end} later proves that {proves}"
        ));
    }
    Ok(ExitCode::Ok)
}

/// Checks an exported file; answers with where it ends.
fn check_file(path: &Path, expect: Option<&Kept>, output: Output) -> Outcome<Proof> {
    let damaged = |error| import::damaged(path, &error);
    let mut file = LogFile::open(recording::open_file(path)?).map_err(damaged)?;
    let header = file.header();
    let bar = Progress::over(header.to, "checking", output);
    let mut seen = false;
    while file.next_item().map_err(damaged)?.is_some() {
        let head = file.head();
        bar.at(head.position);
        if let Some(kept) = expect
            && kept.position == head.position
            && !seen
        {
            kept.compare_record(head.hash)?;
            seen = true;
        }
    }
    if let Some(Kept { position, .. }) = expect
        && !seen
    {
        let (from, to) = (header.from, header.to);
        return Err(Failure::failed(format!(
            "the file holds records {from} to {to}, and record {position} was expected"
        )));
    }
    let head = file.head();
    Ok(Proof {
        records: (header.to + 1).saturating_sub(header.from),
        position: head.position,
        hash: head.hash,
        claims: header.whole.then(|| file.claims()),
    })
}

fn check(log: &dyn EventLog, expect: Option<&Kept>, output: Output) -> Outcome<Proof> {
    let end = log
        .stats()
        .map_err(|error| Failure::because("the log cannot be read", &error))?
        .last_position;
    let bar = Progress::over(end, "checking", output);
    let mut last = (0, Hash::default());
    let mut seen = false;
    while last.0 < end {
        let mut to = (last.0 + STEP).min(end);
        if let Some(kept) = expect
            && last.0 < kept.position
        {
            to = to.min(kept.position);
        }
        let verified = verify_chain(log, last.0, to).map_err(|error| broken(&error))?;
        last = (verified.last_position, verified.last_hash);
        if let Some(kept) = expect
            && kept.position == last.0
        {
            kept.compare_record(last.1)?;
            seen = true;
        }
        bar.at(last.0);
    }
    drop(bar);
    match expect {
        Some(Kept { position, .. }) if !seen => Err(Failure::failed(format!(
            "the log ends at record {end}, and record {position} was expected: its end was cut off"
        ))
        .help("keep a copy of the folder as it is, then restore a backup")),
        _ => Proof::of(log, last.0, last.1),
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

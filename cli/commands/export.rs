//! `holdpoint export`: the log as a file that knows no store.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use holdpoint_engine::incarnation;
use holdpoint_storage::EventLog;
use holdpoint_storage::transfer::{self, ExportError, Exported};

use super::proof::Proof;
use crate::config::{self, PlaceArgs, Settings};
use crate::data;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::progress::Progress;

/// The arguments of `export`.
#[derive(Args, Debug)]
#[command(after_help = "\
The file holds everything: whoever has it can read every action, and the hashes of credentials. Each
record carries its hash, so `holdpoint verify --file FILE` checks it on any machine; `holdpoint import
FILE` makes a log of it again. A part (--from, --to) can be checked, not imported.

It needs the data folder: stop the server, or export a copy of the folder.")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The first record
    #[arg(long, value_name = "POSITION", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    from: u64,
    /// The last record [default: the last there is]
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,
    /// The file to write, which must not be there; - for stdout
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

/// Writes the log out.
pub(crate) async fn run(args: ExportArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let file = config::load_settings(args.place.config.as_deref())?;
    let settings = Settings::resolve(args.place.data.as_ref(), None, file, config::leaf(matches));
    let to_stdout = args.file == Path::new("-");
    if !to_stdout && args.file.exists() {
        return Err(
            Failure::usage(format!("{} is there already", args.file.display()))
                .help("name another file; nothing was written"),
        );
    }
    let log = data::open_to_read(&settings.data.value, output)?;
    let written = if to_stdout {
        write(log.as_ref(), &args, &mut io::stdout().lock(), output)
    } else {
        write_file(log.as_ref(), &args, output)
    };
    log.close().await;
    let written = written?;
    let end = Proof {
        records: written.records,
        position: written.last_position,
        hash: written.last_hash,
        claims: written.claims,
    };
    if output.json && !to_stdout {
        output.value(&end.json())?;
    } else {
        output.note(&format!(
            "{}; the last: {end} (keep that apart from the file, for `holdpoint verify --file FILE --expect`)",
            end.counts()
        ));
    }
    Ok(ExitCode::Ok)
}

/// Under another name until it is whole and on the device.
fn write_file(log: &dyn EventLog, args: &ExportArgs, output: Output) -> Outcome<Exported> {
    let mut part = args.file.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = create(&part)
        .map_err(|error| Failure::because(format!("cannot write {}", part.display()), &error))
        .and_then(|file| {
            let mut out = BufWriter::new(file);
            let written = write(log, args, &mut out, output)?;
            let synced = out.into_inner().map_err(io::IntoInnerError::into_error);
            synced.and_then(|file| file.sync_all())?;
            fs::rename(&part, &args.file)?;
            Ok(written)
        });
    if written.is_err() {
        // It may not have been made at all.
        drop(fs::remove_file(&part));
    }
    written
}

/// For the owner alone: it holds everybody's actions.
fn create(path: &Path) -> io::Result<File> {
    // What an export left that was stopped may have other permissions.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn write(
    log: &dyn EventLog,
    args: &ExportArgs,
    out: &mut dyn Write,
    output: Output,
) -> Outcome<Exported> {
    let unreadable = |error| Failure::because("the log cannot be read", &error);
    let incarnation = incarnation::number(log).map_err(unreadable)?;
    let end = args
        .to
        .map_or_else(|| log.stats().map(|stats| stats.last_position), Ok)
        .map_err(unreadable)?;
    let bar = Progress::over(end, "exporting", output);
    let mut tell = |position| bar.at(position);
    transfer::export(log, args.from, args.to, incarnation, out, &mut tell).map_err(|error| {
        let error = match error {
            ExportError::Write(error) => return Failure::from(error),
            other => other,
        };
        let failure = Failure::because("the log was not exported", &error);
        match error {
            ExportError::Range { .. } => failure.with_code(ExitCode::Usage),
            ExportError::Broken { position, .. } => failure.help(format!(
                "what comes before record {position} is whole; keep a copy of the folder as it is, then restore a backup"
            )),
            ExportError::Read(_) | ExportError::Write(_) => failure.help("look at the disk, then run it again"),
        }
    })
}

//! A log from an exported file.

use std::io::BufRead;
use std::path::Path;

use clap::ArgMatches;
use holdpoint_storage::transfer::{FileError, ImportError, Imported, LogFile, import};
use holdpoint_storage::{EventLog, SledLog, SledOptions};

use super::ImportArgs;
use crate::commands::proof::Proof;
use crate::config::{self, Settings};
use crate::data;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::progress::Progress;

/// Makes a log of the file, whose start was read already.
pub(super) async fn run(
    args: &ImportArgs,
    input: Box<dyn BufRead>,
    matches: &ArgMatches,
    output: Output,
) -> Outcome {
    let settings_file = config::load_settings(args.place.config.as_deref())?;
    let settings = Settings::resolve(
        args.place.data.as_ref(),
        None,
        settings_file,
        config::leaf(matches),
    );
    let folder = &settings.data.value;
    // Whatever is not an exported log is refused before the folder is touched.
    let mut file = LogFile::open(input).map_err(|error| damaged(&args.file, &error))?;
    let is_new = !folder.exists();
    data::silence_the_store();
    let log = SledLog::open_for_import(folder, &SledOptions::default())
        .map_err(|error| data::refused(&error))?;
    let bar = Progress::over(file.header().to, "importing", output);
    let imported = import(&mut file, &log, &mut |position, _| bar.at(position)).await;
    drop(bar);
    let finished = match imported {
        Ok(imported) => log
            .finish_import()
            .map(|()| imported)
            .map_err(|error| Failure::because("the import was not finished", &error)),
        Err(error) => Err(refused(&args.file, &error)),
    };
    log.close().await;
    drop(log);
    if finished.is_err() {
        discard(folder, is_new)?;
    }
    let Imported {
        records,
        claims,
        last_hash,
    } = finished?;
    let end = Proof {
        records,
        position: records,
        hash: last_hash,
        claims: Some(claims),
    };
    if output.json {
        output.value(&end.json())?;
    } else {
        output.line(&format!("{}, all whole; the last: {end}", end.counts()))?;
    }
    output.note(
        "when the log that it comes from is not used any more, start once with `holdpoint serve --confirm-restore`",
    );
    Ok(ExitCode::Ok)
}

/// What is wrong with a file, in words.
pub(in crate::commands) fn damaged(path: &Path, error: &FileError) -> Failure {
    let failure = Failure::because(format!("{} is not a whole log", path.display()), error);
    match error {
        FileError::Damaged { .. } => failure.help("take another copy of the file, or export again"),
        FileError::Io(_) => failure.help("look at the disk, then run it again"),
    }
}

fn refused(path: &Path, error: &ImportError) -> Failure {
    match error {
        ImportError::File(error) => damaged(path, error).detail("nothing was imported"),
        ImportError::Part { .. } => {
            Failure::because("nothing was imported", error).with_code(ExitCode::Usage)
        }
        ImportError::NotEmpty(_) | ImportError::Append { .. } | ImportError::Read(_) => {
            Failure::because("nothing was imported", error)
        }
    }
}

/// Leaves nothing that looks like a log.
fn discard(folder: &Path, is_new: bool) -> Outcome<()> {
    SledLog::discard_import(folder).map_err(|error| {
        Failure::because("what the import left could not be removed", &error).help(format!(
            "remove the folder {} by hand; it cannot be served",
            folder.display()
        ))
    })?;
    if is_new {
        // Somebody may have put something there in the meantime.
        drop(std::fs::remove_dir(folder));
    }
    Ok(())
}

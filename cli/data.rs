//! The data folder, opened by this process.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use holdpoint_engine::identity::{Identity, ensure_indexes};
use holdpoint_engine::time::{SystemClock, SystemEntropy};
use holdpoint_storage::{EventLog, OPENING_THREAD, OpenError, SledLog, SledOptions, Trial};
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// How long opening may take before something is shown.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// Opens the log. Shows that something happens where it takes long, which it does after an unclean
/// stop of a large log.
pub(crate) fn open(folder: &Path, output: Output) -> Outcome<Arc<dyn EventLog>> {
    if !folder.exists() {
        output.note(&format!("making the data folder {}", folder.display()));
    }
    silence_the_store();
    let (send, opened) = mpsc::channel();
    let path = folder.to_owned();
    std::thread::spawn(move || {
        // Nobody listens any more only if the process ends.
        let _ = send.send(SledLog::open(&path, &SledOptions::default()));
    });
    let result = match opened.recv_timeout(QUIET_TIME) {
        Ok(result) => Some(result),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let spinner = spinner(folder, output);
            let result = opened.recv();
            if let Some(spinner) = spinner {
                spinner.finish_and_clear();
            }
            result.ok()
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
    };
    match result {
        Some(Ok(log)) => Ok(Arc::new(log)),
        Some(Err(error)) => Err(refused(&error)),
        None => Err(
            Failure::failed(format!("opening {} was given up", folder.display())).help(
                "run it again; if it stays so, keep a copy of the folder and restore a backup",
            ),
        ),
    }
}

/// Opens the log of a folder that is there, to read it.
pub(crate) fn open_to_read(folder: &Path, output: Output) -> Outcome<Arc<dyn EventLog>> {
    if !folder.exists() {
        return Err(
            Failure::usage(format!("there is no folder {}", folder.display()))
                .help("name the data folder with --data FOLDER"),
        );
    }
    open(folder, output).map_err(|failure| {
        if failure.code == ExitCode::Conflict {
            failure.help("stop the server that holds it, or use a copy: --data FOLDER")
        } else {
            failure
        }
    })
}

/// Where a snapshot keeps a log from opening: says whether the log is whole without it, and what to do.
pub(crate) fn try_without_snapshot(folder: &Path) -> Outcome<()> {
    silence_the_store();
    let place = std::env::temp_dir();
    let tried = SledLog::try_without_snapshot(folder, &place);
    let (refusal, trial) = match tried {
        Ok(None) | Err(OpenError::Locked { .. }) => return Ok(()),
        Ok(Some(tried)) => tried,
        Err(error) => return Err(refused(&error)),
    };
    let failure = refused(&refusal);
    let OpenError::Snapshot { file, .. } = refusal else {
        return Err(failure);
    };
    let name = folder.display();
    let by_hand = format!(
        "with no server running: `cp -a {name} {name}.kept`, `rm {name}/{}`, `holdpoint verify --data {name}`, and \
         start the server once that says that all is whole",
        file.display()
    );
    Err(match trial {
        Trial::Whole {
            position,
            hash,
            compared: true,
        } => failure
            .detail(format!(
                "on a copy without that file all is whole, up to the last record that was acknowledged: {position}:{hash}"
            ))
            .help(format!("no backup is needed; {by_hand}")),
        Trial::Whole {
            position, hash, ..
        } => failure
            .detail(format!(
                "on a copy without that file the log is whole up to record {position}:{hash}, but the file mark, \
                 which says how far it was acknowledged, is lost or damaged: records after that one may be missing"
            ))
            .help(format!(
                "only if you know that this was the last record (of a line that `verify` or `export` printed, of the \
                 last actions): {by_hand}; else keep a copy of the folder as it is, then restore the last backup"
            )),
        Trial::Broken { reason } => failure
            .detail(format!(
                "on a copy without that file the log is not whole either: {reason}"
            ))
            .help("keep a copy of the folder as it is, then restore the last backup"),
        Trial::NoRoom { needed } => failure
            .detail(format!(
                "there is no room for a copy in {}: {} MiB have to be free",
                place.display(),
                needed / (1024 * 1024) + 1
            ))
            .help("name a folder with more room in TMPDIR, and run it again"),
    })
}

/// The store panics on some kinds of damage; the error that opening answers says it in words.
pub(crate) fn silence_the_store() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(OPENING_THREAD) {
            usual(panic);
        }
    }));
}

fn spinner(folder: &Path, output: Output) -> Option<ProgressBar> {
    let message = format!("opening {}", folder.display());
    if !output.can_animate() {
        output.note(&format!(
            "{message}; after an unclean stop this takes a while"
        ));
        return None;
    }
    let spinner = ProgressBar::new_spinner().with_message(message);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    Some(spinner)
}

/// Why the log was not opened, in words that say what to do.
pub(crate) fn refused(error: &OpenError) -> Failure {
    let failure = Failure::because("the data folder cannot be opened", error);
    match error {
        OpenError::Locked { .. } => failure.with_code(ExitCode::Conflict).help(
            "if a server holds it, do it through that server: --server URL, with the session of an administrator (`holdpoint login EMAIL`); where there is no administrator, stop the server first",
        ),
        OpenError::NewerFormat { .. } => failure.help("nothing was changed; use the newer version"),
        OpenError::Damaged { .. } => failure,
        OpenError::Snapshot { path, .. } => failure.help(format!(
            "with no server running, `holdpoint verify --data {}` tries it on a copy of its own, and says what to do",
            path.display()
        )),
        OpenError::NotEmpty { .. } => failure.with_code(ExitCode::Usage),
        OpenError::Full { .. } => failure.help("nothing is lost; it goes on once there is room"),
        OpenError::Io { .. } => failure.help("look at the folder, its owner and its disk"),
    }
}

/// The people and keys of a log.
pub(crate) async fn identity(log: &Arc<dyn EventLog>) -> Outcome<Identity> {
    ensure_indexes(log.as_ref())
        .await
        .map_err(|error| Failure::because("people and keys cannot be listed", &error))?;
    Identity::open(
        Arc::clone(log),
        Arc::new(SystemClock),
        Arc::new(SystemEntropy),
    )
    .map_err(|error| Failure::because("people and keys cannot be read", &error))
}

//! Opening: take the folder, open the store, and believe nothing before it was checked.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;

use super::SledOptions;
use super::fault::{self, Fault, apart};
use super::folder::{Folder, Purpose, at, open_error};
use super::keys::{self, Tip};
use super::mark::{Mark, Marked};
use super::marker::State;
use super::reserve::Reserve;
use super::snapshot::{self, Judged};
use super::store::Store;
use super::tree::Tree;
use super::whole::{self, read};
use crate::chain::Head;
use crate::log::{OpenError, Origin};
use crate::seeded::Bug;

/// How many records at the end of the log are read and checked at each start. All of them would
/// take minutes on a large log: [`crate::verify`] does that.
const CHECKED_RECORDS: u64 = 256;

/// sled's threads may hold its file for a moment after a log was closed in this process.
const CLOSING_TIME_MAX: Duration = Duration::from_secs(5);

pub(super) struct Opened {
    pub(super) store: Arc<Store>,
    pub(super) mark: Mark,
    pub(super) tip: Tip,
    pub(super) origin: Origin,
    /// Whether the reserve is still to be set aside.
    pub(super) wants_reserve: bool,
}

pub(super) fn open(
    path: &Path,
    options: &SledOptions,
    purpose: Purpose,
) -> Result<Opened, OpenError> {
    let (folder, state) = Folder::take(path, options, purpose)?;
    let lost = prepare(path, &folder, state)?;
    open_taken(path, options, folder, state).map_err(|error| match (error, lost) {
        (
            OpenError::Damaged {
                path,
                reason,
                advice,
            },
            Some(lost),
        ) => OpenError::Damaged {
            path,
            reason: format!("its file store/{lost} is missing; without it, {reason}"),
            advice,
        },
        (error, _) => error,
    })
}

/// Makes the folder ready for sled; answers with the name of a snapshot that should be there and is not.
fn prepare(path: &Path, folder: &Folder, state: State) -> Result<Option<String>, OpenError> {
    let io = |source| open_error(path, source);
    let mut lost = None;
    match state {
        State::Creating | State::Importing => folder.start_over().map_err(io)?,
        State::Ready => {
            for name in ["db", "conf"] {
                if !folder.store().join(name).is_file() {
                    return Err(damaged(path, format!("its file store/{name} is missing")));
                }
            }
            snapshot::remove_unfinished(&folder.store()).map_err(io)?;
            folder.read_through().map_err(io)?;
            lost = judge_snapshot(path, folder)?;
        }
    }
    snapshot::forget(path).map_err(io)?;
    folder.make_room_to_open().map_err(io)?;
    Ok(lost)
}

/// Refuses a snapshot that is not to be believed; answers with the name of one that is gone.
pub(super) fn judge_snapshot(path: &Path, folder: &Folder) -> Result<Option<String>, OpenError> {
    let judged = snapshot::judge(path, &folder.store());
    match judged.map_err(|source| open_error(path, source))? {
        Judged::Good => Ok(None),
        Judged::Missing(name) => {
            warn!("the file store/{name} is missing; the log is read without it");
            Ok(Some(name))
        }
        Judged::Wrong { file, reason } => Err(OpenError::Snapshot {
            path: path.to_owned(),
            file: Path::new("store").join(file),
            reason,
        }),
    }
}

fn open_taken(
    path: &Path,
    options: &SledOptions,
    folder: Folder,
    state: State,
) -> Result<Opened, OpenError> {
    let io = |source| open_error(path, source);
    let file = folder.open_file().map_err(io)?;
    let db = open_store(path, &folder, options)?;
    folder.sync_names().map_err(io)?;
    let (mut mark, marked) = Mark::open(&folder.mark()).map_err(io)?;
    if state != State::Ready {
        folder.sync_creation().map_err(io)?;
        mark.sync().map_err(io)?;
    }
    let origin = origin_of(&folder, state).map_err(io)?;
    let reserve = folder.set_reserve_aside();
    if let Reserve::NoRoom { needed } = reserve {
        let mib = needed / (1024 * 1024);
        warn!(
            "no room is set aside in {} to start on a full disk: {mib} MiB have to be free for that",
            path.display()
        );
    }
    let store = Arc::new(Store::new(db, file, folder));

    let how = options.clone();
    let checking = Arc::clone(&store);
    // On a thread of its own, because sled panics on some kinds of damage.
    let checked = apart(move || check(&checking, marked, &how)).map_err(io)?;
    let tip = match checked {
        Ok(Ok(tip)) => tip,
        Ok(Err(Fault::Io(source))) => return Err(io(source)),
        Ok(Err(Fault::Corrupt(reason))) => return Err(damaged(path, reason)),
        Err(panic) => {
            let words = fault::last_words(panic.as_ref());
            return Err(damaged(
                path,
                format!("the store gave up reading its end{words}"),
            ));
        }
    };
    if marked.is_none() && tip.groups != 0 {
        let file = path.join("mark");
        warn!(
            "there is no valid high-water mark in {}: a loss at the end of the log would not show; \
             compare with what you know of the last actions",
            file.display()
        );
    }
    // A process that was killed may have left records that never reached the device. They are in
    // the tree, so readers would see them: bring them to the device first.
    store.sync().map_err(io)?;
    mark.set(&tip).map_err(io)?;
    store.note_snapshot();
    if let Some(reason) = store.too_full(0) {
        warn!("what is there can be read, but nothing new is taken: {reason}");
    }
    Ok(Opened {
        store,
        mark,
        tip,
        origin,
        wants_reserve: matches!(reserve, Reserve::NoRoom { .. }),
    })
}

/// Where the log comes from; a new one is its own.
fn origin_of(folder: &Folder, state: State) -> io::Result<Origin> {
    match (state, folder.noted()) {
        (State::Importing, _) => Ok(Origin::Imported),
        (State::Creating, _) => folder.write_ready().map(|()| Origin::Own),
        (State::Ready, Some(noted)) => Ok(noted.judge(folder.birth()?)),
        (State::Ready, None) => {
            // Of before this was noted. A full disk must not keep it from being opened.
            if let Err(error) = folder.write_ready() {
                warn!("it could not be noted which folder the log is in: {error}");
            }
            Ok(Origin::Own)
        }
    }
}

fn open_store(path: &Path, folder: &Folder, options: &SledOptions) -> Result<Tree, OpenError> {
    let config = sled::Config::new()
        .path(folder.store())
        .cache_capacity(options.cache_bytes)
        // Our own flush and sync are what counts; but only this thread frees old segments.
        .flush_every_ms(Some(500));
    let io = |source| open_error(path, source);
    let start = Instant::now();
    loop {
        let config = config.clone();
        let error = match apart(move || config.open()).map_err(io)? {
            Ok(Ok(db)) => return Ok(Tree::new(db)),
            Ok(Err(error)) => error,
            Err(panic) => {
                let words = fault::last_words(panic.as_ref());
                return Err(damaged(
                    path,
                    format!("the store gave up opening its files{words}"),
                ));
            }
        };
        match error {
            // We hold the lock of the folder, so no other process is meant.
            sled::Error::Io(source)
                if source.to_string().contains("could not acquire lock")
                    && start.elapsed() < CLOSING_TIME_MAX =>
            {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "sled tells nobody when it lets go"
                )]
                thread::sleep(Duration::from_millis(5));
            }
            sled::Error::Io(source) => return Err(io(at(&folder.store(), &source))),
            sled::Error::Corruption { at: None, .. } if !folder.is_configuration_whole() => {
                return Err(damaged(path, "its file store/conf is damaged".to_owned()));
            }
            other => return Err(damaged(path, fault::damage(&other))),
        }
    }
}

/// Where the log ends, once its end was found to be whole.
fn check(store: &Store, marked: Option<Marked>, options: &SledOptions) -> Result<Tip, Fault> {
    let corrupt = |reason: String| Err(Fault::Corrupt(reason));
    let marked = marked.filter(|_| !Bug::TailCutUnnoticed.is_on());
    let tip = match store.db.get(keys::TIP)? {
        Some(bytes) => match Tip::decode(&bytes) {
            Some(tip) => tip,
            None => return corrupt("the entry that names the last record cannot be read".into()),
        },
        None => Tip::default(),
    };
    let head = tip.head;
    let last = store.db.scan_prefix(b"r").keys().next_back().transpose()?;
    let last = last
        .and_then(|key| keys::record_position(&key))
        .unwrap_or(0);
    if last != head.position {
        let named = head.position;
        return corrupt(format!(
            "it ends at record {last}, but names record {named} as its last"
        ));
    }
    if let Some(marked) = marked
        && head.position < marked.position
    {
        return corrupt(format!(
            "it ends at record {}, but records up to {} had been acknowledged; its end was lost",
            head.position, marked.position
        ));
    }
    if let Some(marked) = marked
        && tip.groups < marked.groups
    {
        let missing = marked.groups - tip.groups;
        return corrupt(format!(
            "the last {missing} writes that had been acknowledged were lost"
        ));
    }
    let from = head.position.saturating_sub(CHECKED_RECORDS);
    let mut before = match from {
        0 => Head::default(),
        from => Head::after(&read(store, from)?),
    };
    for position in from + 1..=head.position {
        let record = read(store, position)?;
        if let Some(reason) = before.refuse(&record) {
            return corrupt(format!("record {position} breaks the chain: {reason}"));
        }
        before = Head::after(&record);
    }
    if before != head {
        return corrupt("its last record is not the one that it names as its last".into());
    }
    if let Some(marked) = marked
        && marked.position != 0
        && read(store, marked.position)?.hash != marked.hash
    {
        let position = marked.position;
        return corrupt(format!(
            "record {position} is not the one that had been acknowledged"
        ));
    }
    if head.position <= options.whole_check_records_max
        && whole::sum(store, head.position, options.check_threads)? != tip.sum
    {
        return corrupt("entries that had been acknowledged are missing or are older ones".into());
    }
    Ok(tip)
}

fn damaged(path: &Path, reason: String) -> OpenError {
    OpenError::Damaged {
        path: path.to_owned(),
        reason,
        advice: "keep a copy of the folder as it is, then restore the last backup".to_owned(),
    }
}

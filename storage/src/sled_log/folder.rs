//! The data folder: who may use it, what is in it, and how full its disk is.
//!
//! ```text
//! lock         locked by the process that has the log open; names it
//! log-format   the marker: "holdpoint log", the format number, whether creation was finished, and
//!              which file the store was in (see the module `origin`)
//! store/       the files of sled
//! mark         how far the log has been acknowledged (see the module `mark`)
//! snapshot     which snapshot the store has (see the module `snapshot`)
//! reserve      room that is given back to open the log on a full disk
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tracing::warn;

use super::SledOptions;
use super::marker::{self, MARKER, MARKER_NEW, State};
use super::names::{name_at_once, sync_folder};
use super::origin::{Birth, Noted};
use super::reserve::{self, RESERVE, Reserve, free_bytes};
use super::snapshot;
use crate::log::OpenError;

/// How much is read at a time where a file is only read to see that it can be.
const READ_BYTES: usize = 1024 * 1024;

const LOCK: &str = "lock";
/// The number of a process and a line end fit well.
const LOCK_BYTES_MAX: u64 = 64;
const LOST_AND_FOUND: &str = "lost+found";

/// What a folder is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To use the log in it, or make one.
    Use,
    /// To fill a new log with records of another.
    Import,
}

/// A data folder that this process holds the lock of.
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
    free_bytes_min: u64,
    reserve_bytes: u64,
    /// What the marker said when the folder was taken.
    noted: Option<Noted>,
}

impl Folder {
    /// Takes the folder, or creates it. Changes nothing in a folder of something else, and nothing in
    /// one that does not suit the purpose.
    pub(super) fn take(
        path: &Path,
        options: &SledOptions,
        purpose: Purpose,
    ) -> Result<(Self, State), OpenError> {
        let io = |source| open_error(path, source);
        if path.exists() && !path.is_dir() {
            return Err(OpenError::Damaged {
                path: path.to_owned(),
                reason: "it is not a folder".to_owned(),
                advice: "nothing was changed; name the folder of a log, or one that can be made"
                    .to_owned(),
            });
        }
        create(path).map_err(|error| io(at(path, &error)))?;
        refuse_foreign(path)?;
        let lock = lock(path)?;
        let known = marker::read(path)?;
        let folder = Self {
            path: path.to_owned(),
            lock,
            free_bytes_min: options.free_bytes_min,
            reserve_bytes: options.reserve_bytes,
            noted: known.and_then(|(_, noted)| noted),
        };
        let known = known.map(|(state, _)| state);
        match (purpose, known) {
            (Purpose::Use, Some(State::Importing)) => Err(unfinished_import(path)),
            (Purpose::Import, Some(State::Ready)) => Err(OpenError::NotEmpty {
                path: path.to_owned(),
            }),
            (Purpose::Use, Some(state)) => Ok((folder, state)),
            (Purpose::Use, None) => {
                folder.write_marker(State::Creating, None).map_err(io)?;
                Ok((folder, State::Creating))
            }
            (Purpose::Import, Some(State::Creating | State::Importing) | None) => {
                folder.write_marker(State::Importing, None).map_err(io)?;
                Ok((folder, State::Importing))
            }
        }
    }

    /// Removes what an import that did not end has left, the marker last. Nothing is done where there
    /// was no import.
    pub(super) fn discard_import(path: &Path) -> Result<(), OpenError> {
        let io = |source| open_error(path, source);
        if !path.join(MARKER).exists() {
            return Ok(());
        }
        let lock = lock(path)?;
        let Some((State::Importing, _)) = marker::read(path)? else {
            return Ok(());
        };
        let folder = Self {
            path: path.to_owned(),
            lock,
            free_bytes_min: 0,
            reserve_bytes: 0,
            noted: None,
        };
        folder.start_over().map_err(io)?;
        let remove = |name: &str| match fs::remove_file(path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
        for name in [RESERVE, snapshot::NOTE, MARKER, LOCK] {
            remove(name).map_err(io)?;
        }
        Ok(())
    }

    /// What the marker said about where the folder comes from, when it was taken.
    pub(super) fn noted(&self) -> Option<Noted> {
        self.noted
    }

    /// What tells the file of the store from its copies.
    pub(super) fn birth(&self) -> io::Result<Birth> {
        Birth::of(&self.store().join("db"))
    }

    /// Notes that the log is ready, and that this folder is its own.
    pub(super) fn write_ready(&self) -> io::Result<()> {
        self.write_marker(State::Ready, Some(Noted::Store(self.birth()?)))
    }

    pub(super) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    pub(super) fn mark(&self) -> PathBuf {
        self.path.join("mark")
    }

    /// Removes what a creation left that did not end. Nothing in there was ever acknowledged.
    pub(super) fn start_over(&self) -> io::Result<()> {
        if self.store().exists() {
            fs::remove_dir_all(self.store())?;
        }
        if self.mark().exists() {
            fs::remove_file(self.mark())?;
        }
        Ok(())
    }

    /// Reads all files of the store once, so that a device that cannot read them says so now. While
    /// sled opens, it takes a failed read for the end of what was written, and overwrites what follows.
    pub(super) fn read_through(&self) -> io::Result<()> {
        let mut bytes = vec![0; READ_BYTES];
        let store = self.store();
        for entry in fs::read_dir(&store).map_err(|error| at(&store, &error))? {
            let path = entry?.path();
            if path.is_file() {
                let mut through = || -> io::Result<()> {
                    let mut file = File::open(&path)?;
                    while file.read(&mut bytes)? != 0 {}
                    Ok(())
                };
                through().map_err(|error| at(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Whether the file of sled's settings is as it was written: its checksum is its end.
    pub(super) fn is_configuration_whole(&self) -> bool {
        fs::read(self.store().join("conf")).is_ok_and(|bytes| {
            bytes.split_last_chunk().is_some_and(|(content, checksum)| {
                u32::from_le_bytes(*checksum) == crc32fast::hash(content)
            })
        })
    }

    /// Opens sled's file a second time, to sync it. Before sled does: the system tells of a failed
    /// sync on each descriptor that was open by then, and sled keeps some of that to itself.
    pub(super) fn open_file(&self) -> io::Result<File> {
        fs::create_dir_all(self.store())?;
        name_at_once(&self.store());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let db = self.store().join("db");
        options.open(&db).map_err(|error| at(&db, &error))
    }

    /// Brings the names of sled's files to the device: of a snapshot that it has just written.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        sync_folder(&self.store())
    }

    /// Writes the marker whole or not at all.
    pub(super) fn write_marker(&self, state: State, noted: Option<Noted>) -> io::Result<()> {
        marker::write(&self.path, state, noted)?;
        sync_folder(&self.path)
    }

    /// Brings the new files of the store, and the names of the folders, to the device.
    pub(super) fn sync_creation(&self) -> io::Result<()> {
        for name in ["conf", "db"] {
            File::open(self.store().join(name))?.sync_all()?;
        }
        sync_folder(&self.store())?;
        sync_folder(&self.path)?;
        let whole = fs::canonicalize(&self.path)?;
        whole.parent().map_or(Ok(()), sync_folder)
    }

    /// Gives the reserve back where there is too little room to open the log.
    pub(super) fn make_room_to_open(&self) -> io::Result<()> {
        reserve::give_back(&self.path)
    }

    /// Sets the reserve aside where there is room for it.
    pub(super) fn set_reserve_aside(&self) -> Reserve {
        reserve::set_aside(&self.path, self.reserve_bytes, self.free_bytes_min)
    }

    /// How much is free on its disk, in bytes.
    pub(super) fn free_bytes(&self) -> io::Result<u64> {
        free_bytes(&self.path)
    }

    /// How much is kept free there, in bytes.
    pub(super) fn free_bytes_min(&self) -> u64 {
        self.free_bytes_min
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Only so that nobody reads the name of a process that has let go; closing frees the lock.
        drop(self.lock.set_len(0));
    }
}

/// The same error, with the file that it was about.
pub(super) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// An I/O error of opening as what it means.
pub(super) fn open_error(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull => OpenError::Full { path },
        _ => OpenError::Io { path, source },
    }
}

fn lock(path: &Path) -> Result<File, OpenError> {
    let io = |source| open_error(path, source);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let name = path.join(LOCK);
    let opened = options.open(&name);
    let mut file = opened.map_err(|error| io(at(&name, &error)))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // Without a name it is "another process".
            drop((&mut file).take(LOCK_BYTES_MAX).read_to_string(&mut text));
            let holder = match text.trim().parse::<u32>() {
                Ok(pid) => format!("process {pid}"),
                Err(_) => "another process".to_owned(),
            };
            return Err(OpenError::Locked {
                path: path.to_owned(),
                holder,
            });
        }
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    // A full disk must not keep the log from being opened for the sake of a name.
    let name = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}", std::process::id())
    };
    if let Err(error) = name(&mut file) {
        warn!("the lock file could not be given the number of this process: {error}");
    }
    Ok(file)
}

/// Makes the folder, where there is none, for the owner alone: it holds everybody's actions.
fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Refuses a folder without a marker that holds anything but our own first files, and what a file system
/// has at its root.
fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    let io = |source| open_error(path, source);
    if path.join(MARKER).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(|error| io(at(path, &error)))? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let is_lock = || is_our_lock(path).map_err(|error| io(at(&path.join(LOCK), &error)));
        // A new file system comes with a folder of its own.
        let is_of_the_disk = || entry.file_type().is_ok_and(|found| found.is_dir());
        let ours = name == MARKER_NEW
            || (name == LOCK && is_lock()?)
            || (name == LOST_AND_FOUND && is_of_the_disk());
        // Another process may have written the marker in the meantime.
        if !ours && !path.join(MARKER).exists() {
            return Err(OpenError::Damaged {
                path: path.to_owned(),
                reason: format!(
                    "it holds {} but no {MARKER}, so it is not the folder of a log, or that file \
                     was lost",
                    name.to_string_lossy()
                ),
                advice: "nothing was changed; name an empty folder or the folder of a log, or \
                         restore the missing file from a backup"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Whether the lock file holds what we write: nothing, or the number of a process. Zeros are what a
/// power cut leaves of it where its length was kept.
fn is_our_lock(path: &Path) -> io::Result<bool> {
    let mut bytes = Vec::new();
    let file = File::open(path.join(LOCK))?;
    file.take(LOCK_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_number = bytes
        .iter()
        .all(|byte| *byte == 0 || byte.is_ascii_digit() || byte.is_ascii_whitespace());
    Ok(bytes.len() as u64 <= LOCK_BYTES_MAX && is_number)
}

fn unfinished_import(path: &Path) -> OpenError {
    OpenError::Damaged {
        path: path.to_owned(),
        reason: "an import into it did not end, so nothing in it counts".to_owned(),
        advice: "run the import again, or remove the folder".to_owned(),
    }
}

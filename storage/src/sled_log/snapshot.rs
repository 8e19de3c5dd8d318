//! The snapshot of sled, `store/snap.…`: where in `store/db` each of its pages is.
//!
//! sled writes one only while it opens, believes the newest that it finds, and then frees and zeroes every
//! part of `db` that it does not name: with one of another folder it destroys the log before anybody can
//! look. So the snapshot is judged before sled opens: whether it is whole, and whether it is the one that the
//! last start left. Without it sled reads `db` from its beginning, so the log may well be whole.
//!
//! Which one it was is noted in the file `snapshot` of the data folder. The note is removed, durably, before sled
//! opens, and written anew once the log was found whole; where a start ended in between, or the disk was full,
//! there is none, and only the snapshot itself is judged.

use std::fs;
use std::io;
use std::path::Path;

use tracing::{info, warn};

use super::folder::at;
use super::names::sync_folder;
use crate::seeded::Bug;

/// Where it is noted which snapshot the last start left.
pub(super) const NOTE: &str = "snapshot";

/// What all snapshots are called, with how far they reach behind it.
const PREFIX: &str = "snap.";

/// What the name of one ends with that was never finished.
const UNFINISHED: &str = ".generating";

/// What was found out about the newest snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Nothing speaks against it.
    Good,
    /// The one of this name is gone, and there is no other.
    Missing(String),
    /// The one of this name is not to be believed.
    Wrong {
        /// Its name in `store/`.
        file: String,
        /// What is wrong with it, after "it".
        reason: String,
    },
}

/// The snapshot that sled would take.
struct Newest {
    name: String,
    bytes: Vec<u8>,
}

/// Looks at the snapshot that sled would take. Changes nothing.
pub(super) fn judge(folder: &Path, store: &Path) -> io::Result<Judged> {
    let note = Note::read(folder)?;
    let Some(newest) = newest(store)? else {
        return Ok(match note {
            Some(Note(Some((name, _)))) => Judged::Missing(name),
            Some(Note(None)) | None => Judged::Good,
        });
    };
    let found = Note::of(Some(&newest));
    let wrong = |reason: String| Judged::Wrong {
        file: newest.name.clone(),
        reason,
    };
    if let Some(reason) = torn(&newest.bytes) {
        return Ok(wrong(format!("is damaged: {reason}")));
    }
    Ok(match note {
        None => Judged::Good,
        Some(note) if note == found => Judged::Good,
        Some(Note(Some((name, _)))) if name == newest.name => {
            wrong("is not the one that the last start left there".to_owned())
        }
        Some(Note(Some((name, _)))) => wrong(format!(
            "is not the one that the last start left there, which was {name}"
        )),
        Some(Note(None)) => wrong("was not there when the last start had ended".to_owned()),
    })
}

/// Removes the snapshots that were never finished: sled would take the newest of them for a whole one and
/// never open again.
pub(super) fn remove_unfinished(store: &Path) -> io::Result<()> {
    for entry in fs::read_dir(store).map_err(|error| at(store, &error))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_unfinished = name.starts_with(PREFIX) && name.ends_with(UNFINISHED);
        if is_unfinished && !Bug::SnapshotLeftoverKept.is_on() {
            fs::remove_file(entry.path())?;
            info!("removed the unfinished snapshot {name}");
        }
    }
    Ok(())
}

/// Removes the note before sled may write another snapshot.
pub(super) fn forget(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(NOTE)) {
        Ok(()) => sync_folder(folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at(&folder.join(NOTE), &error)),
    }
}

/// Notes the snapshot that sled has left. Without the note the log opens as well.
pub(super) fn remember(folder: &Path, store: &Path) {
    let note = || -> io::Result<()> {
        let note = Note::of(newest(store)?.as_ref());
        fs::write(folder.join(NOTE), note.text())
    };
    if let Err(error) = note() {
        warn!("it could not be noted which snapshot the store has: {error}");
    }
}

/// What a note says: the name of the snapshot and the checksum of the whole file, or that there was none.
#[derive(PartialEq, Eq)]
struct Note(Option<(String, u32)>);

impl Note {
    fn of(newest: Option<&Newest>) -> Self {
        Self(newest.map(|newest| (newest.name.clone(), crc32fast::hash(&newest.bytes))))
    }

    /// As the text of the file: a line, and the checksum of that line.
    fn text(&self) -> String {
        let line = match &self.0 {
            Some((name, checksum)) => format!("{name} {checksum:08x}"),
            None => "none".to_owned(),
        };
        format!("{line}\n{:08x}\n", crc32fast::hash(line.as_bytes()))
    }

    /// The note of a folder; `None` where there is none that is whole.
    fn read(folder: &Path) -> io::Result<Option<Self>> {
        let file = folder.join(NOTE);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(&file, &error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().next().unwrap_or_default();
        let note =
            Self(line.split_once(' ').and_then(|(name, sum)| {
                Some((name.to_owned(), u32::from_str_radix(sum, 16).ok()?))
            }));
        Ok((note.text() == text).then_some(note))
    }
}

/// The newest, as sled finds it.
fn newest(store: &Path) -> io::Result<Option<Newest>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(store).map_err(|error| at(store, &error))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX) && !name.ends_with(UNFINISHED) {
            names.push(name);
        }
    }
    let Some(name) = names.into_iter().max() else {
        return Ok(None);
    };
    let file = store.join(&name);
    let bytes = fs::read(&file).map_err(|error| at(&file, &error))?;
    Ok(Some(Newest { name, bytes }))
}

/// Why a snapshot is not whole, if so: the content is followed by its length and its checksum.
fn torn(bytes: &[u8]) -> Option<&'static str> {
    let Some((content, checksum)) = bytes.split_last_chunk() else {
        return Some("it is cut short");
    };
    let Some((content, length)) = content.split_last_chunk() else {
        return Some("it is cut short");
    };
    if content.is_empty() {
        return Some("it is cut short");
    }
    let fits = u64::from_le_bytes(*length) == content.len() as u64;
    (!fits || u32::from_le_bytes(*checksum) != crc32fast::hash(content))
        .then_some("its checksum does not fit")
}

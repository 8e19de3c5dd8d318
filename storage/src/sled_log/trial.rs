//! Whether a log is whole without the snapshot of its store, tried on a copy.
//!
//! Never in the folder itself: sled frees and zeroes what it cannot place, and an opening that ends in a refusal has
//! changed `db` already.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SledOptions;
use super::folder::{Folder, Purpose, at, open_error};
use super::mark::Mark;
use super::marker::{MARKER, State};
use super::open::{judge_snapshot, open};
use super::reserve::free_bytes;
use super::snapshot;
use crate::log::OpenError;
use crate::record::{Hash, Position};

/// What opening the copy may add to it, and what stays free besides.
const ROOM_BYTES: u64 = 64 * 1024 * 1024;

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Every entry is there.
    Whole {
        /// The last record.
        position: Position,
        /// Its hash.
        hash: Hash,
        /// Whether it was compared with the mark of what had been acknowledged; else the mark is lost.
        compared: bool,
    },
    /// It is not whole either.
    Broken {
        /// What was found.
        reason: String,
    },
    /// There is no room for a copy.
    NoRoom {
        /// How many bytes have to be free.
        needed: u64,
    },
}

/// A folder that is removed when it is let go of.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

pub(super) fn run(path: &Path, place: &Path) -> Result<Option<(OpenError, Trial)>, OpenError> {
    if !path.join(MARKER).exists() {
        return Ok(None);
    }
    let options = SledOptions {
        reserve_bytes: 0,
        free_bytes_min: 0,
        whole_check_records_max: u64::MAX,
        ..SledOptions::default()
    };
    let (folder, state) = Folder::take(path, &options, Purpose::Use)?;
    if state != State::Ready {
        return Ok(None);
    }
    match judge_snapshot(path, &folder) {
        Err(OpenError::Snapshot { path, file, reason }) => {
            let trial = without(&path, &file, place, &options)?;
            Ok(Some((OpenError::Snapshot { path, file, reason }, trial)))
        }
        Err(error) => Err(error),
        Ok(_) => Ok(None),
    }
}

fn without(
    path: &Path,
    file: &Path,
    place: &Path,
    options: &SledOptions,
) -> Result<Trial, OpenError> {
    let io = |source| open_error(path, source);
    let files = files(path, file).map_err(io)?;
    let bytes: u64 = files.iter().map(|(_, length)| length).sum();
    let needed = bytes.saturating_add(ROOM_BYTES);
    if free_bytes(place).map_err(|error| io(at(place, &error)))? < needed {
        return Ok(Trial::NoRoom { needed });
    }
    let scratch = scratch(place).map_err(io)?;
    for (name, _) in files {
        let to = scratch.0.join(&name);
        let copied = to.parent().map_or(Ok(()), fs::create_dir_all);
        let copied = copied.and_then(|()| fs::copy(path.join(&name), &to));
        copied.map_err(|error| io(at(&to, &error)))?;
    }
    let (_, marked) = Mark::open(&scratch.0.join("mark")).map_err(io)?;
    match open(&scratch.0, options, Purpose::Use) {
        Ok(opened) => Ok(Trial::Whole {
            position: opened.tip.head.position,
            hash: opened.tip.head.hash,
            compared: marked.is_some(),
        }),
        Err(OpenError::Damaged { reason, .. }) => Ok(Trial::Broken { reason }),
        Err(OpenError::Snapshot { file, reason, .. }) => Ok(Trial::Broken {
            reason: format!("its file {} {reason}", file.display()),
        }),
        Err(OpenError::Full { .. }) => Ok(Trial::NoRoom { needed }),
        Err(error) => Err(error),
    }
}

/// What is to be copied, in the folder, with its length.
fn files(path: &Path, without: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut names = vec![
        PathBuf::from(MARKER),
        PathBuf::from("mark"),
        PathBuf::from(snapshot::NOTE),
    ];
    // sled keeps nothing in folders of its own: no value is long enough.
    for entry in fs::read_dir(path.join("store"))? {
        names.push(Path::new("store").join(entry?.file_name()));
    }
    let mut files = Vec::new();
    for name in names {
        let file = path.join(&name);
        if name != without && file.is_file() {
            files.push((name, fs::metadata(&file)?.len()));
        }
    }
    Ok(files)
}

/// A new folder, for its owner alone.
fn scratch(place: &Path) -> io::Result<Scratch> {
    let path = place.join(format!("holdpoint-trial-{}", std::process::id()));
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&path).map_err(|error| at(&path, &error))?;
    Ok(Scratch(path))
}

//! Room that is set aside in the data folder, and given back to open the log on a full disk.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tracing::warn;

use super::names::sync_folder;

/// The file that takes the room.
pub(super) const RESERVE: &str = "reserve";

/// Opening needs about this much room to write down what it learns.
const OPENING_BYTES: u64 = 16 * 1024 * 1024;

/// Whether there is a reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserve {
    /// It is there, or none is asked for.
    There,
    /// There is none: so many bytes have to be free for it.
    NoRoom {
        /// How many.
        needed: u64,
    },
    /// There is none, and trying again does not help.
    NotPossible,
}

/// Whether a folder has one.
pub(super) fn is_there(folder: &Path) -> bool {
    fs::metadata(folder.join(RESERVE)).is_ok_and(|found| 0 < found.len())
}

/// Gives it back where there is too little room to open the log.
pub(super) fn give_back(folder: &Path) -> io::Result<()> {
    let reserve = folder.join(RESERVE);
    if free_bytes(folder)? < OPENING_BYTES && reserve.exists() {
        fs::remove_file(reserve)?;
        sync_folder(folder)?;
        warn!("the disk is full: the reserve was given back to open the log");
    }
    Ok(())
}

/// Sets `bytes` aside where `free_min` and as much again stay free.
pub(super) fn set_aside(folder: &Path, bytes: u64, free_min: u64) -> Reserve {
    let reserve = folder.join(RESERVE);
    let reserved = fs::metadata(&reserve).map_or(0, |found| found.len());
    if bytes <= reserved {
        return Reserve::There;
    }
    let needed = free_min.saturating_add(bytes.saturating_mul(2));
    let set_aside = || -> io::Result<Reserve> {
        if free_bytes(folder)? < needed {
            return Ok(Reserve::NoRoom { needed });
        }
        let file = File::create(&reserve)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
        file.sync_all()?;
        Ok(Reserve::There)
    };
    set_aside().unwrap_or_else(|error| {
        warn!("no reserve for a full disk could be set aside: {error}");
        drop(fs::remove_file(&reserve));
        Reserve::NotPossible
    })
}

/// How much is free on the disk of a folder, in bytes.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i23_what_could_not_be_set_aside_for_want_of_room_is_tried_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = set_aside(folder.path(), 4096, u64::MAX);
        assert_eq!(told, Reserve::NoRoom { needed: u64::MAX });
        assert!(!is_there(folder.path()));
        assert_eq!(set_aside(folder.path(), 4096, 0), Reserve::There);
        assert!(is_there(folder.path()));
    }
}

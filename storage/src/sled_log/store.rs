//! An open store in its folder.

use std::fs::File;
use std::io;

use tracing::info;

use super::folder::Folder;
use super::marker::State;
use super::origin::Noted;
use super::reserve::Reserve;
use super::snapshot;
use super::tree::Tree;
use crate::seeded::Bug;

/// An open store in its folder. Dropping it closes the files, then frees the folder.
pub(super) struct Store {
    pub(super) db: Tree,
    /// sled's file again: its own flush does not reach the device.
    file: File,
    folder: Folder,
}

impl Store {
    pub(super) fn new(db: Tree, file: File, folder: Folder) -> Self {
        Self { db, file, folder }
    }

    /// Brings what was flushed to the device.
    pub(super) fn sync(&self) -> io::Result<()> {
        if Bug::FlushWithoutFdatasync.is_on() {
            return Ok(());
        }
        self.file.sync_data()
    }

    /// Why nothing should be added now, if so: the floor of free space would be passed.
    pub(super) fn too_full(&self, bytes: usize) -> Option<String> {
        let floor = self.folder.free_bytes_min();
        if floor == 0 {
            return None;
        }
        // Where the room cannot be told, the write itself will tell.
        let free = self.folder.free_bytes().ok()?;
        (free < floor.saturating_add(bytes as u64)).then(|| {
            format!(
                "{free} bytes are free on the disk of {}, and {floor} are kept free; \
                 make room and try again",
                self.folder.path().display()
            )
        })
    }

    /// Notes which snapshot sled has left, for the next start to know it by.
    pub(super) fn note_snapshot(&self) {
        snapshot::remember(self.folder.path(), &self.folder.store());
    }

    /// Sets the reserve for a full disk aside, once there is room; answers whether there is none yet.
    pub(super) fn wants_reserve(&self) -> bool {
        match self.folder.set_reserve_aside() {
            Reserve::NoRoom { .. } => true,
            Reserve::There => {
                info!("there is room again: the reserve for a full disk was set aside");
                false
            }
            Reserve::NotPossible => false,
        }
    }

    /// Notes that the import has ended; it is in use only once that was confirmed.
    pub(super) fn finish_import(&self) -> io::Result<()> {
        self.folder
            .write_marker(State::Ready, Some(Noted::Imported))
    }

    /// Notes that this folder is the log's own.
    pub(super) fn confirm_origin(&self) -> io::Result<()> {
        self.folder.write_ready()
    }
}

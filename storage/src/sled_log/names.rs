//! Bringing names to the device: a file that was synced is lost with its name, where its folder was
//! not.

use std::fs::File;
use std::io;
use std::path::Path;

use tracing::debug;

/// Asks the file system to bring each change of a name in this folder to the device before it goes
/// on. While sled opens, it renames a snapshot and at once overwrites what only that one makes
/// superfluous: a power cut that lost the name and kept the rest would leave a log without its
/// beginning. ext4 does as asked; where a file system cannot, `Folder::sync_names` follows soon.
pub(super) fn name_at_once(folder: &Path) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
        let ask = || -> io::Result<()> {
            let folder = File::open(folder)?;
            let flags = ioctl_getflags(&folder)?;
            Ok(ioctl_setflags(&folder, flags | IFlags::DIRSYNC)?)
        };
        if let Err(error) = ask() {
            debug!("this file system brings names to the device when it likes: {error}");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = folder;
}

/// Brings the names in a folder to the device.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

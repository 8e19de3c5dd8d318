//! A small file system to fill.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mebibyte, in bytes.
pub(crate) const MIB: u64 = 1024 * 1024;

/// A file system in memory of a few MiB, unmounted when dropped.
pub(crate) struct Small(PathBuf);

impl Small {
    /// Mounts it on a folder.
    pub(crate) fn mount(at: &Path, mib: u64) -> Self {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(at)
            .status();
        let mounted = mounted.is_ok_and(|status| status.success());
        assert!(
            mounted,
            "a file system in memory; mounting needs the rights"
        );
        Self(at.to_owned())
    }

    /// Makes it this large.
    pub(crate) fn grow(&self, mib: u64) {
        let size = format!("remount,size={mib}m");
        let grown = Command::new("mount")
            .args(["-o", &size])
            .arg(&self.0)
            .status();
        assert!(grown.expect("runs").success());
    }

    /// Fills what is left.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = fs::File::create(&path).expect("creates");
        for size in [MIB, 4096] {
            let block = vec![1; usize::try_from(size).expect("fits")];
            while file.write_all(&block).is_ok() {}
        }
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

//! Replacing a file by another text, whole or not at all.
//!
//! The new text is written beside the file, brought to disk and renamed over it, so that whoever reads
//! the file finds the old or the new text and nothing in between, whenever the machine stops. Two
//! programs that do this at once cannot undo each other: both lock the file that they have read, and
//! the second one finds that it is no longer there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};

/// Replaces the content of a file, if that is still `old`. Its permission bits stay; where the path is a
/// link, the file that it leads to is replaced, and the link stays.
pub(crate) fn replace(path: &Path, old: &[u8], new: &[u8]) -> Outcome<()> {
    let named = path.display().to_string();
    let changed = || {
        let message = format!("{named} was changed by somebody else in the meantime");
        Failure::new(ExitCode::Conflict, message).help("look at it again, then repeat the command")
    };
    match attempt(path, old, new) {
        Ok(true) => Ok(()),
        Ok(false) => Err(changed()),
        // It was there when it was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(changed()),
        Err(error) => Err(
            Failure::because(format!("{named} cannot be replaced"), &error)
                .help("it is as it was; it and its folder must be writable"),
        ),
    }
}

/// Whether the file was replaced; not where it is no longer what was read.
fn attempt(path: &Path, old: &[u8], new: &[u8]) -> io::Result<bool> {
    let path = fs::canonicalize(path)?;
    // Opened for writing, so that a file which must not be written is not replaced either.
    let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    let (ours, there) = (file.metadata()?, fs::metadata(&path)?);
    if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
        return Ok(false);
    }
    let mut found = Vec::new();
    file.read_to_end(&mut found)?;
    if found != old {
        return Ok(false);
    }
    let fresh = beside(&path)?;
    let renamed = write(&fresh, new, &ours.permissions()).and_then(|()| fs::rename(&fresh, &path));
    if let Err(error) = renamed {
        // What remains is only a file that nobody reads.
        drop(fs::remove_file(&fresh));
        return Err(error);
    }
    File::open(folder(&path))?.sync_all()?;
    Ok(true)
}

/// The file that is written first: hidden, in the same folder. Whoever holds the lock has the name for
/// itself; what a stopped program left there is removed.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = folder(path).join(format!(".{name}.holdpoint-new"));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(fresh),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn write(path: &Path, text: &[u8], permissions: &fs::Permissions) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(text)?;
    file.set_permissions(permissions.clone())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::replace;
    use crate::exit_code::ExitCode;

    #[test]
    fn a_file_is_replaced_with_its_bits_and_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("a.md"), folder.path().join("link.md"));
        fs::write(&file, "old").expect("writable");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("ours");
        symlink("a.md", &link).expect("a link");
        fs::write(folder.path().join(".a.md.holdpoint-new"), "left over").expect("writable");
        replace(&link, b"old", b"new").expect("replaced");
        assert_eq!(fs::read(&file).expect("there"), b"new");
        let bits = fs::metadata(&file).expect("there").permissions().mode() & 0o777;
        assert_eq!(bits, 0o640);
        let link = fs::symlink_metadata(&link).expect("there");
        assert!(link.file_type().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn a_file_that_is_no_longer_the_same_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.md");
        fs::write(&file, "theirs").expect("writable");
        let refused = replace(&file, b"old", b"new").expect_err("changed");
        assert_eq!(refused.code, ExitCode::Conflict);
        assert_eq!(fs::read(&file).expect("there"), b"theirs");
        fs::remove_file(&file).expect("there");
        let refused = replace(&file, b"old", b"new").expect_err("gone");
        assert_eq!(refused.code, ExitCode::Conflict);
        assert!(!file.exists());
    }

    #[test]
    fn of_many_that_write_at_once_one_wins_and_the_others_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.md");
        fs::write(&file, "old").expect("writable");
        let texts: Vec<String> = (0..8).map(|one| format!("{one}").repeat(100_000)).collect();
        let won = std::thread::scope(|scope| {
            let file = &file;
            let writers = texts
                .iter()
                .map(|text| scope.spawn(move || replace(file, b"old", text.as_bytes()).is_ok()));
            let writers: Vec<_> = writers.collect();
            let won = writers.into_iter().map(|one| one.join().expect("no panic"));
            won.filter(|won| *won).count()
        });
        assert_eq!(won, 1);
        let text = fs::read_to_string(&file).expect("there");
        assert!(texts.contains(&text));
    }
}

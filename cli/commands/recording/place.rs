//! Where a skill file is written: whole or not at all, and never over another file unasked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// Writes the file under another name, then gives it its own.
pub(super) fn write(path: &Path, text: &str, force: bool) -> Outcome<()> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            return Err(
                Failure::usage(format!("{} is not a plain file", path.display()))
                    .help("name a file with -o SKILL, or print it with -o -"),
            );
        }
        Ok(_) if !force => return Err(is_there(path)),
        Ok(_) | Err(_) => {}
    }
    let part = part_of(path);
    let written = create(&part, text).and_then(|()| {
        if force {
            fs::rename(&part, path)
        } else {
            give_name(&part, path)
        }
    });
    if written.is_err() || !force {
        // It is gone where it was renamed.
        drop(fs::remove_file(&part));
    }
    written.map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            is_there(path)
        } else {
            Failure::because(format!("cannot write {}", path.display()), &error)
        }
    })
}

fn is_there(path: &Path) -> Failure {
    Failure::usage(format!("{} is there already", path.display()))
        .help("replace it with --force, or name another file with -o SKILL; nothing was written")
}

/// Beside the file, so that renaming it moves nothing.
fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    PathBuf::from(part)
}

fn create(part: &Path, text: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Fails where somebody else has taken the name in the meantime.
fn give_name(part: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(part, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !path.exists() => {
            // A file system without links.
            fs::rename(part, path)
        }
        linked => linked,
    }
}

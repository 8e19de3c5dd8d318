//! Secrets come from files or a terminal, never from flags or the environment.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The longest secret, in bytes. No password or token is longer; a wrong file is noticed.
const SECRET_BYTES_MAX: u64 = 4096;

/// Reads a secret from a file, or from stdin where the path is `-`. One line break at the end is
/// not part of it.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    let name = path.display();
    let mut text = String::new();
    let result = if path == Path::new("-") {
        std::io::stdin()
            .take(SECRET_BYTES_MAX + 1)
            .read_to_string(&mut text)
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(SECRET_BYTES_MAX + 1).read_to_string(&mut text))
    };
    result
        .map_err(|error| Failure::because(format!("cannot read the secret in {name}"), &error))?;
    if u64::try_from(text.len()).is_ok_and(|length| SECRET_BYTES_MAX < length) {
        return Err(Failure::failed(format!(
            "{name} is longer than {SECRET_BYTES_MAX} bytes; it does not hold a secret"
        )));
    }
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    let secret = secret.strip_suffix('\r').unwrap_or(secret);
    if secret.is_empty() {
        return Err(
            Failure::failed(format!("{name} is empty")).help("put the secret into it, on one line")
        );
    }
    Ok(secret.to_owned())
}

/// Reads a password from the file, or asks for it where a person is there to answer.
pub(crate) fn password(file: Option<&Path>, prompt: &str, output: Output) -> Outcome<String> {
    if let Some(path) = file {
        return read(path);
    }
    if !output.can_ask() {
        return Err(
            Failure::usage("there is no terminal to ask for the password").help(
                "write it to a file and pass --password-file FILE, or pipe it to --password-file -",
            ),
        );
    }
    output.note(prompt);
    let password = console::Term::stderr()
        .read_secure_line()
        .map_err(|error| Failure::because("cannot read the password", &error))?;
    if password.is_empty() {
        return Err(Failure::usage("no password was typed"));
    }
    Ok(password)
}

/// Writes a secret to a file that only its owner can read. An old one is replaced whole.
pub(crate) fn write(path: &Path, secret: &str) -> Outcome<()> {
    let failed = |error: &std::io::Error| {
        Failure::because(format!("cannot write {}", path.display()), error)
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    // A left-over of an interrupted run may have other permissions.
    let _ = std::fs::remove_file(&fresh);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&fresh).and_then(|mut file| {
        file.write_all(secret.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    });
    written
        .and_then(|()| std::fs::rename(&fresh, path))
        .map_err(|error| failed(&error))
}

/// Where `login` leaves the token and every other command looks for it.
pub(crate) fn default_token_file() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(folder.join("holdpoint").join("token"))
}

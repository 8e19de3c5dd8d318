//! What can go wrong below the log, and what callers are told of it.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::values::ValueError;
use crate::log::ReadError;

/// The name of the threads on which the store is opened, checked and closed. sled panics there
/// on some kinds of damage and where its last sync fails; that is told in words, so a panic hook may
/// keep silent.
pub const OPENING_THREAD: &str = "holdpoint-opening";

/// A key of the tree in words.
pub(super) fn place(key: &[u8]) -> String {
    match key {
        [b'i', index, key @ ..] => format!("index {index}, key {}", key.escape_ascii()),
        [_, key @ ..] => format!("claim {}", key.escape_ascii()),
        [] => "an empty key".to_owned(),
    }
}

pub(super) fn closed() -> ReadError {
    ReadError::Io(io::Error::other("the log is closed"))
}

/// What can go wrong below a read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The device failed.
    Io(io::Error),
    /// The content is not what was written.
    Corrupt(String),
}

impl From<sled::Error> for Fault {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => Self::Io(error),
            other => Self::Corrupt(damage(&other)),
        }
    }
}

/// What a panic of sled said, as the end of a sentence.
pub(super) fn last_words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.map_or_else(String::new, |text| format!(" ({text})"))
}

/// What sled found, in words.
pub(super) fn damage(error: &sled::Error) -> String {
    match error {
        sled::Error::Corruption { at: Some(at), .. } => {
            format!("its file store/db is damaged at byte {}", at.lid())
        }
        sled::Error::Corruption { at: None, .. } => "its file store/db is damaged".to_owned(),
        other => other.to_string(),
    }
}

impl From<ValueError> for Fault {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Sled(error) => error.into(),
            ValueError::Broken(reason) => Self::Corrupt(reason.to_owned()),
        }
    }
}

/// Runs it on a thread called [`OPENING_THREAD`]; the inner error is a panic.
pub(super) fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::Result<T>> {
    let thread = thread::Builder::new().name(OPENING_THREAD.to_owned());
    Ok(thread.spawn(work)?.join())
}

/// Runs a read; sled panics on some kinds of damage, which is an answer too.
pub(super) fn guarded<T>(
    place: &str,
    read: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, ReadError> {
    let place = || place.to_owned();
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Fault::Io(error))) => Err(ReadError::Io(error)),
        Ok(Err(Fault::Corrupt(reason))) => Err(ReadError::Corrupt {
            place: place(),
            reason,
        }),
        Err(_) => Err(ReadError::Corrupt {
            place: place(),
            reason: "the store gave up reading it".into(),
        }),
    }
}

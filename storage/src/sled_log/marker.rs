//! The marker of a data folder: what it is, in which format, how far its making got, and which file
//! its store was in.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::folder::{at, open_error};
use super::origin::Noted;
use crate::log::OpenError;

/// The format of the data folder that this version writes, and the newest that it reads.
const FORMAT: u32 = 1;

pub(super) const MARKER: &str = "log-format";
pub(super) const MARKER_NEW: &str = "log-format.new";
const TITLE: &str = "holdpoint log";

/// What the marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Creation has begun and not ended: nothing was acknowledged yet.
    Creating,
    /// An import has begun and not ended: nothing in there counts.
    Importing,
    /// There is a log.
    Ready,
}

/// What a marker says; the second is missing in a folder of before it was noted.
pub(super) type Marker = (State, Option<Noted>);

/// Reads the marker of a folder; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Marker>, OpenError> {
    let file = path.join(MARKER);
    let text = match fs::read(&file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(open_error(path, at(&file, &error))),
    };
    let mut lines = text.lines();
    let titled = lines.next() == Some(TITLE);
    let format = lines
        .next()
        .and_then(|line| line.strip_prefix("format ")?.parse::<u32>().ok());
    let state = lines.next();
    let line = lines.next();
    let noted = line.and_then(Noted::parse);
    // Folders of before there was such a line have none.
    let is_noted = line.is_none() || noted.is_some();
    match (titled, format, state) {
        (true, Some(found), _) if FORMAT < found => Err(OpenError::NewerFormat {
            path: path.to_owned(),
            found,
            supported: FORMAT,
        }),
        (true, Some(FORMAT), Some("creating")) => Ok(Some((State::Creating, None))),
        (true, Some(FORMAT), Some("importing")) => Ok(Some((State::Importing, None))),
        (true, Some(FORMAT), Some("ready")) if is_noted => Ok(Some((State::Ready, noted))),
        _ => Err(OpenError::Damaged {
            path: path.to_owned(),
            reason: format!("its file {MARKER} cannot be read"),
            advice: "nothing was changed; restore that file from a backup".to_owned(),
        }),
    }
}

/// Writes the marker whole or not at all. The folder is not synced.
pub(super) fn write(path: &Path, state: State, noted: Option<Noted>) -> io::Result<()> {
    let word = match state {
        State::Creating => "creating",
        State::Importing => "importing",
        State::Ready => "ready",
    };
    let new = path.join(MARKER_NEW);
    let mut file = File::create(&new).map_err(|error| at(&new, &error))?;
    write!(file, "{TITLE}\nformat {FORMAT}\n{word}\n")?;
    if let Some(noted) = noted {
        writeln!(file, "{}", noted.to_line())?;
    }
    file.sync_all()?;
    fs::rename(&new, path.join(MARKER))
}

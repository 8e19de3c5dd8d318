//! The file of a recording, read line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::path::Path;

use holdpoint_engine::limits::RECORDING_LINE_BYTES_MAX;
use holdpoint_engine::recording::{Format, Kind, Reader, Recogniser, Recording};

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};

/// A file whose first lines were looked at.
pub(in crate::commands) struct Opened {
    /// What they say that it is.
    pub(in crate::commands) kind: Kind,
    /// All of it, from its first byte.
    pub(in crate::commands) input: Box<dyn BufRead>,
}

/// The file, or stdin.
pub(in crate::commands) fn open_file(path: &Path) -> Outcome<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    Ok(Box::new(BufReader::with_capacity(256 * 1024, file)))
}

/// Opens a file and looks at as many lines as it takes to tell what it is.
pub(in crate::commands) fn open(path: &Path) -> Outcome<Opened> {
    let mut input = open_file(path)?;
    let mut recogniser = Recogniser::new();
    let mut head = Vec::new();
    let mut line = Vec::new();
    let kind = loop {
        let read = next_line(&mut input, &mut line).map_err(|error| unreadable(path, &error))?;
        if !read {
            break recogniser.end();
        }
        head.extend_from_slice(&line);
        if let Some(kind) = recogniser.line(trim(&line)) {
            break kind;
        }
    };
    Ok(Opened {
        kind,
        input: Box::new(Cursor::new(head).chain(input)),
    })
}

/// Reads the recording.
pub(super) fn read(path: &Path, format: Format, mut input: Box<dyn BufRead>) -> Outcome<Recording> {
    let wrong = |error| {
        let what = format!("{} cannot be read as {}", path.display(), format.title());
        Failure::because(what, &error)
            .with_code(ExitCode::Usage)
            .help("nothing was written")
    };
    let mut reader = Reader::new(format);
    let mut line = Vec::new();
    while next_line(&mut input, &mut line).map_err(|error| unreadable(path, &error))? {
        reader.line(trim(&line)).map_err(wrong)?;
    }
    reader.finish().map_err(wrong)
}

/// The next line with its end, or as much of it as is too long.
fn next_line(input: &mut Box<dyn BufRead>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = u64::try_from(RECORDING_LINE_BYTES_MAX).unwrap_or(u64::MAX);
    input.take(most.saturating_add(3)).read_until(b'\n', line)?;
    Ok(!line.is_empty())
}

fn trim(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::because(format!("cannot read {}", path.display()), error).with_code(ExitCode::Usage)
}

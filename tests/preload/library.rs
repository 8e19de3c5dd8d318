//! The library that stands between a program and its disk (`disk.c`), and what it was asked to do.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What tests need at most, in bytes.
const ROOM: u64 = 1024 * 1024 * 1024;

/// What happens at one of the calls that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing: calls are only counted.
    Watch,
    /// SIGKILL before the call with this number, from 1.
    KillBefore(u64),
    /// SIGKILL after it.
    KillAfter(u64),
    /// It fails.
    Fail {
        /// Its number, from 1.
        at: u64,
        /// How the operating system calls the error.
        error: Errno,
        /// For how long.
        how: How,
    },
}

/// An error of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errno {
    /// The device failed.
    Io = 5,
    /// No room.
    Full = 28,
    /// The file system is read-only, which it becomes after an error.
    ReadOnly = 30,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The one.
    Once,
    /// It and all after it.
    Ever,
    /// The one, after half of what it was to write.
    Torn,
}

/// A program's disk, watched.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    trace: PathBuf,
    act: Act,
    settings: Vec<(&'static str, OsString)>,
}

impl Disk {
    /// Watches what happens below `folder`; the trace goes to `trace`, which is begun anew.
    pub(crate) fn watch(folder: &Path, trace: &Path) -> Self {
        let folder = folder.canonicalize().expect("the folder is there");
        Self {
            folder,
            trace: trace.to_owned(),
            act: Act::Watch,
            settings: Vec::new(),
        }
    }

    /// Does this.
    pub(crate) fn act(mut self, act: Act) -> Self {
        self.act = act;
        self
    }

    /// Counts these kinds of calls only; see `disk.c`.
    pub(crate) fn kinds(self, kinds: &str) -> Self {
        self.set("HOLDPOINT_DISK_KINDS", kinds)
    }

    /// Begins to count when the program says something that begins with `text`.
    pub(crate) fn from(self, text: &str) -> Self {
        self.set("HOLDPOINT_DISK_FROM", text)
    }

    /// Records every change with its bytes into a file, which is begun anew.
    pub(crate) fn record(self, path: &Path) -> Self {
        let _ = fs::remove_file(path);
        self.set("HOLDPOINT_DISK_RECORD", path)
    }

    /// Takes what the program sends over its connections for marks as well.
    pub(crate) fn hear_connections(self) -> Self {
        self.set("HOLDPOINT_DISK_SOCKETS", "1")
    }

    /// Answers all calls of one name with success, and does nothing.
    pub(crate) fn swallow(self, call: &str) -> Self {
        self.set("HOLDPOINT_DISK_LIE", call)
    }

    fn set(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// Puts the library in front of a program.
    pub(crate) fn put_before(&self, command: &mut Command) {
        let _ = fs::remove_file(&self.trace);
        command
            .env("LD_PRELOAD", library())
            .env("HOLDPOINT_DISK_FOLDER", &self.folder)
            .env("HOLDPOINT_DISK_TRACE", &self.trace)
            .envs(self.settings.iter().map(|(name, value)| (name, value)));
        match self.act {
            Act::Watch => {}
            Act::KillBefore(at) => {
                command.env("HOLDPOINT_DISK_KILL", format!("before:{at}"));
            }
            Act::KillAfter(at) => {
                command.env("HOLDPOINT_DISK_KILL", format!("after:{at}"));
            }
            Act::Fail { at, error, how } => {
                let how = match how {
                    How::Once => "once",
                    How::Ever => "ever",
                    How::Torn => "torn",
                };
                command.env(
                    "HOLDPOINT_DISK_FAIL",
                    format!("{at}:{}:{how}", error as i32),
                );
            }
        }
    }

    /// What happened, in order.
    pub(crate) fn trace(&self) -> Vec<Seen> {
        let bytes = fs::read(&self.trace).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter_map(Seen::parse).collect()
    }
}

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// What the program said.
    Mark(String),
    /// A call that was counted.
    Call {
        /// Its number.
        number: u64,
        /// Its kind: `w` write, `s` sync, `n` names, `o` open, `r` read.
        kind: char,
        /// Its name and the file, relative to the folder.
        what: String,
        /// Whether it was made to fail.
        failed: bool,
    },
}

impl Seen {
    fn parse(line: &str) -> Option<Self> {
        if let Some(said) = line.strip_prefix("mark ") {
            return Some(Self::Mark(said.to_owned()));
        }
        let (number, rest) = line.split_once(' ')?;
        let (kind, what) = rest.split_once(' ')?;
        Some(Self::Call {
            number: number.parse().ok()?,
            kind: kind.chars().next()?,
            what: what.trim_end_matches(" FAILS").to_owned(),
            failed: what.ends_with(" FAILS"),
        })
    }
}

/// A folder for what a test makes. In memory where there is such a file system with enough room: what
/// is tested is what the library makes of the disk, and the disk itself would only take its time.
pub(crate) fn workshop() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail * found.f_frsize);
    let made = (ROOM <= free).then(|| tempfile::tempdir_in(memory));
    made.and_then(Result::ok)
        .unwrap_or_else(|| tempfile::tempdir().expect("a folder"))
}

/// How many calls a trace has.
pub(crate) fn calls(trace: &[Seen]) -> u64 {
    let numbers = trace.iter().map(|seen| match seen {
        Seen::Call { number, .. } => *number,
        Seen::Mark(_) => 0,
    });
    numbers.max().unwrap_or(0)
}

/// The library, compiled by the first test that needs it.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(folder).expect("a folder for what tests make");
        // Each test is a process of its own, and they compile at the same time.
        let own = folder.join(format!("disk-{}.so", std::process::id()));
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"])
            .arg("-o")
            .arg(&own)
            .arg("-xc")
            .arg("-")
            .stdin(source(folder))
            .status();
        let compiled = compiled.expect("a C compiler (`cc`) is needed to watch the disk");
        assert!(compiled.success(), "tests/preload/disk.c does not compile");
        let shared = folder.join("disk.so");
        fs::rename(own, &shared).expect("puts the library in its place");
        shared
    })
}

/// The source as a file to read, also where the repository has moved since.
fn source(folder: &Path) -> fs::File {
    let path = folder.join(format!("disk-{}.c", std::process::id()));
    fs::write(&path, include_str!("disk.c")).expect("writes the source");
    let file = fs::File::open(&path).expect("opens the source");
    fs::remove_file(&path).expect("nobody else needs it");
    file
}

//! A short life of the log in a process of its own: open, append, read, close.
//!
//! It says what it tries and what it is told, so that whoever watches its disk knows what had been
//! acknowledged before each call.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use holdpoint_storage::{AppendError, EventLog, SledLog, StreamId};

use crate::child::{Acknowledged, batch, note, options, say};
use crate::library::{Disk, Seen};

const FOLDER: &str = "HOLDPOINT_TEST_LIFE";
const BATCHES: &str = "HOLDPOINT_TEST_BATCHES";
const WRITERS: u64 = 3;
/// A life takes a moment; one that takes so long will never end.
const LONG: Duration = Duration::from_mins(1);

/// Lives, where it is asked to.
#[test]
fn life() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let batches = crate::set(BATCHES).expect("a number of batches");
    let log = match SledLog::open(&folder, &options()) {
        Ok(log) => Rc::new(log),
        Err(error) => return say(&format!("refused {error}")),
    };
    say("open");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let together = tokio::task::LocalSet::new();
    together.block_on(&runtime, async {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::task::spawn_local(write(Rc::clone(&log), writer, batches)))
            .collect();
        for writer in writers {
            writer.await.expect("goes on");
        }
        say("closing");
        log.close().await;
    });
    drop(log);
    say("closed");
}

async fn write(log: Rc<SledLog>, writer: u64, batches: u64) {
    let stream = StreamId::new(format!("w/{writer}")).expect("a name");
    for _ in 0..batches {
        // Reads may fail once a write has (see `sled_log`).
        let Ok(version) = log.stream_version(&stream) else {
            say("cannot read");
            continue;
        };
        let next = version + 1;
        say(&format!("try {writer} {next}"));
        match log.append(batch(&stream, version)).await {
            Ok(done) => say(&format!("ack {writer} {next} {}", done.last)),
            Err(AppendError::Stopped { .. }) => say(&format!("stopped {writer} {next}")),
            Err(error) => say(&format!("not {writer} {next} {error:?}")),
        }
    }
}

/// How a life ended, and what was seen of it.
pub(crate) struct Lived {
    pub(crate) status: ExitStatus,
    pub(crate) trace: Vec<Seen>,
}

impl Lived {
    /// Whether it was killed.
    pub(crate) fn was_killed(&self) -> bool {
        self.status.signal().is_some()
    }

    /// What it said, in order.
    pub(crate) fn said(&self) -> impl Iterator<Item = &str> {
        self.trace.iter().filter_map(|seen| match seen {
            Seen::Mark(said) => Some(said.as_str()),
            Seen::Call { .. } => None,
        })
    }

    /// Adds what was acknowledged.
    pub(crate) fn note(&self, acknowledged: &mut Acknowledged) {
        for line in self.said() {
            note(line, acknowledged);
        }
    }
}

/// Lives in `folder` with its disk watched; `batches` for each writer.
pub(crate) fn live(folder: &Path, batches: u64, disk: &Disk) -> Lived {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .args(["life::life", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env(BATCHES, batches.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    disk.put_before(&mut command);
    let mut child = command.spawn().expect("starts");
    let pid = child.id().to_string();
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(child.wait()));
    let Ok(status) = end.recv_timeout(LONG) else {
        drop(Command::new("kill").args(["-9", &pid]).status());
        panic!("it hangs:\n{:#?}", disk.trace());
    };
    let status = status.expect("can be waited for");
    Lived {
        status,
        trace: disk.trace(),
    }
}

/// A place for one log: the folder that is watched, with the log in it, and the trace beside it.
pub(crate) struct Place(PathBuf);

impl Place {
    /// A new one below `root`.
    pub(crate) fn new(root: &Path, name: &str) -> Self {
        let place = Self(root.join(name));
        fs::create_dir_all(place.disk()).expect("makes a folder");
        place
    }

    /// A copy, with another name.
    pub(crate) fn copy(&self, root: &Path, name: &str) -> Self {
        let copy = Self::new(root, name);
        copy_folder(&self.disk(), &copy.disk());
        copy
    }

    pub(crate) fn disk(&self) -> PathBuf {
        self.0.join("disk")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.disk().join("log")
    }

    pub(crate) fn watch(&self) -> Disk {
        Disk::watch(&self.disk(), &self.0.join("trace"))
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.0.join("recording")
    }

    /// Removes it; a place that a test failed in is left to look at.
    pub(crate) fn remove(self) {
        fs::remove_dir_all(self.0).expect("removes a folder");
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("makes a folder");
    for entry in fs::read_dir(from).expect("reads a folder") {
        let path = entry.expect("reads a folder").path();
        let place = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &place);
        } else {
            fs::copy(&path, place).expect("copies a file");
        }
    }
}

//! The real program, with or without a library in front of its disk.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Failure;
use crate::library::Disk;

/// A start or a stop takes a moment; one that takes so long will never end.
const LONG: Duration = Duration::from_mins(1);

/// The program, serving.
pub(crate) struct Program {
    child: Child,
    /// Where it listens.
    pub(crate) url: String,
    output: PathBuf,
}

/// A program that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// What it said on standard error.
    pub(crate) said: String,
}

impl Program {
    /// Starts it on a folder of the example. The inner error is how it ended instead.
    pub(crate) fn start(data: &Path, disk: Option<&Disk>) -> Result<Result<Self, Ended>, Failure> {
        let output = data.join("said.txt");
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command
            .arg("serve")
            .arg("--config")
            .arg(data.join("holdpoint.json"))
            .arg("--data")
            .arg(data.join("log"))
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&output)?);
        if let Some(disk) = disk {
            disk.put_before(&mut command);
        }
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("standard output is piped")?;
        let (send, first) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            send.send(read.map(|_| line))
        });
        let Ok(line) = first.recv_timeout(LONG) else {
            child.kill()?;
            return Err(format!("the start hangs:\n{}", fs::read_to_string(output)?).into());
        };
        let line = line?;
        let mut program = Self {
            child,
            url: String::new(),
            output,
        };
        let Some(url) = line.trim().strip_prefix("listening on ") else {
            return Ok(Err(program.ended()?));
        };
        url.clone_into(&mut program.url);
        Ok(Ok(program))
    }

    /// Asks it to stop, and waits for that.
    pub(crate) fn stop(self) -> Result<Ended, Failure> {
        let pid = self.child.id().to_string();
        // It may be gone already.
        Command::new("kill")
            .args(["-TERM", &pid])
            .stderr(Stdio::null())
            .status()?;
        self.ended()
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) -> Result<Ended, Failure> {
        self.child.kill()?;
        self.ended()
    }

    fn ended(mut self) -> Result<Ended, Failure> {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if LONG < begun.elapsed() {
                return Err(
                    format!("it does not end:\n{}", fs::read_to_string(&self.output)?).into(),
                );
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a process tells nobody when it ends"
            )]
            thread::sleep(Duration::from_millis(5));
        };
        Ok(Ended {
            status,
            said: fs::read_to_string(&self.output)?,
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail only where it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

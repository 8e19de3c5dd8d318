//! The server as a process of its own.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::{Client, Failure};
use crate::house::House;
use crate::setup::{Cast, Folder};

/// How long a start may take before the test gives up.
const START: Duration = Duration::from_mins(1);
const DATA: &str = "HOLDPOINT_CRASH_STORY_DATA";
const LISTEN: &str = "HOLDPOINT_CRASH_STORY_LISTEN";

/// The server, started again and again on one folder.
pub(crate) struct Server {
    data: PathBuf,
    listen: SocketAddr,
    child: Child,
}

impl Server {
    /// Starts it for the first time.
    pub(crate) fn start(data: &Path, listen: SocketAddr) -> Result<Self, Failure> {
        let child = spawn(data, listen)?;
        Ok(Self {
            data: data.to_owned(),
            listen,
            child,
        })
    }

    /// Starts it again after [`Self::kill`].
    pub(crate) fn start_again(&mut self) -> Result<(), Failure> {
        self.child = spawn(&self.data, self.listen)?;
        Ok(())
    }

    /// SIGKILL. An error where it had ended by itself, which it never should.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.must_run()?;
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it takes requests and everybody of the story exists.
    pub(crate) async fn ready(&mut self) -> Result<(), Failure> {
        let client = Client::new(self.url())?;
        let begun = Instant::now();
        loop {
            self.must_run()?;
            let ready = client.send("GET", "/readyz", &[], None).await;
            if ready.is_ok_and(|reply| reply.is_ok()) && self.cast().is_ok() {
                return Ok(());
            }
            if begun.elapsed() > START {
                return Err(format!("not ready after {START:?}:\n{}", self.output()).into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Who there is, once the keys are made.
    pub(crate) fn cast(&self) -> Result<Cast, Failure> {
        let cast: Cast = serde_json::from_slice(&fs::read(self.data.join("cast.json"))?)?;
        if cast.agent_key.is_empty() {
            return Err("the keys are not made yet".into());
        }
        Ok(cast)
    }

    fn must_run(&mut self) -> Result<(), Failure> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                Err(format!("the server ended by itself, {status}:\n{}", self.output()).into())
            }
        }
    }

    fn output(&self) -> String {
        fs::read_to_string(self.data.join("server.txt")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(data: &Path, listen: SocketAddr) -> Result<Child, Failure> {
    let output = File::create(data.join("server.txt"))?;
    let child = Command::new(std::env::current_exe()?)
        .args(["--exact", "server_process", "--ignored", "--nocapture"])
        .env(DATA, data)
        .env(LISTEN, listen.to_string())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    Ok(child)
}

/// What the process does: serves until it is killed.
pub(crate) async fn serve() -> Result<(), Failure> {
    let data = std::env::var_os(DATA).ok_or("started by the kill test only")?;
    let listen: SocketAddr = std::env::var(LISTEN)?.parse()?;
    let folder = Folder::open(Path::new(&data))?;
    let listener = tokio::net::TcpListener::bind(listen).await?;
    let house = House::open(&folder, listener).await?;
    folder.cast(house.engine.identity()).await?;
    std::future::pending().await
}

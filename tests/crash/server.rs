//! The server as a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::NewKey;

use crate::client::{Client, Failure};
use crate::house;
use crate::setup::{Cast, Folder};
use crate::worker;

/// How long a start may take before the test gives up.
const START: Duration = Duration::from_mins(1);

/// A start that takes longer is counted as slow.
const SLOW: Duration = Duration::from_secs(5);

/// The server, started again and again on one folder.
pub(crate) struct Server {
    data: PathBuf,
    listen: SocketAddr,
    child: Child,
    started: Instant,
    /// How many starts took longer than [`SLOW`].
    pub(crate) slow_starts: u32,
    /// The key of whoever pulls work.
    pub(crate) worker_key: String,
}

impl Server {
    /// Makes the people and keys, and starts it for the first time.
    pub(crate) async fn start(data: &Path, listen: SocketAddr) -> Result<Self, Failure> {
        let folder = Folder::open(data)?;
        let engine = house::open_engine(&folder).await?;
        let cast = folder.cast(engine.identity()).await?;
        let owner = engine.identity().person_by_email(&cast.rita.email);
        let key = NewKey {
            name: "packer".to_owned(),
            kind: PrincipalKind::Service,
            owner: owner.ok_or("there is nobody to answer for the key")?.id,
            scopes: BTreeSet::from([format!("work:{}", worker::TOOL)]),
            attributes: BTreeMap::new(),
            expires_at: None,
        };
        let (_, worker_key) = engine.identity().create_key("cli:test", key).await?;
        engine.shutdown(START).await;
        drop(engine);
        let child = spawn(data, listen)?;
        Ok(Self {
            data: data.to_owned(),
            listen,
            child,
            started: Instant::now(),
            slow_starts: 0,
            worker_key: worker_key.expose().to_owned(),
        })
    }

    /// Starts it again after [`Self::kill`].
    pub(crate) fn start_again(&mut self) -> Result<(), Failure> {
        self.child = spawn(&self.data, self.listen)?;
        self.started = Instant::now();
        Ok(())
    }

    /// SIGKILL. An error where it had ended by itself, which it never should.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.must_run()?;
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it takes requests.
    pub(crate) async fn ready(&mut self) -> Result<(), Failure> {
        let client = Client::new(self.url())?;
        let begun = Instant::now();
        loop {
            self.must_run()?;
            let ready = client.send("GET", "/readyz", &[], None).await;
            if ready.is_ok_and(|reply| reply.is_ok()) {
                self.slow_starts += u32::from(SLOW < self.started.elapsed());
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

    /// Who there is.
    pub(crate) fn cast(&self) -> Result<Cast, Failure> {
        Ok(serde_json::from_slice(&fs::read(
            self.data.join("cast.json"),
        )?)?)
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
    let folder = Folder::open(data)?;
    let output = File::create(data.join("server.txt"))?;
    let child = Command::new(env!("CARGO_BIN_EXE_holdpoint"))
        .arg("serve")
        .arg("--config")
        .arg(folder.tools())
        .arg("--data")
        .arg(folder.log())
        .args(["--listen", &listen.to_string()])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    Ok(child)
}

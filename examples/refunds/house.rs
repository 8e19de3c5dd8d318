//! Holdpoint itself: a log on disk, the engine, and the web server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::tool::ToolsFile;
use holdpoint_storage::{EventLog, SledLog, SledOptions};
use holdpoint_web::{AppState, WebConfig};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::Failure;
use crate::setup::Folder;

/// How long work that is on its way may take when the example stops.
const STOP: Duration = Duration::from_secs(5);

/// A running Holdpoint.
pub(crate) struct House {
    /// The engine.
    pub(crate) engine: Engine,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl House {
    /// Opens the log and the tools of the folder and serves them. Continues what was interrupted.
    pub(crate) async fn open(folder: &Folder, listener: TcpListener) -> Result<Self, Failure> {
        let engine = open_engine(folder).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let state = AppState::new(engine.clone(), WebConfig::default(), None);
        let serving = tokio::spawn(holdpoint_web::serve(listener, state, stop.clone()));
        Ok(Self {
            engine,
            address,
            stop,
            serving,
        })
    }

    /// Stops taking, finishes what is on its way, and closes the log.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        self.stop.cancel();
        self.serving.await??;
        self.engine.shutdown(STOP).await;
        Ok(())
    }
}

/// The engine on the folder's log, without a server.
pub(crate) async fn open_engine(folder: &Folder) -> Result<Engine, Failure> {
    let registry = ToolsFile::load(&folder.tools())?.registry;
    let path = folder.log();
    let open = move || SledLog::open(path, &SledOptions::default());
    let log: Arc<dyn EventLog> = Arc::new(tokio::task::spawn_blocking(open).await??);
    Ok(Engine::open(log, Arc::new(registry), Options::default()).await?)
}

//! Where runs are: in a folder that this process opens, or behind a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgMatches, Args};
use holdpoint::client::Client;
use holdpoint_engine::engine::{Engine, HttpTools, Options, RunOptions};
use holdpoint_engine::identity::Principal;
use holdpoint_engine::run::RunId;
use holdpoint_engine::run::heal::Helper;
use holdpoint_engine::tool::{Registry, ToolsFile};
use holdpoint_storage::EventLog;

use crate::client::{self, ServerArgs};
use crate::config::{self, FileSettings, LogFormat, Settings};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::{data, logging};

/// The folder where nothing else is said. Not that of `serve`, which holds its own all the time.
const DATA: &str = "holdpoint-runs";

/// Where runs are.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where")]
pub(crate) struct RunPlaceArgs {
    /// The folder of the runs [default: ./holdpoint-runs]
    #[arg(long, env = "HOLDPOINT_RUNS", value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The tools file [default: holdpoint.json, where there is one]
    #[arg(long, env = "HOLDPOINT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to log to stderr: error, warn, info, debug, trace, or per module [default: error]
    #[arg(long, env = "HOLDPOINT_LOG", value_name = "LEVEL")]
    log: Option<String>,
    /// Use this running server instead of a folder
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A file with an API key or a session token [default: where `login` left it]
    #[arg(long, env = "HOLDPOINT_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Send the token over plain HTTP to another machine
    #[arg(long, requires = "server")]
    plain_http: bool,
}

/// A folder, and the tools that its runs have.
pub(crate) struct Folder {
    pub(crate) data: PathBuf,
    pub(super) registry: Registry,
    options: Options,
    /// What has to be said again to name the same place.
    pub(super) again: String,
}

/// Where runs are.
pub(crate) enum Place {
    Folder(Box<Folder>),
    Server(Client),
}

impl RunPlaceArgs {
    /// Reads the tools file, where there is one, or makes a client. Opens nothing.
    pub(crate) fn resolve(&self, matches: &ArgMatches, output: Output) -> Outcome<Place> {
        if let Some(server) = &self.server {
            return client::connect(&ServerArgs {
                server: server.clone(),
                token_file: self.token_file.clone(),
                plain_http: self.plain_http,
            })
            .map(Place::Server);
        }
        let (registry, settings) = match config::load_found(self.config.as_deref())? {
            Some((path, tools, settings)) => {
                warn(&path, &tools, output);
                (tools.registry, settings)
            }
            None => (Registry::default(), FileSettings::default()),
        };
        let settings = Settings::resolve(None, None, settings, config::leaf(matches));
        logging::start_with(self.log.as_deref().unwrap_or("error"), LogFormat::Text)?;
        let data = self.data.clone().unwrap_or_else(|| PathBuf::from(DATA));
        let mut again = String::new();
        for (option, value) in [("--data", &self.data), ("--config", &self.config)] {
            if let Some(value) = value {
                let value = shell(&value.display().to_string());
                again = format!("{again} {option} {value}");
            }
        }
        Ok(Place::Folder(Box::new(Folder {
            data,
            registry: registry.with_built_in(),
            options: settings.engine(),
            again,
        })))
    }
}

fn warn(path: &Path, tools: &ToolsFile, output: Output) {
    for warning in &tools.warnings {
        let words = format!("warning: {}", config::line(path, warning));
        output.note(&crate::escape::text(&words));
    }
}

/// A word for a shell, quoted where it needs it.
pub(crate) fn shell(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:=".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whoever has the folder in hand.
fn local(registry: &Registry) -> Principal {
    let name = std::env::var("USER").unwrap_or_else(|_| "local".to_owned());
    Principal::local(&name, registry.scopes())
}

/// An engine on a folder, for this process alone.
pub(crate) struct House {
    pub(crate) engine: Engine,
    pub(crate) by: Principal,
    log: Arc<dyn EventLog>,
}

impl House {
    /// Starts an engine on the folder.
    pub(super) async fn open(
        folder: &Folder,
        helper: Option<Arc<dyn Helper>>,
        output: Output,
    ) -> Outcome<Self> {
        let log = hold(folder, output)?;
        let options = Options {
            runs: RunOptions {
                http: HttpTools::Open,
                helper,
                ..RunOptions::default()
            },
            network: folder.options.network.clone(),
            calls_max: folder.options.calls_max,
            ..Options::default()
        };
        let registry = Arc::new(folder.registry.clone());
        let engine = crate::commands::serve::open_engine(&log, registry, options).await?;
        if engine.is_paused() {
            output.note("the folder is paused: nothing that changes anything is sent until `holdpoint resume`");
        }
        let by = local(&folder.registry);
        Ok(Self { engine, by, log })
    }

    /// Lets calls on their way end, and closes the folder.
    pub(crate) async fn close(self, at_most: std::time::Duration) {
        self.engine.shutdown(at_most).await;
        self.log.close().await;
    }
}

/// An engine on a folder that has runs already.
pub(crate) async fn reopen(folder: &Folder, output: Output) -> Outcome<House> {
    must_exist(folder)?;
    House::open(folder, None, output).await
}

/// The log of a folder that has runs already, to read it. No engine is started.
pub(crate) fn open_folder(folder: &Folder, output: Output) -> Outcome<Arc<dyn EventLog>> {
    must_exist(folder)?;
    hold(folder, output)
}

fn must_exist(folder: &Folder) -> Outcome<()> {
    if folder.data.exists() {
        return Ok(());
    }
    Err(
        Failure::usage(format!("there is no folder {}", folder.data.display()))
            .help("name the folder of the runs with --data FOLDER, or a server with --server URL"),
    )
}

fn hold(folder: &Folder, output: Output) -> Outcome<Arc<dyn EventLog>> {
    data::open(&folder.data, output).map_err(|failure| {
        if failure.code == ExitCode::Conflict {
            failure.help("another run or a server holds it: wait for that, name another folder with --data FOLDER, or run through the server with --server URL --token-file FILE")
        } else {
            failure
        }
    })
}

/// The id of a run, checked, so that nothing else gets into a path.
pub(crate) fn run_id(text: &str) -> Outcome<RunId> {
    text.parse().map_err(|error| {
        Failure::usage(format!("{text:?} is not a run: {error}"))
            .help("`holdpoint runs ls` prints the ids")
    })
}

//! `holdpoint serve`: the log, the engine and the server, put together.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args};
use holdpoint_engine::engine::{Engine, HttpTools, OpenError, Options, RunOptions, WebhookOptions};
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::tool::Registry;
use holdpoint_engine::webhook::SigningKey;
use holdpoint_storage::EventLog;
use holdpoint_web::{AppState, WebConfig};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::config::{self, PlaceArgs, ServingArgs, Settings};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::{data, logging};

/// How long actions on their way may take to finish once the server is told to stop. What takes
/// longer is taken up again at the next start.
const STOPPING_TIME: Duration = Duration::from_secs(20);

/// File handles for the log, for calls on their way and for the secrets they need.
const HANDLES_OF_OUR_OWN: usize = 512;

/// How often histograms are condensed, so that they do not grow.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// The arguments of `serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
SIGTERM or Ctrl-C stops it: calls on their way are finished. A second one ends it at once, which
loses nothing that was acknowledged. Changes of the tools file need a restart.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    serving: ServingArgs,
    /// Start on a restored, copied or imported log: no other copy of it runs, and attempts that were on
    /// their way are unknown from now on. For one start, never for a service file
    #[arg(long)]
    confirm_restore: bool,
}

/// Serves until it is told to stop.
pub(crate) fn run(args: &ServeArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let (path, tools, file) = config::load_required(args.place.config.as_deref())?;
    let settings = Settings::resolve(
        args.place.data.as_ref(),
        Some(&args.serving),
        file,
        config::leaf(matches),
    );
    settings.check_listen()?;
    logging::start(&settings)?;
    for warning in &tools.warnings {
        warn!("{}", config::line(&path, warning));
    }
    // The address first: a second server on it must not touch anything.
    let listener = bind(settings.listen.value)?;
    let log = data::open(&settings.data.value, output).map_err(|failure| {
        if failure.code == ExitCode::Conflict {
            failure.help("one server serves a data folder; use that one, or name another folder with --data FOLDER")
        } else {
            failure
        }
    })?;
    let registry = Arc::new(tools.registry);
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("cannot start", &error))?
        .block_on(serve(
            &settings,
            listener,
            log,
            registry,
            args.confirm_restore,
            output,
        ))
}

fn bind(address: SocketAddr) -> Outcome<std::net::TcpListener> {
    let failed = |error: &std::io::Error| {
        let failure = Failure::because(format!("cannot listen on {address}"), error);
        match error.kind() {
            std::io::ErrorKind::AddrInUse => failure
                .help("another program has that port; stop it, or choose another with --listen"),
            _ => failure.help("choose another address with --listen ADDRESS:PORT"),
        }
    };
    let listener = std::net::TcpListener::bind(address).map_err(|error| failed(&error))?;
    listener
        .set_nonblocking(true)
        .map_err(|error| failed(&error))?;
    Ok(listener)
}

async fn serve(
    settings: &Settings,
    listener: std::net::TcpListener,
    log: Arc<dyn EventLog>,
    registry: Arc<Registry>,
    confirm_restore: bool,
    output: Output,
) -> Outcome {
    let failed = |error: std::io::Error| Failure::because("cannot listen", &error);
    let listener = TcpListener::from_std(listener).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let tools = registry.len();
    let url = match &settings.public_url.value {
        Some(url) => url.to_string(),
        None => format!("http://{address}"),
    };
    let options = Options {
        confirm_restore,
        record_tools: true,
        webhooks: WebhookOptions {
            key: signing_key(&settings.data.value),
            public_url: Some(url.clone()),
            notifier: None,
        },
        runs: RunOptions {
            http: if settings.run_http_tools.value {
                HttpTools::Guarded
            } else {
                HttpTools::Off
            },
            resume: true,
            ..RunOptions::default()
        },
        ..settings.engine()
    };
    // Before the engine, which says by some of them how it starts.
    let recorder = metrics()?;
    let engine = open_engine(&log, registry, options).await?;
    let web = WebConfig {
        public_url: settings.public_url.value.clone(),
        proxy_hops: usize::from(settings.proxy_hops.value),
        requests_per_second: settings.requests_per_second.value,
        connections_max: raise_handles().saturating_sub(HANDLES_OF_OUR_OWN),
    };
    let state = AppState::new(engine.clone(), web, Some(recorder));

    // Before anybody is told that it serves: a stop that follows at once is a stop as well.
    let signals = Signals::new();
    info!(%address, url, tools, "serving");
    if output.json {
        output.value(&json!({ "url": url, "address": address.to_string() }))?;
    } else {
        output.line(&format!("listening on {url}"))?;
    }
    if engine.identity().people().is_empty() {
        output.note(FIRST_STEPS);
    }

    let stop = CancellationToken::new();
    tokio::spawn(watch_signals(signals, stop.clone(), output));
    let served = holdpoint_web::serve(listener, state, stop).await;
    engine.shutdown(STOPPING_TIME).await;
    log.close().await;
    served.map_err(|error| Failure::because("the server ended", &error))?;
    info!("stopped");
    Ok(ExitCode::Ok)
}

/// Raises the limit on file handles as far as the system lets us; answers with it.
fn raise_handles() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let reached = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            warn!(%error, "the limit on file handles stays what it is");
            limit.current
        }
    };
    reached.map_or(usize::MAX, |handles| {
        usize::try_from(handles).unwrap_or(usize::MAX)
    })
}

/// The key of webhooks. Without it everything else works, and nobody is told.
fn signing_key(data: &Path) -> Result<SigningKey, String> {
    SigningKey::open(data, &SystemEntropy).map_err(|error| {
        let cause: &dyn std::error::Error = &error;
        error!(error = cause, "no webhooks are sent: {error}");
        error.brief()
    })
}

/// What to do with a new installation.
const FIRST_STEPS: &str = "\
nobody can sign in yet. Stop the server (Ctrl-C), then:
  holdpoint user add you@example.com --name You --role admin --role approver --password-file FILE
  holdpoint key create --name my-service --kind service --owner you@example.com > service.key
and start it again";

/// Starts the engine on a log.
pub(crate) async fn open_engine(
    log: &Arc<dyn EventLog>,
    registry: Arc<Registry>,
    options: Options,
) -> Outcome<Engine> {
    Engine::open(Arc::clone(log), registry, options)
        .await
        .map_err(|error| {
            let failure = Failure::because("the engine cannot start", &error);
            match error {
                OpenError::Unreadable { .. } => failure.help(
                    "nothing was changed; `holdpoint verify` shows the extent of it, and a newer version may understand it",
                ),
                OpenError::Unconfirmed { .. } => failure.with_code(ExitCode::Conflict).help(
                    "make sure that no other copy of it runs, and think of what was sent since it was made; then start it once with --confirm-restore: every attempt that was on its way is unknown then, what waits is sent with the same keys as before, and everybody signs in anew; accounts, keys, endpoints and the pause switch are as they were then. `holdpoint verify`, `doctor` and `export` work without",
                ),
                OpenError::Store(_) => failure.help("look at the data folder and its disk"),
            }
        })
}

/// The recorder behind `/metrics`; one for the process.
fn metrics() -> Outcome<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .install_recorder()
        .map_err(|error| Failure::because("cannot start the metrics", &error))?;
    let upkeep = handle.clone();
    tokio::spawn(async move {
        let mut interval = tokio::time::interval(METRICS_UPKEEP);
        loop {
            interval.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}

/// Stops the server at the first signal; ends the process at the second.
async fn watch_signals(signals: std::io::Result<Signals>, stop: CancellationToken, output: Output) {
    let mut signals = match signals {
        Ok(signals) => signals,
        Err(error) => {
            warn!(%error, "signals cannot be received; stopping needs a kill, which loses nothing");
            return;
        }
    };
    signals.next().await;
    info!("stopping: finishing what is on its way");
    output.note("stopping; once more to end at once");
    stop.cancel();
    signals.next().await;
    warn!("ended at once; what was on its way is taken up at the next start");
    std::process::exit(i32::from(ExitCode::Failure.number()));
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal to stop. A hang-up, by which other servers read their files again, is
    /// answered in the log only.
    async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => warn!("nothing is reloaded: a change of the tools file needs a restart"),
            }
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

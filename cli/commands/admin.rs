//! What `user`, `key`, `webhooks` and `pause` have in common: they work on the data folder, or through a server.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args};
use holdpoint::client::Client;
use holdpoint_engine::identity::{ChangeError, Identity, StoreError};
use holdpoint_storage::EventLog;
use serde_json::Value;

use crate::client::{self, ServerArgs};
use crate::config::{self, PlaceArgs, Settings};
use crate::data;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Whom the history names for what is done with the data folder in hand.
pub(crate) const BY: &str = "cli";

/// Where people and keys are.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where")]
pub(crate) struct AdminArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Do it through this running server, as an administrator (`pause` and `resume`: or an operator)
    #[arg(long, env = "HOLDPOINT_SERVER", value_name = "URL")]
    server: Option<String>,
    /// A file with the session token of somebody who may [default: where `login` left it]
    #[arg(long, env = "HOLDPOINT_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Send the token over plain HTTP to another machine
    #[arg(long, requires = "server")]
    plain_http: bool,
}

/// People and keys, wherever they are.
pub(crate) enum Admin {
    /// In the data folder, which this process holds.
    Folder {
        log: Arc<dyn EventLog>,
        identity: Identity,
        /// Where people would reach a server on this folder.
        url: String,
        /// The folder.
        data: PathBuf,
    },
    /// Behind a server.
    Server(Client),
}

impl Admin {
    /// Opens the folder, or names the server where one was given.
    pub(crate) async fn open(
        args: &AdminArgs,
        matches: &ArgMatches,
        output: Output,
    ) -> Outcome<Self> {
        if let Some(server) = &args.server {
            return client::connect(&ServerArgs {
                server: server.clone(),
                token_file: args.token_file.clone(),
                plain_http: args.plain_http,
            })
            .map(Self::Server);
        }
        let file = config::load_settings(args.place.config.as_deref())?;
        let settings =
            Settings::resolve(args.place.data.as_ref(), None, file, config::leaf(matches));
        let url = match &settings.public_url.value {
            Some(url) => url.to_string(),
            None => format!("http://{}", settings.listen.value),
        };
        let log = data::open(&settings.data.value, output)?;
        let identity = data::identity(&log).await?;
        Ok(Self::Folder {
            log,
            identity,
            url,
            data: settings.data.value,
        })
    }

    /// Opens the folder, where there is one that no server holds, and else reaches the server: the one
    /// that was named, or the one that the settings start. Makes no folder.
    pub(crate) async fn find(
        args: &AdminArgs,
        matches: &ArgMatches,
        output: Output,
    ) -> Outcome<Self> {
        let mut args = args.clone();
        if args.server.is_none() {
            let file = config::load_settings(args.place.config.as_deref())?;
            let leaf = config::leaf(matches);
            let settings = Settings::resolve(args.place.data.as_ref(), None, file, leaf);
            let folder = &settings.data.value;
            let why = if folder.exists() {
                match Self::open(&args, matches, output).await {
                    Err(failure) if failure.code == ExitCode::Conflict => failure,
                    opened => return opened,
                }
            } else {
                Failure::usage(format!("there is no folder {}", folder.display()))
            };
            let server = client::address_here(settings.listen.value);
            args.server = Some(server.clone());
            let opened = Self::open(&args, matches, output).await?;
            return opened.answering(&server, why).await;
        }
        Self::open(&args, matches, output).await
    }

    /// The same, where the server that nobody named answers; else why it had to be one.
    async fn answering(self, server: &str, why: Failure) -> Outcome<Self> {
        if let Self::Server(client) = &self
            && client.get_text("/livez").await.is_err()
        {
            return Err(why.detail(format!("no server answers at {server}")).help(
                "name the server that has the folder with --server URL, or the folder with --data FOLDER",
            ));
        }
        Ok(self)
    }

    /// Lets go of the folder.
    pub(crate) async fn close(self) {
        if let Self::Folder { log, .. } = self {
            log.close().await;
        }
    }
}

/// A refused change as a failure.
pub(crate) fn refused(error: &ChangeError) -> Failure {
    let failure = Failure::failed(error.to_string());
    match error {
        ChangeError::Invalid { .. } => failure.with_code(ExitCode::Usage),
        ChangeError::EmailTaken { .. } => failure
            .with_code(ExitCode::Conflict)
            .help("`holdpoint user list` shows who is there"),
        ChangeError::Disabled { .. } | ChangeError::LastAdministrator { .. } => {
            failure.with_code(ExitCode::NotAllowed)
        }
        ChangeError::NotFound { .. } => {
            failure.help("`holdpoint user list` and `holdpoint key list` show what there is")
        }
        ChangeError::TooMany { .. } => failure,
        ChangeError::Store(error) => stopped(error),
    }
}

/// A failed store as a failure.
fn stopped(error: &StoreError) -> Failure {
    Failure::because("it was not stored, or it is unknown whether it was", error)
        .help("look at the disk, then at `holdpoint user list`, before you do it again")
}

/// A wire type as JSON.
pub(crate) fn wire(value: &impl serde::Serialize) -> Outcome<Value> {
    serde_json::to_value(value).map_err(|error| Failure::because("cannot print the answer", &error))
}

/// The list in an answer of the server.
pub(crate) fn list(body: &Value) -> Outcome<&[Value]> {
    body.get("data")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .ok_or_else(|| Failure::failed("the server answered without a list"))
}

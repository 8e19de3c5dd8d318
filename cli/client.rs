//! Which server the commands talk to, and what its answers mean for whoever typed them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use holdpoint::client::{Client, Error, Retry};

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::{problem, secret};

/// Which server to talk to, and who asks.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServerArgs {
    /// The running server
    #[arg(
        long,
        env = "HOLDPOINT_SERVER",
        value_name = "URL",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// A file with an API key or a session token [default: where `login` left it]
    #[arg(long, env = "HOLDPOINT_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Send the token over plain HTTP to another machine
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// A client that sends the token of the file.
pub(crate) fn connect(args: &ServerArgs) -> Outcome<Client> {
    let client = anonymous(args)?;
    let token = match &args.token_file {
        Some(path) => Some(secret::read(path)?),
        None => match secret::default_token_file().filter(|path| path.is_file()) {
            Some(path) => Some(secret::read(&path)?),
            None => None,
        },
    };
    Ok(match token {
        Some(token) => client.with_token(&token)?,
        None => client,
    })
}

/// Where a server with this address of its settings is reached from this machine.
pub(crate) fn address_here(mut listen: SocketAddr) -> String {
    if listen.ip().is_unspecified() {
        listen.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{listen}")
}

/// A client without a credential.
pub(crate) fn anonymous(args: &ServerArgs) -> Outcome<Client> {
    let client = if args.plain_http {
        Client::over_plain_http(&args.server)?
    } else {
        Client::new(&args.server)?
    };
    // Whoever types a command sees at once what is wrong, and decides what to send again.
    Ok(client.with_retry(Retry::NEVER))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let words = error.to_string();
        match &error {
            Error::NotAUrl(_, source) => Self::because(words, source.as_ref())
                .with_code(ExitCode::Usage)
                .help("write --server http://HOST:PORT or https://HOST"),
            Error::Scheme(_) => {
                Self::usage(words).help("write --server http://HOST:PORT or https://HOST")
            }
            Error::Unencrypted(_) => {
                Self::usage(words).help("use https://, or accept that with --plain-http")
            }
            Error::NotAToken => Self::usage("the token file does not hold a token"),
            Error::BadKey => Self::usage(words),
            Error::Start(source) => Self::because(words, source),
            Error::Unreachable { source, .. } => Self::because(words, source)
                .help("start one with `holdpoint serve`, or name another with --server URL"),
            Error::TimedOut { source, .. } => {
                Self::because(words, source).help("look at its log, or ask again")
            }
            Error::Broken { source, .. } => Self::because(words, source)
                .help("whether the request arrived is unknown; look before sending it again"),
            Error::TooLong { .. } => Self::failed(words),
            Error::NotJson { source, .. } => {
                Self::because(words, source).help("check that --server names a Holdpoint server")
            }
            Error::NoRandomness(source) => Self::because(words, source.as_ref()),
            Error::Problem(refused) => problem::failure(refused),
        }
    }
}

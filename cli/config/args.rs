//! The flags behind the settings.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use holdpoint_engine::target::{AddressRange, RangeFormatError};
use holdpoint_web::PublicUrl;

/// Where the file and the data are.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    /// The tools file, JSON or TOML [default: holdpoint.json]
    #[arg(long, env = "HOLDPOINT_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The data folder [default: ./holdpoint-data]
    #[arg(long, env = "HOLDPOINT_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
}

/// How the server runs.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServingArgs {
    /// The address to listen on [default: 127.0.0.1:7070]
    #[arg(long, env = "HOLDPOINT_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where people reach the server; needed to listen beyond this machine
    #[arg(long, env = "HOLDPOINT_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
    /// How many proxies of your own stand in front [default: 0]
    #[arg(long, env = "HOLDPOINT_PROXY_HOPS", value_name = "N")]
    pub(crate) proxy_hops: Option<u8>,
    /// A range of this machine's or network's addresses that tools may call, such as 10.1.0.0/16; may
    /// be given several times [default: only addresses that the tools file itself names]
    #[arg(
        long,
        env = "HOLDPOINT_ALLOW_RANGE",
        value_name = "RANGE",
        value_delimiter = ',',
        value_parser = range
    )]
    pub(crate) allow_range: Vec<String>,
    /// How many calls of tools may be on their way at once [default: 64]
    #[arg(long, env = "HOLDPOINT_CALLS_MAX", value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) calls_max: Option<u16>,
    /// How many requests one key or person may make in a second; four times as many in a burst
    /// [default: 100]
    #[arg(long, env = "HOLDPOINT_REQUESTS_PER_SECOND", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) requests_per_second: Option<u32>,
    /// Let runs call HTTP by the built-in tools http.get, http.post and so on: public addresses, and those
    /// of --allow-range [default: false]
    #[arg(
        long,
        env = "HOLDPOINT_RUN_HTTP_TOOLS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) run_http_tools: Option<bool>,
    /// What to log: error, warn, info, debug, trace, or per module [default: info]
    #[arg(long, env = "HOLDPOINT_LOG", value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// How to write the log [default: text]
    #[arg(long, env = "HOLDPOINT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// A range of addresses, checked and kept as it was written.
pub(super) fn range(text: &str) -> Result<String, RangeFormatError> {
    text.parse::<AddressRange>().map(|_| text.to_owned())
}

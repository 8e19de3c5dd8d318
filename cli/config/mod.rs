//! Settings from four places: flags before environment before file before default.
//!
//! The file is the tools file; its `server` object holds the settings. Secrets are in none of the
//! four: they are in files that settings name.

mod args;
mod file;
mod snippet;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use holdpoint_engine::engine::Options;
use holdpoint_engine::target::NetworkOptions;
use holdpoint_engine::tool::{ToolsFile, Warning};
use holdpoint_web::{PublicUrl, WebConfig};
use serde_json::{Value, json};

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};

pub(crate) use self::args::{LogFormat, PlaceArgs, ServingArgs};
pub(crate) use self::file::FileSettings;
pub(crate) use self::snippet::{invalid, show};

/// The names that are looked for where no file is named.
const FILES: [&str; 2] = ["holdpoint.json", "holdpoint.toml"];

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The command line.
    Flag,
    /// A variable.
    Environment,
    /// The tools file.
    File,
    /// Nowhere: the program's own.
    Default,
}

impl Source {
    /// Its name, for `check`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    /// The value that counts.
    pub(crate) value: T,
    /// Where it comes from.
    pub(crate) source: Source,
}

/// Everything that the program was told.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The data folder.
    pub(crate) data: Setting<PathBuf>,
    /// The address to listen on.
    pub(crate) listen: Setting<SocketAddr>,
    /// Where people reach the server.
    pub(crate) public_url: Setting<Option<PublicUrl>>,
    /// How many proxies stand in front.
    pub(crate) proxy_hops: Setting<u8>,
    /// Which local addresses tools may call, beyond those that the tools file names.
    pub(crate) allow_ranges: Setting<Vec<String>>,
    /// How many calls may be on their way at once.
    pub(crate) calls_max: Setting<u16>,
    /// How many requests one principal may make in a second.
    pub(crate) requests_per_second: Setting<NonZeroU32>,
    /// Whether runs have the built-in HTTP tools.
    pub(crate) run_http_tools: Setting<bool>,
    /// What to log.
    pub(crate) log: Setting<String>,
    /// How to write the log.
    pub(crate) log_format: Setting<LogFormat>,
}

impl Settings {
    /// Puts the four places together. `matches` are those of the command that has the arguments.
    pub(crate) fn resolve(
        data: Option<&PathBuf>,
        serving: Option<&ServingArgs>,
        file: FileSettings,
        matches: &ArgMatches,
    ) -> Self {
        let given = |id: &str| match matches
            .try_contains_id(id)
            .map(|_| matches.value_source(id))
        {
            Ok(Some(ValueSource::EnvVariable)) => Source::Environment,
            _ => Source::Flag,
        };
        Self {
            data: pick("data", &given, data.cloned(), file.data, || {
                PathBuf::from("holdpoint-data")
            }),
            listen: pick(
                "listen",
                &given,
                serving.and_then(|args| args.listen),
                file.listen,
                || SocketAddr::from(([127, 0, 0, 1], 7070)),
            ),
            public_url: pick(
                "public_url",
                &given,
                serving.and_then(|args| args.public_url.clone()).map(Some),
                file.public_url.map(Some),
                || None,
            ),
            proxy_hops: pick(
                "proxy_hops",
                &given,
                serving.and_then(|args| args.proxy_hops),
                file.proxy_hops,
                || 0,
            ),
            allow_ranges: pick(
                "allow_range",
                &given,
                serving
                    .map(|args| args.allow_range.clone())
                    .filter(|ranges| !ranges.is_empty()),
                file.allow_ranges,
                Vec::new,
            ),
            calls_max: pick(
                "calls_max",
                &given,
                serving.and_then(|args| args.calls_max),
                file.calls_max,
                || 64,
            ),
            requests_per_second: pick(
                "requests_per_second",
                &given,
                serving
                    .and_then(|args| args.requests_per_second)
                    .and_then(NonZeroU32::new),
                file.requests_per_second,
                || WebConfig::default().requests_per_second,
            ),
            run_http_tools: pick(
                "run_http_tools",
                &given,
                serving.and_then(|args| args.run_http_tools),
                file.run_http_tools,
                || false,
            ),
            log: pick(
                "log",
                &given,
                serving.and_then(|args| args.log.clone()),
                file.log,
                || "info".to_owned(),
            ),
            log_format: pick(
                "log_format",
                &given,
                serving.and_then(|args| args.log_format),
                file.log_format,
                || LogFormat::Text,
            ),
        }
    }

    /// The key, value and source of each setting, as `check` prints them.
    pub(crate) fn rows(&self) -> [(&'static str, Value, Source); 10] {
        let url = self.public_url.value.as_ref().map(ToString::to_string);
        [
            (
                "data",
                json!(self.data.value.display().to_string()),
                self.data.source,
            ),
            (
                "listen",
                json!(self.listen.value.to_string()),
                self.listen.source,
            ),
            ("publicUrl", json!(url), self.public_url.source),
            (
                "proxyHops",
                json!(self.proxy_hops.value),
                self.proxy_hops.source,
            ),
            (
                "allowRanges",
                json!(self.allow_ranges.value),
                self.allow_ranges.source,
            ),
            (
                "callsMax",
                json!(self.calls_max.value),
                self.calls_max.source,
            ),
            (
                "requestsPerSecond",
                json!(self.requests_per_second.value),
                self.requests_per_second.source,
            ),
            (
                "runHttpTools",
                json!(self.run_http_tools.value),
                self.run_http_tools.source,
            ),
            ("log", json!(self.log.value), self.log.source),
            (
                "logFormat",
                json!(self.log_format.value.to_string()),
                self.log_format.source,
            ),
        ]
    }

    /// What the engine is told.
    pub(crate) fn engine(&self) -> Options {
        let ranges = &self.allow_ranges.value;
        Options {
            network: NetworkOptions {
                // What is no range was refused where it was read.
                allow: ranges
                    .iter()
                    .filter_map(|range| range.parse().ok())
                    .collect(),
            },
            calls_max: usize::from(self.calls_max.value),
            ..Options::default()
        }
    }

    /// Refuses to listen beyond this machine without knowing the public address: cookies and the
    /// same-origin check depend on it.
    pub(crate) fn check_listen(&self) -> Outcome<()> {
        if self.listen.value.ip().is_loopback() || self.public_url.value.is_some() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} can be reached from other machines, and there is no public URL",
            self.listen.value
        ))
        .help(
            "say how people reach it with --public-url https://HOST, or listen on 127.0.0.1 only",
        ))
    }
}

fn pick<T>(
    id: &str,
    given: &impl Fn(&str) -> Source,
    argument: Option<T>,
    file: Option<T>,
    default: impl FnOnce() -> T,
) -> Setting<T> {
    let (value, source) = match (argument, file) {
        (Some(value), _) => (value, given(id)),
        (None, Some(value)) => (value, Source::File),
        (None, None) => (default(), Source::Default),
    };
    Setting { value, source }
}

/// The matches of the command that was called in the end.
pub(crate) fn leaf(mut matches: &ArgMatches) -> &ArgMatches {
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches
}

/// The tools file that was named, or that lies in the current folder.
pub(crate) fn find(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(path) => Some(path.to_owned()),
        None => FILES
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.is_file()),
    }
}

/// The tools file, which must be there.
pub(crate) fn load_required(named: Option<&Path>) -> Outcome<(PathBuf, ToolsFile, FileSettings)> {
    let path = find(named).ok_or_else(|| {
        Failure::usage(format!("there is no {} here", FILES[0]))
            .help("make one with `holdpoint init`, or name another with --config FILE")
    })?;
    let (tools, settings) = load(&path)?;
    Ok((path, tools, settings))
}

/// The tools file, where there is one.
pub(crate) fn load_found(
    named: Option<&Path>,
) -> Outcome<Option<(PathBuf, ToolsFile, FileSettings)>> {
    find(named)
        .map(|path| load_required(Some(&path)))
        .transpose()
}

/// A warning about the file in one line: where, about what, and what.
pub(crate) fn line(path: &Path, warning: &Warning) -> String {
    let problem = &warning.problem;
    let tool = warning.tool.as_ref();
    let tool = tool.map_or_else(String::new, |name| format!(" tool {name}:"));
    format!(
        "{}:{}:{}:{tool} {}",
        path.display(),
        problem.line,
        problem.column,
        problem.message
    )
}

/// The settings of the file, where there is one.
pub(crate) fn load_settings(named: Option<&Path>) -> Outcome<FileSettings> {
    match find(named) {
        Some(path) => load(&path).map(|(_, settings)| settings),
        None => Ok(FileSettings::default()),
    }
}

fn load(path: &Path) -> Outcome<(ToolsFile, FileSettings)> {
    if !path.exists() {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("there is no file {}", path.display()),
        )
        .help("make one with `holdpoint init`, or name another with --config FILE"));
    }
    let tools = ToolsFile::load(path).map_err(|error| invalid(&error))?;
    let settings = FileSettings::read(&tools, path).map_err(|error| invalid(&error))?;
    Ok((tools, settings))
}

//! The `server` object of the tools file.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use holdpoint_engine::tool::{Problem, ToolsFile, ToolsFileError};
use holdpoint_web::PublicUrl;
use serde_json::Value;

use super::LogFormat;

/// The keys of `server`.
const KEYS: [&str; 10] = [
    "data",
    "listen",
    "publicUrl",
    "proxyHops",
    "allowRanges",
    "callsMax",
    "requestsPerSecond",
    "runHttpTools",
    "log",
    "logFormat",
];

/// What the file says; what it leaves out is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileSettings {
    pub(super) data: Option<PathBuf>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) public_url: Option<PublicUrl>,
    pub(super) proxy_hops: Option<u8>,
    pub(super) allow_ranges: Option<Vec<String>>,
    pub(super) calls_max: Option<u16>,
    pub(super) requests_per_second: Option<NonZeroU32>,
    pub(super) run_http_tools: Option<bool>,
    pub(super) log: Option<String>,
    pub(super) log_format: Option<LogFormat>,
}

impl FileSettings {
    /// Reads `server`, with all its mistakes at once. A relative data folder starts where the file
    /// is, not where the program was called.
    pub(super) fn read(file: &ToolsFile, path: &Path) -> Result<Self, ToolsFileError> {
        let mut settings = Self::default();
        let mut mistakes = Vec::new();
        let members = file.server.as_ref().and_then(Value::as_object);
        for (key, value) in members.into_iter().flatten() {
            if let Err(mistake) = settings.set(key, value, path) {
                mistakes.push(mistake.at(file, key));
            }
        }
        if mistakes.is_empty() {
            Ok(settings)
        } else {
            Err(file.reject(mistakes))
        }
    }

    fn set(&mut self, key: &str, value: &Value, path: &Path) -> Result<(), Mistake> {
        match key {
            "data" => {
                let folder = text(key, value)?;
                let base = path.parent().unwrap_or(Path::new(""));
                self.data = Some(base.join(folder));
            }
            "listen" => {
                self.listen = Some(parsed(key, value, "127.0.0.1:7070")?);
            }
            "publicUrl" => {
                self.public_url = Some(parsed(key, value, "https://approvals.example.com")?);
            }
            "proxyHops" => {
                let hops = value.as_u64().and_then(|hops| u8::try_from(hops).ok());
                self.proxy_hops =
                    Some(hops.ok_or_else(|| Mistake::new(format!("{key} must be 0 to 255")))?);
            }
            "allowRanges" => {
                let ranges = value.as_array().and_then(|ranges| {
                    let range = |range: &Value| super::args::range(range.as_str()?).ok();
                    ranges.iter().map(range).collect()
                });
                self.allow_ranges = Some(ranges.ok_or_else(|| Mistake {
                    message: format!("{key} must be a list of ranges of addresses"),
                    help: Some("write for example [\"10.1.0.0/16\", \"fd00::/8\"]".to_owned()),
                })?);
            }
            "callsMax" => {
                let calls = value.as_u64().and_then(|calls| u16::try_from(calls).ok());
                let calls = calls.filter(|calls| 2 <= *calls);
                self.calls_max =
                    Some(calls.ok_or_else(|| Mistake::new(format!("{key} must be 2 to 65535")))?);
            }
            "requestsPerSecond" => {
                let requests = value.as_u64().filter(|requests| *requests <= 1_000_000);
                let requests = requests.and_then(|requests| u32::try_from(requests).ok());
                self.requests_per_second = Some(
                    requests
                        .and_then(NonZeroU32::new)
                        .ok_or_else(|| Mistake::new(format!("{key} must be 1 to 1000000")))?,
                );
            }
            "runHttpTools" => {
                let allowed = value.as_bool();
                self.run_http_tools = Some(
                    allowed.ok_or_else(|| Mistake::new(format!("{key} must be true or false")))?,
                );
            }
            "log" => self.log = Some(text(key, value)?.to_owned()),
            "logFormat" => {
                let format = LogFormat::from_str(text(key, value)?, false);
                self.log_format =
                    Some(format.map_err(|_| Mistake::new(format!("{key} must be text or json")))?);
            }
            _ => return Err(Mistake::unknown(key)),
        }
        Ok(())
    }
}

/// What is wrong with one key.
struct Mistake {
    message: String,
    help: Option<String>,
}

impl Mistake {
    fn new(message: String) -> Self {
        Self {
            message,
            help: None,
        }
    }

    fn unknown(key: &str) -> Self {
        let near = KEYS
            .into_iter()
            .map(|known| {
                (
                    strsim::damerau_levenshtein(&known.to_lowercase(), &key.to_lowercase()),
                    known,
                )
            })
            .filter(|(distance, _)| *distance <= 3)
            .min();
        Self {
            message: format!("server has no key {key:?}"),
            help: Some(match near {
                Some((_, known)) => format!("did you mean {known:?}?"),
                None => format!("it has {}", KEYS.join(", ")),
            }),
        }
    }

    fn at(self, file: &ToolsFile, key: &str) -> Problem {
        let key = key.replace('~', "~0").replace('/', "~1");
        file.mistake(&format!("/server/{key}"), self.message, self.help)
    }
}

fn text<'v>(key: &str, value: &'v Value) -> Result<&'v str, Mistake> {
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Mistake::new(format!("{key} must be a text")))
}

fn parsed<T>(key: &str, value: &Value, example: &str) -> Result<T, Mistake>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text(key, value)?.parse().map_err(|error: T::Err| Mistake {
        message: format!("{key} is not right: {error}"),
        help: Some(format!("write for example {example:?}")),
    })
}

//! Secrets, read from their files at the moment of sending (invariant I16).

use std::fs::Metadata;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use super::{Answer, Body, CallError, Hidden};
use crate::action::SecretVersion;
use crate::hiding::Hiding;
use crate::seeded::Bug;
use crate::time::Timestamp;
use crate::tool::{Auth, Execute, SecretRef, Tool};

/// What stands in the place of a secret that came back.
const IN_ITS_PLACE: &str = "(hidden)";

/// Where the secrets of tools are read. A test or a simulation can take the place of the files.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// A secret, and the version that it is at; or why there is none, in words that say nothing of it.
    async fn read(&self, secret: &SecretRef) -> Result<(Hidden, SecretVersion), String>;

    /// The version that it is at; none where that cannot be seen.
    async fn version(&self, secret: &SecretRef) -> Option<SecretVersion>;
}

/// The files that the tools file names.
pub(crate) struct SecretFiles;

#[async_trait]
impl SecretSource for SecretFiles {
    async fn read(&self, secret: &SecretRef) -> Result<(Hidden, SecretVersion), String> {
        read(secret).await
    }

    async fn version(&self, secret: &SecretRef) -> Option<SecretVersion> {
        let metadata = tokio::fs::metadata(&secret.path).await.ok()?;
        Some(version_of(secret, &metadata))
    }
}

/// What was sent in one call and must not be kept: some targets repeat the request in an answer.
#[derive(Default)]
pub(super) struct Secrets {
    hiding: Hiding,
    version: Option<SecretVersion>,
}

impl Secrets {
    fn add(&mut self, value: &str) {
        self.hiding.add(&Value::from(value), IN_ITS_PLACE);
    }

    /// Adds what a run was given.
    pub(super) fn add_inputs(&mut self, inputs: &crate::skill::Secrets) {
        for (_, value) in inputs.iter() {
            self.hiding.add(value, IN_ITS_PLACE);
        }
    }

    /// The version that was read; none where nothing was.
    pub(super) fn version(&self) -> Option<&SecretVersion> {
        self.version.as_ref()
    }

    /// What was seen, without the secrets.
    pub(super) fn hide(&self, seen: Result<Answer, CallError>) -> Result<Answer, CallError> {
        if Bug::SecretInError.is_on() {
            return seen;
        }
        let hiding = &self.hiding;
        match seen {
            Ok(answer) => Ok(Answer {
                status: answer.status,
                etag: answer.etag.filter(|etag| hiding.text(etag) == *etag),
                body: match answer.body {
                    Body::Whole(bytes) => Body::Whole(hiding.bytes(bytes)),
                    Body::Broken(reason) => Body::Broken(hiding.text(&reason)),
                },
            }),
            Err(CallError::NotDelivered(message)) => {
                Err(CallError::NotDelivered(hiding.text(&message)))
            }
            Err(CallError::Unknown(message)) => Err(CallError::Unknown(hiding.text(&message))),
        }
    }
}

/// Longer than any credential that a header can carry.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// The header that proves who we are, or why there is none. The text names the file, never what is
/// in it. What was read is added to `secrets`.
pub(super) async fn header(
    auth: &Auth,
    source: &dyn SecretSource,
    secrets: &mut Secrets,
) -> Result<(String, Hidden), String> {
    let (secret, version) = source.read(auth.secret()).await?;
    secrets.version = Some(version);
    secrets.add(secret.expose());
    let authorization = |value: String| ("Authorization".to_owned(), Hidden::new(value));
    Ok(match auth {
        Auth::Bearer(_) => authorization(format!("Bearer {}", secret.expose())),
        Auth::Basic { user, .. } => {
            let pair = STANDARD.encode(format!("{user}:{}", secret.expose()));
            secrets.add(&pair);
            authorization(format!("Basic {pair}"))
        }
        Auth::Header { name, .. } => (name.clone(), secret),
    })
}

/// The version that the secret of a tool's calls is at; none where they need none, or where that
/// cannot be seen, so that none can be sent either.
pub(super) async fn version_for(tool: &Tool, source: &dyn SecretSource) -> Option<SecretVersion> {
    let secret = match &tool.execute {
        Execute::Http(call) => call.auth.as_ref()?.secret(),
        Execute::Local(_) | Execute::Worker | Execute::Request(_) => return None,
    };
    // A file can be on a disk that does not answer.
    let looked = tokio::time::timeout(tool.timeout, source.version(secret));
    looked.await.ok()?
}

/// Made of what the operating system notes about the file, not of what is in it: whoever reads it,
/// however short the secret is, learns nothing of it. Any change of the file makes another one.
fn version_of(secret: &SecretRef, metadata: &Metadata) -> SecretVersion {
    let name = secret.name.clone();
    if !metadata.is_file() {
        // A pipe changes whenever it is written to, which is each time that it is read.
        return SecretVersion {
            name,
            version: "pipe".to_owned(),
            changed_at: None,
        };
    }
    let (file, seconds, nanos) = changed(metadata);
    let millis = seconds
        .saturating_mul(1000)
        .saturating_add(nanos / 1_000_000);
    SecretVersion {
        name,
        version: format!("{file}.{seconds}{nanos:09}"),
        changed_at: Some(Timestamp(millis)),
    }
}

/// The number of the file, and when it or what is known of it last changed: a moment that no program
/// can set, so that a file that was put back does not pass for the one before.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

/// Where files have no number, when it was last written.
#[cfg(not(unix))]
fn changed(metadata: &Metadata) -> (u64, i64, i64) {
    let written = metadata.modified().ok();
    let since = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (0, seconds, i64::from(since.subsec_nanos()))
}

async fn read(secret: &SecretRef) -> Result<(Hidden, SecretVersion), String> {
    let path = secret.path.display();
    let cannot = |why: String| {
        format!(
            "the secret {} cannot be read from {path}: {why}",
            secret.name
        )
    };
    let failed = |error: std::io::Error| cannot(error.to_string());
    let mut file = tokio::fs::File::open(&secret.path).await.map_err(failed)?;
    let metadata = file.metadata().await.map_err(failed)?;
    if SECRET_BYTES_MAX < metadata.len() {
        return Err(cannot(format!(
            "it is longer than {SECRET_BYTES_MAX} bytes"
        )));
    }
    let mut bytes = Vec::new();
    let mut part = (&mut file).take(SECRET_BYTES_MAX);
    part.read_to_end(&mut bytes).await.map_err(failed)?;
    // What was read while it was being written is of no version.
    let version = version_of(secret, &metadata);
    if version_of(secret, &file.metadata().await.map_err(failed)?) != version {
        return Err(cannot("it changed while it was read".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8".to_owned()))?;
    let value = text.trim_end_matches(['\n', '\r']);
    if value.is_empty() {
        return Err(cannot("it is empty".to_owned()));
    }
    Ok((Hidden::new(value.to_owned()), version))
}

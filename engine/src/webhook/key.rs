//! The key file, and the secrets that are made from it.
//!
//! The secret of an endpoint is HMAC-SHA256 of its id and the number of the secret under the key of
//! this installation. So neither the log nor any index holds a secret, not even an encrypted one, and
//! an export or a copy of the log is worth nothing to whoever wants to sign.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::id::EndpointId;
use crate::canon::Digest;
use crate::identity::Secret;
use crate::time::{Entropy, EntropyError};

/// The name of the file in the data folder.
const FILE: &str = "webhook.key";
const PREFIX: &str = "holdpoint-webhook-key-1:";
const FILE_BYTES_MAX: u64 = 1024;

/// The key of this installation. Never shown.
#[derive(Clone)]
pub struct SigningKey(Arc<[u8; 32]>);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

/// Why there is no key. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read or made.
    #[error("the key of webhooks, {}, cannot be read or made", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Others may read it.
    #[error(
        "the key of webhooks, {}, can be read by others (mode {mode:o}); run chmod 600 on it, and \
         rotate the secret of every endpoint if somebody may have read it",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It holds something else.
    #[error(
        "{} does not hold the key of webhooks; restore it from a backup, or move it away: then a \
         new key is made, and every endpoint needs a new secret",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// There are no random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl KeyFileError {
    /// The same without the place of the folder, for whoever asks the server.
    pub fn brief(&self) -> String {
        let why = match self {
            Self::Io { source, .. } => format!("cannot be read or made ({source})"),
            Self::Open { mode, .. } => {
                format!(
                    "can be read by others (mode {mode:o}); run chmod 600 on it, then start the server again"
                )
            }
            Self::Malformed { .. } => {
                "does not hold a key; restore it from a backup, then start the server again"
                    .to_owned()
            }
            Self::Entropy(error) => format!("cannot be made ({error})"),
        };
        format!("{FILE} in the data folder {why}")
    }
}

impl SigningKey {
    /// A new key that is kept nowhere.
    pub fn random(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut key = [0; 32];
        entropy.fill(&mut key)?;
        Ok(Self(Arc::new(key)))
    }

    /// The key in a data folder; made where there is none. The file is readable by its owner only,
    /// and on the device before this returns.
    pub fn open(folder: &Path, entropy: &dyn Entropy) -> Result<Self, KeyFileError> {
        if let Some(key) = Self::look(folder)? {
            return Ok(key);
        }
        let path = folder.join(FILE);
        let key = Self::random(entropy)?;
        write(folder, &path, &key.0).map_err(|source| KeyFileError::Io { path, source })?;
        Ok(key)
    }

    /// The key in a data folder; none where there is none yet. Changes nothing.
    pub fn look(folder: &Path) -> Result<Option<Self>, KeyFileError> {
        let path = folder.join(FILE);
        match File::open(&path) {
            Ok(file) => read(&path, &file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(KeyFileError::Io { path, source }),
        }
    }

    /// A secret of an endpoint.
    pub(super) fn secret(&self, endpoint: EndpointId, number: u32) -> EndpointSecret {
        let mut mac = mac(self.0.as_slice());
        mac.update(b"holdpoint webhook secret\0");
        mac.update(endpoint.as_bytes());
        mac.update(&number.to_be_bytes());
        EndpointSecret(mac.finalize().into_bytes().into())
    }
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mac) => mac,
        Err(error) => unreachable!("HMAC takes keys of any length: {error}"),
    }
}

/// What signs the messages of one endpoint.
pub(super) struct EndpointSecret([u8; 32]);

impl EndpointSecret {
    /// As its receiver gets it, `whsec_…`.
    pub(super) fn text(&self) -> Secret {
        Secret::new(format!("whsec_{}", STANDARD.encode(self.0)))
    }

    /// What is known of it by the log.
    pub(super) fn fingerprint(&self) -> Digest {
        Digest::of(&self.0)
    }

    /// The signature of a message, `v1,…`.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let mut mac = mac(&self.0);
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

fn read(path: &Path, file: &File) -> Result<SigningKey, KeyFileError> {
    let io = |source| KeyFileError::Io {
        path: path.to_owned(),
        source,
    };
    let mode = mode(&file.metadata().map_err(io)?);
    if mode & 0o077 != 0 {
        let path = path.to_owned();
        return Err(KeyFileError::Open { path, mode });
    }
    let mut text = String::new();
    let malformed = || KeyFileError::Malformed {
        path: path.to_owned(),
    };
    file.take(FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(io)?;
    let key = text
        .trim_end()
        .strip_prefix(PREFIX)
        .and_then(|text| STANDARD.decode(text).ok())
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(malformed)?;
    Ok(SigningKey(Arc::new(key)))
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o777
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0
}

/// Written whole under another name first: a stop in the middle leaves no half a key.
fn write(folder: &Path, path: &Path, key: &[u8; 32]) -> io::Result<()> {
    let new = folder.join(format!("{FILE}.new"));
    // What a stop in the middle left may have other permissions.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(&new)?;
    file.write_all(format!("{PREFIX}{}\n", STANDARD.encode(key)).as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SystemEntropy;

    #[test]
    fn i16_the_key_file_is_made_once_for_its_owner_alone_and_refused_where_others_may_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(SigningKey::look(folder.path()).expect("looks").is_none());
        // What a start that was stopped may have left, for others to read.
        fs::write(folder.path().join("webhook.key.new"), "half").expect("written");
        let first = SigningKey::open(folder.path(), &SystemEntropy).expect("made");
        let second = SigningKey::open(folder.path(), &SystemEntropy).expect("read");
        assert_eq!(first.0, second.0);
        let path = folder.path().join(FILE);
        let metadata = fs::metadata(&path).expect("there");
        assert_eq!(mode(&metadata), 0o600);
        let text = fs::read_to_string(&path).expect("text");
        assert!(!format!("{first:?}").contains(text.trim_end().rsplit(':').next().expect("a key")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let wide = fs::Permissions::from_mode(0o640);
            fs::set_permissions(&path, wide).expect("set");
            let refused = SigningKey::open(folder.path(), &SystemEntropy);
            assert!(matches!(
                refused,
                Err(KeyFileError::Open { mode: 0o640, .. })
            ));
            let told = refused.expect_err("refused").brief();
            assert!(told.contains("mode 640") && !told.contains('/'), "{told}");
            let narrow = fs::Permissions::from_mode(0o600);
            fs::set_permissions(&path, narrow).expect("set");
        }
        fs::write(&path, "holdpoint-webhook-key-1:AAAA\n").expect("written");
        let refused = SigningKey::open(folder.path(), &SystemEntropy);
        assert!(matches!(refused, Err(KeyFileError::Malformed { .. })));
    }

    #[test]
    fn secrets_differ_by_endpoint_and_number_and_show_nothing() {
        let key = SigningKey(Arc::new([7; 32]));
        let (a, b) = (
            EndpointId::from_bytes([1; 16]),
            EndpointId::from_bytes([2; 16]),
        );
        let text = |id, number| key.secret(id, number).text().expose().to_owned();
        let all = [text(a, 1), text(a, 2), text(b, 1)];
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
        assert_eq!(all[0], text(a, 1));
        assert!(all[0].starts_with("whsec_"));
    }
}

//! Secrets, read from their files at the moment of sending (invariant I16).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Answer, Body, CallError, Hidden};
use crate::seeded::Bug;
use crate::tool::{Auth, SecretRef};

/// What stands in the place of a secret that came back.
const IN_ITS_PLACE: &str = "(hidden)";

/// Shorter secrets are not looked for: they would be found where they are not meant.
const HIDDEN_BYTES_MIN: usize = 6;

/// What was sent in one call and must not be kept: some targets repeat the request in an answer.
#[derive(Default)]
pub(super) struct Secrets(Vec<Hidden>);

impl Secrets {
    pub(super) fn add(&mut self, value: &str) {
        let escaped = serde_json::Value::from(value).to_string();
        for form in [value, escaped.trim_matches('"')] {
            if HIDDEN_BYTES_MIN <= form.len() && !self.0.iter().any(|known| known.expose() == form)
            {
                self.0.push(Hidden::new(form.to_owned()));
            }
        }
    }

    /// What was seen, without the secrets.
    pub(super) fn hide(&self, seen: Result<Answer, CallError>) -> Result<Answer, CallError> {
        if self.0.is_empty() || Bug::SecretInError.is_on() {
            return seen;
        }
        match seen {
            Ok(answer) => Ok(Answer {
                status: answer.status,
                etag: answer.etag.filter(|etag| !self.are_in(etag.as_bytes())),
                body: match answer.body {
                    Body::Whole(bytes) => Body::Whole(self.without(bytes)),
                    Body::Broken(reason) => Body::Broken(self.without_text(&reason)),
                },
            }),
            Err(CallError::NotDelivered(message)) => {
                Err(CallError::NotDelivered(self.without_text(&message)))
            }
            Err(CallError::Unknown(message)) => {
                Err(CallError::Unknown(self.without_text(&message)))
            }
        }
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|secret| find(bytes, secret).is_some())
    }

    fn without_text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.expose(), IN_ITS_PLACE)
        })
    }

    fn without(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for secret in &self.0 {
            let mut rest = bytes.as_slice();
            let mut clean = Vec::new();
            while let Some(at) = find(rest, secret) {
                clean.extend_from_slice(&rest[..at]);
                clean.extend_from_slice(IN_ITS_PLACE.as_bytes());
                rest = &rest[at + secret.expose().len()..];
            }
            if !clean.is_empty() {
                clean.extend_from_slice(rest);
                bytes = clean;
            }
        }
        bytes
    }
}

fn find(bytes: &[u8], secret: &Hidden) -> Option<usize> {
    let wanted = secret.expose().as_bytes();
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// Longer than any credential that a header can carry.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// The header that proves who we are, or why there is none. The text names the file, never what is
/// in it. What was read is added to `secrets`.
pub(super) async fn header(auth: &Auth, secrets: &mut Secrets) -> Result<(String, Hidden), String> {
    let secret = read(auth.secret()).await?;
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

async fn read(secret: &SecretRef) -> Result<Hidden, String> {
    let path = secret.path.display();
    let cannot = |why: String| {
        format!(
            "the secret {} cannot be read from {path}: {why}",
            secret.name
        )
    };
    let metadata = tokio::fs::metadata(&secret.path)
        .await
        .map_err(|error| cannot(error.to_string()))?;
    if SECRET_BYTES_MAX < metadata.len() {
        return Err(cannot(format!(
            "it is longer than {SECRET_BYTES_MAX} bytes"
        )));
    }
    let bytes = tokio::fs::read(&secret.path)
        .await
        .map_err(|error| cannot(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8".to_owned()))?;
    let value = text.trim_end_matches(['\n', '\r']);
    if value.is_empty() {
        return Err(cannot("it is empty".to_owned()));
    }
    Ok(Hidden::new(value.to_owned()))
}

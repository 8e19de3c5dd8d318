//! Secrets, read from their files at the moment of sending (invariant I16).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Hidden;
use crate::tool::{Auth, SecretRef};

/// Longer than any credential that a header can carry.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// The header that proves who we are, or why there is none. The text names the file, never what is
/// in it.
pub(super) async fn header(auth: &Auth) -> Result<(String, Hidden), String> {
    let secret = read(auth.secret()).await?;
    let authorization = |value: String| ("Authorization".to_owned(), Hidden::new(value));
    Ok(match auth {
        Auth::Bearer(_) => authorization(format!("Bearer {}", secret.expose())),
        Auth::Basic { user, .. } => {
            let pair = STANDARD.encode(format!("{user}:{}", secret.expose()));
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

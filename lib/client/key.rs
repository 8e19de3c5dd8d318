//! Keys for requests that may be sent again.

use holdpoint_engine::time::{Entropy as _, SystemEntropy};

use super::Error;

/// A new key, one that nobody has used. Where a program can keep it, a key made from the intent is
/// better: it is found again after a restart.
pub fn random_key() -> Result<String, Error> {
    let mut bytes = [0; 16];
    SystemEntropy
        .fill(&mut bytes)
        .map_err(|error| Error::NoRandomness(Box::new(error)))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

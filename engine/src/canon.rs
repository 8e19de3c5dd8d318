//! Canonical JSON and digests (invariant I13).

mod exact;
mod number;
mod place;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};
use sha2::{Digest as _, Sha256};

pub use exact::ValueError;
pub use place::{JsonError, Spans, line_and_column, pointer_push};
pub use read::{
    Mended, parse_answer, parse_answer_up_to, parse_lenient_up_to, parse_spanned, parse_strict,
    parse_strict_up_to,
};

/// A SHA-256 digest, written `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest with these 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is written sha256: followed by 64 lowercase hexadecimal digits")]
pub struct DigestFormatError;

impl FromStr for Digest {
    type Err = DigestFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("sha256:").ok_or(DigestFormatError)?;
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(DigestFormatError);
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * index..2 * index + 2], 16)
                .map_err(|_| DigestFormatError)?;
        }
        Ok(Self(bytes))
    }
}

/// A JSON value in canonical form (RFC 8785): the bytes that are stored, shown, hashed and sent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct CanonicalJson(String);

impl CanonicalJson {
    /// The canonical form of a value that was read strictly, or made by this program. For a value that
    /// others made there is [`CanonicalJson::exact`].
    pub fn of(value: &serde_json::Value) -> Self {
        // Canonicalising fails only on what a `Value` cannot hold (NaN, keys that are no strings).
        Self(serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string()))
    }

    /// Reads a text strictly, see [`parse_strict`], and brings it into canonical form.
    pub fn parse_strict(bytes: &[u8]) -> Result<Self, JsonError> {
        parse_strict(bytes).map(|value| Self::of(&value))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value it stands for.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or(serde_json::Value::Null)
    }

    /// The digest of the canonical bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Display for CanonicalJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CanonicalJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

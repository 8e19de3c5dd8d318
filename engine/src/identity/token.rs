//! The shapes of keys and tokens.
//!
//! ```text
//! hp_<12: public part>_<43: 256 random bits><6: checksum>   the key of a service or an agent
//! hps_<43: 256 random bits>                                 a session
//! hpl_<43: 256 random bits>                                 a one-time sign-in link
//! ```
//!
//! All parts are base62. The prefix and the checksum let scanners recognise a leaked key, and let a
//! mistyped one be told from an unknown one without a look-up. Only the SHA-256 of the whole text
//! is ever stored: 256 random bits need no slow hash.

use std::fmt::Write as _;

use super::secret::Secret;
use crate::canon::Digest;
use crate::time::{Entropy, EntropyError, Timestamp};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62^43 is the first power of 62 above 2^256.
const SECRET_CHARS: usize = 43;
/// Enough for 2^64, which is what it is made from, and one more.
const PUBLIC_CHARS: usize = 12;
/// 62^6 is the first power of 62 above 2^32.
const CHECKSUM_CHARS: usize = 6;
const KEY_PREFIX: &str = "hp_";
const SESSION_PREFIX: &str = "hps_";
const LINK_PREFIX: &str = "hpl_";

/// A new key of a service or an agent: its public part, and the whole text.
pub(super) fn new_key(entropy: &dyn Entropy) -> Result<(String, Secret), EntropyError> {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes)?;
    let public = base62(&bytes, PUBLIC_CHARS);
    let body = format!("{KEY_PREFIX}{public}_{}", random_secret(entropy)?);
    let text = format!("{body}{}", checksum(&body));
    Ok((public, Secret::new(text)))
}

/// The public part of a key whose shape and checksum are right.
pub(super) fn public_part(text: &str) -> Option<&str> {
    let (public, rest) = text.strip_prefix(KEY_PREFIX)?.split_once('_')?;
    let right = public.len() == PUBLIC_CHARS
        && rest.len() == SECRET_CHARS + CHECKSUM_CHARS
        && is_base62(public)
        && is_base62(rest);
    if !right {
        return None;
    }
    let (body, found) = text.split_at(text.len() - CHECKSUM_CHARS);
    (checksum(body) == found).then_some(public)
}

/// A new session token.
pub(super) fn new_session(entropy: &dyn Entropy) -> Result<Secret, EntropyError> {
    random_secret(entropy).map(|secret| Secret::new(format!("{SESSION_PREFIX}{secret}")))
}

/// A new token of a sign-in link.
pub(super) fn new_link(entropy: &dyn Entropy) -> Result<Secret, EntropyError> {
    random_secret(entropy).map(|secret| Secret::new(format!("{LINK_PREFIX}{secret}")))
}

/// Whether the text has the shape of a session token.
pub(super) fn is_session(text: &str) -> bool {
    has_shape(text, SESSION_PREFIX)
}

/// Whether the text has the shape of the token of a sign-in link.
pub(super) fn is_link(text: &str) -> bool {
    has_shape(text, LINK_PREFIX)
}

/// What is stored of a key or a token.
pub(super) fn hash(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// A new `UUIDv7` behind a prefix, for example `per_0190…`.
pub(super) fn new_id(
    prefix: &str,
    at: Timestamp,
    entropy: &dyn Entropy,
) -> Result<String, EntropyError> {
    let mut random = [0; 10];
    entropy.fill(&mut random)?;
    let millis = u64::try_from(at.0).unwrap_or(0);
    let id = uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
    let mut text = prefix.to_owned();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", id.simple());
    Ok(text)
}

fn has_shape(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == SECRET_CHARS && is_base62(rest))
}

fn is_base62(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn random_secret(entropy: &dyn Entropy) -> Result<String, EntropyError> {
    let mut bytes = [0; 32];
    entropy.fill(&mut bytes)?;
    Ok(base62(&bytes, SECRET_CHARS))
}

fn checksum(body: &str) -> String {
    base62(&hash(body).0[..4], CHECKSUM_CHARS)
}

/// The number that `bytes` write in base 256, in base 62 with `width` digits; `width` must be
/// enough for it.
fn base62(bytes: &[u8], width: usize) -> String {
    let mut number = bytes.to_vec();
    let mut digits = vec![b'0'; width];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0_u32;
        for byte in &mut number {
            let value = (remainder << 8) | u32::from(*byte);
            // A remainder is below 62, so the quotient of (62 · 256) by 62 fits a byte.
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            remainder = value % 62;
        }
        *digit = ALPHABET[remainder as usize];
    }
    debug_assert!(
        number.iter().all(|byte| *byte == 0),
        "the width is too small"
    );
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SystemEntropy;

    #[test]
    fn base62_writes_the_number_with_leading_zeros() {
        assert_eq!(base62(&[0, 61], 3), "00z");
        assert_eq!(base62(&[0, 62], 3), "010");
        assert_eq!(base62(&[1, 0], 3), "048");
        assert_eq!(base62(&[0xff; 32], SECRET_CHARS).len(), SECRET_CHARS);
    }

    #[test]
    fn a_key_shows_its_public_part_and_a_typo_is_seen() -> Result<(), EntropyError> {
        let (public, key) = new_key(&SystemEntropy)?;
        let text = key.expose();
        assert_eq!(public_part(text), Some(public.as_str()));
        for place in 0..text.len() {
            let old = text.as_bytes()[place];
            let new = if old == b'a' { 'b' } else { 'a' };
            let mut typo = text.to_owned();
            typo.replace_range(place..=place, &new.to_string());
            assert_eq!(public_part(&typo), None, "{typo} for {text}");
        }
        assert_eq!(public_part(&text[..text.len() - 1]), None);
        assert_eq!(public_part(&format!("{text}a")), None);
        Ok(())
    }

    #[test]
    fn the_three_kinds_are_told_apart_by_their_shape() -> Result<(), EntropyError> {
        let (_, key) = new_key(&SystemEntropy)?;
        let session = new_session(&SystemEntropy)?;
        let link = new_link(&SystemEntropy)?;
        assert!(is_session(session.expose()) && is_link(link.expose()));
        for other in [key.expose(), link.expose(), "", "hps_", "hps_é"] {
            assert!(!is_session(other), "{other}");
        }
        assert_eq!(public_part(session.expose()), None);
        Ok(())
    }
}

//! The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).

use holdpoint_engine::canon::{CanonicalJson, Digest};
use holdpoint_engine::engine::RequestKey;
use http::HeaderMap;

use super::params::bad;
use crate::problem::Problem;

const NAME: &str = "idempotency-key";

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// The key of a request, where it has one, with the fingerprint of what it is (`POST /v1/actions`) and
/// of its body. A key is written as a quoted string, or bare as many clients do; both forms name the
/// same key.
pub(crate) fn request_key(
    headers: &HeaderMap,
    what: &str,
    body: &CanonicalJson,
) -> Result<Option<RequestKey>, Problem> {
    let fingerprint = Digest::of(format!("{what}\n{body}").as_bytes());
    Ok(key(headers)?.map(|key| RequestKey { key, fingerprint }))
}

/// The key alone.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(NAME).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(bad(
            "Idempotency-Key",
            "repeated",
            "Idempotency-Key is there more than once",
        ));
    }
    value
        .to_str()
        .ok()
        .and_then(unquote)
        .map(Some)
        .ok_or_else(|| {
            bad(
                "Idempotency-Key",
                "malformed",
                "Idempotency-Key must be 1 to 255 printable ASCII characters, for example a UUID",
            )
        })
}

fn unquote(text: &str) -> Option<String> {
    let text = text.trim();
    let key = match text.strip_prefix('"') {
        Some(rest) => {
            let inner = rest.strip_suffix('"')?;
            let mut key = String::with_capacity(inner.len());
            let mut characters = inner.chars();
            while let Some(character) = characters.next() {
                match character {
                    '"' => return None,
                    // A structured-field string escapes only these two.
                    '\\' => match characters.next()? {
                        escaped @ ('"' | '\\') => key.push(escaped),
                        _ => return None,
                    },
                    other => key.push(other),
                }
            }
            key
        }
        None => text.to_owned(),
    };
    let is_printable = key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    (!key.is_empty() && key.len() <= KEY_BYTES_MAX && is_printable).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_be_quoted_or_bare() {
        assert_eq!(unquote("\"a-1\"").as_deref(), Some("a-1"));
        assert_eq!(unquote("a-1").as_deref(), Some("a-1"));
        assert_eq!(unquote(r#""a\"b\\""#).as_deref(), Some(r#"a"b\"#));
    }

    #[test]
    fn empty_long_unfinished_and_unprintable_keys_are_refused() {
        let long = "k".repeat(256);
        for text in [
            "",
            "\"\"",
            "\"a",
            "\"a\"b\"",
            "\"a\\n\"",
            "a\tb",
            long.as_str(),
        ] {
            assert_eq!(unquote(text), None, "{text:?}");
        }
        assert!(unquote(&"k".repeat(255)).is_some());
    }
}

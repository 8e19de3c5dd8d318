//! Keys that tell that their value is a secret.

use crate::recording::words::identifier;

/// How sure a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// Says nothing of secrets.
    No,
    /// A key of some kind: only long hexadecimal or base64 text is one.
    Perhaps(String),
    /// A credential: any text without spaces that is not short.
    Likely(String),
    /// A password or the like: whatever stands there.
    Surely(String),
}

const SURELY: [&str; 16] = [
    "authorization",
    "cookie",
    "cookies",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "credential",
    "credentials",
];

const LIKELY: [&str; 9] = [
    "token",
    "tokens",
    "auth",
    "bearer",
    "apikey",
    "jwt",
    "pat",
    "accesskey",
    "privatekey",
];

const PERHAPS: [&str; 6] = ["key", "keys", "signature", "sig", "session", "hmac"];

/// Last words with which a key speaks of a secret and holds none.
const HARMLESS_ENDS: [&str; 26] = [
    "name", "id", "ids", "type", "count", "limit", "url", "uri", "file", "path", "max", "min",
    "length", "size", "expires", "expiry", "ttl", "at", "scheme", "endpoint", "policy", "budget",
    "version", "required", "enabled", "prefix",
];

/// Words with which a token is a place in a list.
const PLACES: [&str; 6] = ["page", "next", "continuation", "sync", "cursor", "offset"];

/// What a key says of its value.
pub(super) fn telling(key: &str) -> Telling {
    let words = words(key);
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let pair = |first: &str| {
        words
            .windows(2)
            .any(|pair| pair[0] == first && matches!(pair[1].as_str(), "key" | "keys"))
    };
    let name = || identifier(key.trim_matches(['-', '_']));
    let ends_harmless = words
        .last()
        .is_some_and(|word| HARMLESS_ENDS.contains(&word.as_str()));
    let any = is(&SURELY) || is(&LIKELY) || is(&PERHAPS);
    if any && (ends_harmless || is(&PLACES)) {
        return Telling::Perhaps(name());
    }
    if is(&SURELY) || pair("private") {
        return Telling::Surely(name());
    }
    if is(&LIKELY)
        || [
            "api",
            "access",
            "account",
            "auth",
            "signing",
            "encryption",
            "master",
        ]
        .into_iter()
        .any(pair)
    {
        return Telling::Likely(name());
    }
    if is(&PERHAPS) {
        return Telling::Perhaps(name());
    }
    Telling::No
}

/// Whether a text looks made by a machine: long, of one piece, letters and digits mixed.
pub(super) fn is_long_code(text: &str) -> bool {
    text.len() >= 24
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.".contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether the value of such a key is a secret.
pub(super) fn is_secret(telling: &Telling, text: &str) -> bool {
    match telling {
        Telling::No => false,
        Telling::Perhaps(_) => is_long_code(text),
        Telling::Likely(_) => text.len() >= 8 && !text.contains(char::is_whitespace),
        Telling::Surely(_) => !text.trim().is_empty(),
    }
}

/// Whether a header of this name has a value of several words.
pub(super) fn has_words(key: &str) -> bool {
    words(key)
        .iter()
        .any(|word| matches!(word.as_str(), "authorization" | "cookie" | "cookies"))
}

/// The words of a key in lower case: `clientSecret`, `client-secret` and `CLIENT_SECRET` alike.
fn words(key: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in key.chars() {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

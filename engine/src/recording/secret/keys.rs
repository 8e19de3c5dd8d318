//! Keys that tell that their value is a secret.

use crate::recording::words::{identifier, is_hidden};

/// How sure a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// Says nothing of secrets.
    No,
    /// A key of some kind: only long hexadecimal or base64 text is one.
    Perhaps,
    /// A credential: any text without spaces that is not short.
    Likely,
    /// A password or the like: whatever stands there.
    Surely,
}

/// What a key says of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Telling {
    pub(super) sure: Sure,
    /// What to call the value.
    pub(super) name: String,
}

const SURELY: [&str; 20] = [
    "authorization",
    "cookie",
    "cookies",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "pwd",
    "secret",
    "secrets",
    "mnemonic",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "credential",
    "credentials",
    "secretstring",
];

const LIKELY: [&str; 10] = [
    "token",
    "tokens",
    "auth",
    "bearer",
    "apikey",
    "jwt",
    "pat",
    "pass",
    "accesskey",
    "privatekey",
];

const PERHAPS: [&str; 6] = ["key", "keys", "signature", "sig", "session", "hmac"];

/// Ends of words that were written together, such as `PGPASSWORD` and `clientsecret`.
const SURELY_ENDS: [&str; 6] = [
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "secret",
    "secretkey",
];

const LIKELY_ENDS: [&str; 4] = ["token", "apikey", "accesskey", "privatekey"];

/// Last words with which a key speaks of a secret and holds none.
const HARMLESS_ENDS: [&str; 26] = [
    "name", "id", "ids", "type", "count", "limit", "url", "uri", "file", "path", "max", "min",
    "length", "size", "expires", "expiry", "ttl", "at", "scheme", "endpoint", "policy", "budget",
    "version", "required", "enabled", "prefix",
];

/// Words with which a token is a place in a list.
const PLACES: [&str; 6] = ["page", "next", "continuation", "sync", "cursor", "offset"];

/// Words before `key` that make it a credential.
const KEYS: [&str; 7] = [
    "api",
    "access",
    "account",
    "auth",
    "signing",
    "encryption",
    "master",
];

/// First words of a value that say how the rest is meant.
const SCHEMES: [&str; 9] = [
    "bearer ",
    "basic ",
    "token ",
    "digest ",
    "apikey ",
    "api-key ",
    "negotiate ",
    "jwt ",
    "key ",
];

/// What a key says of its value.
pub(super) fn telling(key: &str) -> Telling {
    let sure = sure(&words(key));
    let name = match sure {
        Sure::No => String::new(),
        Sure::Perhaps | Sure::Likely | Sure::Surely => identifier(key.trim_matches(['-', '_'])),
    };
    Telling { sure, name }
}

fn sure(words: &[String]) -> Sure {
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let ends = |list: &[&str]| {
        words
            .iter()
            .any(|word| list.iter().any(|end| word.ends_with(end)))
    };
    let pair = |first: &str| {
        words
            .windows(2)
            .any(|pair| pair[0] == first && matches!(pair[1].as_str(), "key" | "keys"))
    };
    let surely = is(&SURELY) || ends(&SURELY_ENDS) || pair("private");
    let likely = is(&LIKELY) || ends(&LIKELY_ENDS) || KEYS.into_iter().any(pair);
    let perhaps = is(&PERHAPS);
    let ends_harmless = words
        .last()
        .is_some_and(|word| HARMLESS_ENDS.contains(&word.as_str()));
    if (surely || likely || perhaps) && (ends_harmless || is(&PLACES)) {
        return Sure::Perhaps;
    }
    match (surely, likely, perhaps) {
        (true, _, _) => Sure::Surely,
        (false, true, _) => Sure::Likely,
        (false, false, true) => Sure::Perhaps,
        (false, false, false) => Sure::No,
    }
}

/// Whether a text looks made by a machine: long, of one piece, letters and digits mixed.
fn is_long_code(text: &str) -> bool {
    text.len() >= 24
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.".contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether the value of such a key is a secret.
pub(super) fn is_secret(sure: Sure, text: &str) -> bool {
    let text = &text[scheme(text)..];
    match sure {
        Sure::No => false,
        Sure::Perhaps => is_long_code(text),
        Sure::Likely => {
            let least = if text.bytes().any(|byte| byte.is_ascii_digit()) {
                6
            } else {
                8
            };
            text.len() >= least && !text.contains(char::is_whitespace)
        }
        Sure::Surely => !text.trim().is_empty(),
    }
}

/// How long the first word is, where it only says how the rest is meant: `Bearer …`.
pub(super) fn scheme(text: &str) -> usize {
    let is_first = |scheme: &&&str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let length = SCHEMES
        .iter()
        .find(is_first)
        .map_or(0, |scheme| scheme.len());
    if text[length..].trim().is_empty() {
        0
    } else {
        length
    }
}

/// Whether a header of this name has a value of several words.
pub(super) fn has_words(key: &str) -> bool {
    words(key)
        .iter()
        .any(|word| matches!(word.as_str(), "authorization" | "cookie" | "cookies"))
}

/// Whether people say it before a secret: `the password is …`.
pub(super) fn is_spoken(key: &str) -> bool {
    [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "passwort",
        "kennwort",
    ]
    .iter()
    .any(|word| key.eq_ignore_ascii_case(word))
}

/// Whether it stands for a value that is put there later, such as `$TOKEN` or `<token>`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let within = |start, end| text.starts_with(start) && text.ends_with(end);
    text.strip_prefix('$').is_some_and(is_name)
        || within("${", '}')
        || text.starts_with("$(")
        || within("{", '}')
        || within("<", '>')
        || within("%", '%')
        || text.bytes().all(|byte| byte == b'*')
}

/// The words of a key in lower case: `clientSecret`, `client-secret` and `CLIENT_SECRET` alike.
pub(in crate::recording) fn words(key: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let mut end = |word: &mut String| {
        // `password2` says what `password` says.
        let plain = word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if plain > 0 {
            word.truncate(plain);
        }
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
    };
    for c in key.chars().filter(|c| !is_hidden(*c)) {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            end(&mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    end(&mut word);
    words
}

//! Secrets that follow a telling name: `API_KEY=…`, `"password": "…"`, `--token …`, `the password is …`.

use std::ops::Range;

use super::Span;
use super::keys::{Sure, has_words, is_placeholder, is_secret, is_spoken, scheme, telling};

/// The longest name that is looked at, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The longest secret that people say in a sentence, in bytes.
const SPOKEN_BYTES_MAX: usize = 64;

/// What may stand around a name and its value.
const QUOTES: [char; 3] = ['"', '\'', '\\'];

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Looks at every name of a text once, and goes on after the value of each that is a secret.
pub(super) fn find(text: &str, found: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_name_byte(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_name_byte(bytes[at]) {
            at += 1;
        }
        let name = &text[start..at];
        if name.len() > NAME_BYTES_MAX {
            continue;
        }
        let telling = telling(name);
        if telling.sure == Sure::No {
            continue;
        }
        let value = assigned(text, start..at, telling.sure).or_else(|| spoken(text, name, at));
        if let Some(value) = value {
            at = value.end;
            found.push(Span::new(value, telling.name));
        }
    }
}

/// The secret that is assigned to a name.
fn assigned(text: &str, name: Range<usize>, sure: Sure) -> Option<Range<usize>> {
    let named = &text[name.clone()];
    let after = &text[name.end..];
    let rest = after.trim_start_matches(QUOTES);
    let spaced = rest.trim_start_matches(' ');
    let (rest, is_equal) = if let Some(rest) = spaced.strip_prefix('=') {
        (rest, true)
    } else if let Some(rest) = spaced.strip_prefix(':') {
        (rest, false)
    } else if named.starts_with("--") && spaced.len() < rest.len() {
        (spaced, false)
    } else {
        return None;
    };
    let value = rest.trim_start_matches(' ');
    let slashes = value.len() - value.trim_start_matches('\\').len();
    let quote = value[slashes..]
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''));
    let inner = match quote {
        Some(_) => &value[slashes + 1..],
        None => value,
    };
    let is_digest = inner
        .get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("digest "));
    let inner = &inner[scheme(inner)..];
    // A name in quotes with its value, as in `-H 'Authorization: …'`.
    let around = text[..name.start]
        .chars()
        .next_back()
        .filter(|c| matches!(c, '"' | '\'') && !after.starts_with(QUOTES));
    let end = match (quote, around) {
        (Some(quote), _) => closing(inner, quote, slashes, sure)?,
        (None, Some(around)) if has_words(named) => {
            let slashes =
                text[..name.start - 1].len() - text[..name.start - 1].trim_end_matches('\\').len();
            closing(inner, around, slashes, sure)?
        }
        (None, _) if has_words(named) && is_digest => inner.find('\n').unwrap_or(inner.len()),
        (None, _) if has_words(named) => inner.find(['"', '\'', '\n', '\\']).unwrap_or(inner.len()),
        (None, _) if sure == Sure::Perhaps => inner
            .find(|c: char| !c.is_ascii_alphanumeric() && !"+/_-.".contains(c))
            .map_or(inner.len(), |end| {
                end + (inner[end..].len() - inner[end..].trim_start_matches('=').len()).min(2)
            }),
        (None, _) => inner
            .find(|c: char| c.is_whitespace() || "\"'&;,)}]|<>\\".contains(c))
            .unwrap_or(inner.len()),
    };
    let code = &inner[..end];
    let is_query = text[..name.start].ends_with(['?', '&']);
    // `token: something` and `auth=required` are words of a sentence.
    let is_word = sure == Sure::Likely
        && code.len() < 16
        && quote.is_none()
        && !is_query
        && !code.bytes().any(|byte| byte.is_ascii_digit())
        && (!is_equal || code.bytes().all(|byte| byte.is_ascii_lowercase()));
    // Between single quotes a shell fills in nothing.
    let is_filled = quote != Some('\'') && is_placeholder(code);
    let is_hole = code.starts_with("{{") || is_filled;
    if code.len() < 4 || !is_secret(sure, code) || is_word || is_hole {
        return None;
    }
    let start = text.len() - inner.len();
    Some(start..start + end)
}

/// Where a text in quotes ends: at the same quote behind as many backslashes, or with the line. None
/// where a space comes first and such a secret has none.
fn closing(inner: &str, quote: char, slashes: usize, sure: Sure) -> Option<usize> {
    let mut before = 0;
    for (at, c) in inner.char_indices() {
        if c == '\n' {
            return Some(at);
        }
        if c == quote {
            let is_end = quote == '\'' || before == slashes || (slashes == 0 && before % 2 == 0);
            if is_end || before < slashes {
                return Some(at - before.min(slashes));
            }
        }
        if c.is_whitespace() && sure != Sure::Surely {
            return None;
        }
        before = if c == '\\' { before + 1 } else { 0 };
    }
    Some(inner.len() - before)
}

/// The secret that people name in a sentence: `password hunter2xyz`, `the password is hunter2xyz`.
fn spoken(text: &str, name: &str, at: usize) -> Option<Range<usize>> {
    if !is_spoken(name) {
        return None;
    }
    let rest = text[at..].strip_prefix(' ')?;
    let rest = ["is ", "was ", "ist "]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .unwrap_or(rest);
    let rest = rest.trim_start_matches(['"', '\'', '`']);
    let end = rest
        .find(|c: char| c.is_whitespace() || "\"'`,;()<>".contains(c))
        .unwrap_or(rest.len());
    let code = rest[..end].trim_end_matches(['.', '!', '?', ':']);
    let has = |is: fn(&u8) -> bool| code.bytes().any(|byte| is(&byte));
    let is_code = (6..=SPOKEN_BYTES_MAX).contains(&code.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic);
    let start = text.len() - rest.len();
    is_code.then(|| start..start + code.len())
}

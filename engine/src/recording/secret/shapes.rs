//! Secrets that are known by how they look, wherever they stand in a text.

use std::ops::Range;

use super::keys::{Telling, has_words, is_secret, telling};

/// A secret in a text, and what to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) at: Range<usize>,
    pub(super) name: String,
}

/// Beginnings that services give their tokens, how much follows at least, and what to call them.
const PREFIXES: [(&str, usize, &str); 34] = [
    ("sk-", 16, "api_key"),
    ("sk_live_", 10, "api_key"),
    ("sk_test_", 10, "api_key"),
    ("rk_live_", 10, "api_key"),
    ("ghp_", 20, "github_token"),
    ("gho_", 20, "github_token"),
    ("ghu_", 20, "github_token"),
    ("ghs_", 20, "github_token"),
    ("ghr_", 20, "github_token"),
    ("github_pat_", 20, "github_token"),
    ("glpat-", 16, "gitlab_token"),
    ("xoxa-", 8, "slack_token"),
    ("xoxb-", 8, "slack_token"),
    ("xoxe-", 8, "slack_token"),
    ("xoxp-", 8, "slack_token"),
    ("xoxr-", 8, "slack_token"),
    ("xoxs-", 8, "slack_token"),
    ("xapp-", 8, "slack_token"),
    ("AKIA", 16, "access_key"),
    ("ASIA", 16, "access_key"),
    ("AIza", 30, "api_key"),
    ("ya29.", 16, "token"),
    ("npm_", 30, "npm_token"),
    ("pypi-", 30, "pypi_token"),
    ("hf_", 20, "token"),
    ("dop_v1_", 32, "token"),
    ("shpat_", 32, "token"),
    ("SG.", 30, "api_key"),
    ("whsec_", 16, "webhook_secret"),
    ("hp_", 20, "token"),
    ("hps_", 20, "token"),
    ("hpl_", 20, "token"),
    ("lin_api_", 20, "api_key"),
    ("key-", 32, "api_key"),
];

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.+/=~".contains(&byte)
}

/// How many bytes from `at` on belong to a token.
fn run(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes().get(at..).unwrap_or_default();
    let length = bytes
        .iter()
        .position(|byte| !is_token_byte(*byte))
        .unwrap_or(bytes.len());
    // A full stop ends a sentence, not a token.
    let mut length = length;
    while length > 0 && b"./".contains(&bytes[length - 1]) {
        length -= 1;
    }
    length
}

/// All secrets of a text that its look, or a word before them, gives away.
pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    private_keys(text, &mut found);
    tokens(text, &mut found);
    bearers(text, &mut found);
    user_info(text, &mut found);
    assignments(text, &mut found);
    found.sort_by_key(|found| (found.at.start, usize::MAX - found.at.end));
    // Of two that overlap, the one that starts first counts, and reaches as far as both do.
    let mut apart: Vec<Found> = Vec::new();
    for next in found {
        match apart.last_mut() {
            Some(last) if next.at.start < last.at.end => {
                last.at.end = last.at.end.max(next.at.end);
            }
            Some(_) | None => apart.push(next),
        }
    }
    apart
}

fn private_keys(text: &str, found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(start) = text[from..].find("-----BEGIN ").map(|at| from + at) {
        let head = text[start..].find("PRIVATE KEY-----");
        if head.is_none_or(|head| head > 60) {
            from = start + 11;
            continue;
        }
        let end = text[start..]
            .find("-----END ")
            .and_then(|at| {
                text[start + at..]
                    .find("KEY-----")
                    .map(|end| start + at + end + 8)
            })
            .unwrap_or(text.len());
        found.push(Found {
            at: start..end,
            name: "private_key".to_owned(),
        });
        from = end;
    }
}

fn tokens(text: &str, found: &mut Vec<Found>) {
    for (prefix, more, name) in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let before = text[..at].bytes().next_back();
            if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                continue;
            }
            let length = run(text, at);
            if length >= prefix.len() + more {
                found.push(Found {
                    at: at..at + length,
                    name: name.to_owned(),
                });
            }
        }
    }
    for (at, _) in text.match_indices("eyJ") {
        let length = run(text, at);
        let parts: Vec<&str> = text[at..at + length].split('.').collect();
        if parts.len() >= 2 && parts[..2].iter().all(|part| part.len() >= 8) {
            found.push(Found {
                at: at..at + length,
                name: "token".to_owned(),
            });
        }
    }
}

fn bearers(text: &str, found: &mut Vec<Found>) {
    let lower = text.to_ascii_lowercase();
    for (word, name) in [("bearer ", "token"), ("basic ", "basic_auth")] {
        for (at, _) in lower.match_indices(word) {
            let start = at + word.len();
            let length = run(text, start);
            let code = &text[start..start + length];
            let mixed = code.bytes().any(|byte| !byte.is_ascii_lowercase());
            let whole = at == 0 && start + length == text.len();
            if (whole && length > 0) || (length >= 8 && mixed) {
                found.push(Found {
                    at: start..start + length,
                    name: name.to_owned(),
                });
            }
        }
    }
}

/// `https://user:password@host`, and `-u user:password` of curl.
fn user_info(text: &str, found: &mut Vec<Found>) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let end = text[start..]
            .find(|c: char| c == '/' || c == '?' || c == '#' || c == '"' || c.is_whitespace())
            .map_or(text.len(), |end| start + end);
        let authority = &text[start..end];
        if let Some((info, _)) = authority.rsplit_once('@')
            && let Some((user, password)) = info.split_once(':')
            && !password.is_empty()
        {
            let from = start + user.len() + 1;
            found.push(Found {
                at: from..from + password.len(),
                name: "password".to_owned(),
            });
        }
    }
    if !text.contains("curl") {
        return;
    }
    for flag in [" -u ", " --user "] {
        for (at, _) in text.match_indices(flag) {
            let rest = text[at + flag.len()..].trim_start_matches([' ', '"', '\'']);
            let start = text.len() - rest.len();
            let end = rest
                .find(|c: char| c.is_whitespace() || c == '"' || c == '\'')
                .unwrap_or(rest.len());
            if let Some((user, password)) = rest[..end].split_once(':')
                && !password.is_empty()
            {
                let from = start + user.len() + 1;
                found.push(Found {
                    at: from..from + password.len(),
                    name: "password".to_owned(),
                });
            }
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// `API_KEY=…`, `"password": "…"`, `--token …`: what follows a telling name.
fn assignments(text: &str, found: &mut Vec<Found>) {
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
        if name.len() > 64 {
            continue;
        }
        let telling = telling(name);
        let (Telling::Perhaps(hint) | Telling::Likely(hint) | Telling::Surely(hint)) = &telling
        else {
            continue;
        };
        let Some(value) = assigned(text, at, name) else {
            continue;
        };
        let code = &text[value.clone()];
        let is_word = matches!(telling, Telling::Likely(_))
            && code.len() < 16
            && !code.bytes().any(|byte| byte.is_ascii_digit());
        let is_hole = code.starts_with(['$', '{', '<', '*', '%']);
        if code.len() >= 4 && is_secret(&telling, code) && !is_word && !is_hole {
            found.push(Found {
                at: value,
                name: hint.clone(),
            });
        }
    }
}

/// The value that is assigned to the name that ends at `at`.
fn assigned(text: &str, at: usize, name: &str) -> Option<Range<usize>> {
    let is_flag = name.starts_with("--");
    let quotes = ['"', '\'', '\\'];
    let rest = text[at..].trim_start_matches(quotes);
    let spaced = rest.trim_start_matches(' ');
    let rest = match spaced.strip_prefix(['=', ':']) {
        Some(rest) => rest,
        None if is_flag && spaced.len() < rest.len() => spaced,
        None => return None,
    };
    let value = rest.trim_start_matches(' ');
    let quote = value.trim_start_matches('\\').chars().next();
    let inner = value.trim_start_matches(quotes);
    let quoted = inner.len() < value.len();
    let scheme = ["bearer ", "basic ", "token "].iter().find(|scheme| {
        let start = inner.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let inner = scheme.map_or(inner, |scheme| &inner[scheme.len()..]);
    let end = match quote {
        Some(quote @ ('"' | '\'')) if quoted => inner.find([quote, '\n']),
        Some(_) | None if has_words(name) => inner.find(['"', '\'', '\n', '\\']),
        Some(_) | None => inner.find(|c: char| c.is_whitespace() || "\"'&;,)}]|<>\\".contains(c)),
    };
    let start = text.len() - inner.len();
    let mut end = start + end.unwrap_or(inner.len());
    while end > start && text[start..end].ends_with('\\') {
        end -= 1;
    }
    (start < end).then_some(start..end)
}

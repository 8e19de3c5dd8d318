//! Secrets that are known by how they look, wherever they stand in a text. Each search goes through the
//! text once: what was looked at for one secret is not looked at for the next.

use std::ops::Range;

use super::{Span, apart, assigned, commands};

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

/// Addresses that are a secret themselves: what stands before it, how many more parts of the path.
const ADDRESSES: [(&str, usize); 7] = [
    ("hooks.slack.com/services/", 0),
    ("hooks.slack.com/workflows/", 0),
    ("hooks.slack.com/triggers/", 0),
    ("discord.com/api/webhooks/", 1),
    ("discordapp.com/api/webhooks/", 1),
    ("webhook.office.com/webhookb2/", 0),
    ("api.telegram.org/bot", 0),
];

/// The longest authority of a URL, in bytes.
const AUTHORITY_BYTES_MAX: usize = 512;

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
    text[at..at + length].trim_end_matches(STOPS).len()
}

/// What ends a sentence, not a token.
const STOPS: [char; 2] = ['.', '/'];

/// All secrets of a text that its look, or a word before them, gives away.
pub(super) fn find(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    private_keys(text, &mut found);
    tokens(text, &mut found);
    web_tokens(text, &mut found);
    bearers(text, &mut found);
    addresses(text, &mut found);
    bots(text, &mut found);
    user_info(text, &mut found);
    assigned::find(text, &mut found);
    let password = |at| Span::new(at, "password".to_owned());
    found.extend(commands::in_text(text).into_iter().map(password));
    apart(found)
}

fn private_keys(text: &str, found: &mut Vec<Span>) {
    const KIND_BYTES_MAX: usize = 60;
    let mut from = 0;
    while let Some(start) = text[from..].find("-----BEGIN ").map(|at| from + at) {
        let kind = start + "-----BEGIN ".len();
        let end = text.floor_char_boundary(kind + KIND_BYTES_MAX);
        if !text[kind..end].contains("PRIVATE KEY-----") {
            from = kind;
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
        found.push(Span::new(start..end, "private_key".to_owned()));
        from = end;
    }
}

fn tokens(text: &str, found: &mut Vec<Span>) {
    for (prefix, more, name) in PREFIXES {
        let mut done = 0;
        for (at, _) in text.match_indices(prefix) {
            let before = text[..at].bytes().next_back();
            if at < done || before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                continue;
            }
            let length = run(text, at);
            done = at + length;
            if length >= prefix.len() + more {
                found.push(Span::new(at..done, name.to_owned()));
            }
        }
    }
}

/// Signed tokens: two parts and more of base64, the first of which is an object.
fn web_tokens(text: &str, found: &mut Vec<Span>) {
    const PART_BYTES_MIN: usize = 8;
    if !text.contains("eyJ") {
        return;
    }
    let mut at = 0;
    for piece in text.split(|c: char| !u8::try_from(c).is_ok_and(is_token_byte)) {
        let start = text[at..].find(piece).map_or(at, |gap| at + gap);
        at = start + piece.len();
        let piece = piece.trim_end_matches(STOPS);
        let mut parts = piece.split('.');
        let mut from = start;
        let mut part = parts.next().unwrap_or_default();
        for next in parts {
            let head = part.find("eyJ").map(|head| (head, part.len() - head));
            if let Some((head, length)) = head
                && length >= PART_BYTES_MIN
                && next.len() >= PART_BYTES_MIN
            {
                let at = from + head..start + piece.len();
                found.push(Span::new(at, "token".to_owned()));
                break;
            }
            from += part.len() + 1;
            part = next;
        }
    }
}

/// What follows `Bearer` and `Basic`.
fn bearers(text: &str, found: &mut Vec<Span>) {
    let lower = text.to_ascii_lowercase();
    for (word, name) in [("bearer ", "token"), ("basic ", "basic_auth")] {
        for (at, _) in lower.match_indices(word) {
            let start = at + word.len();
            let rest = &text[start..];
            let end = rest
                .find(|c: char| c.is_whitespace() || "\"'`\\,;(){}[]<>".contains(c))
                .unwrap_or(rest.len());
            let code = rest[..end].trim_end_matches(STOPS);
            let whole = at == 0 && start + code.len() == text.len();
            let is_code = code.len() >= 8 && is_mixed(code);
            if !code.is_empty() && (whole || is_code) {
                found.push(Span::new(start..start + code.len(), name.to_owned()));
            }
        }
    }
}

/// Whether it is no word of a sentence: `Authentication` and `client-side` are.
fn is_mixed(code: &str) -> bool {
    let bytes = code.as_bytes();
    bytes.iter().any(u8::is_ascii_digit)
        || code.ends_with('=')
        || bytes
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Where the part of a URL that starts at `at` ends.
fn end_of(text: &str, at: usize, stops: &str) -> usize {
    text[at..]
        .find(|c: char| c.is_whitespace() || stops.contains(c))
        .map_or(text.len(), |end| at + end)
}

/// Addresses that let everybody who knows them write.
fn addresses(text: &str, found: &mut Vec<Span>) {
    for (before, parts) in ADDRESSES {
        let mut done = 0;
        for (at, _) in text.match_indices(before) {
            if at < done {
                continue;
            }
            let mut start = at + before.len();
            for _ in 0..parts {
                let part = end_of(text, start, "/\"'`?#<>");
                start = part + usize::from(text[part..].starts_with('/'));
            }
            let stops = if before.ends_with('/') {
                "\"'`?#<>)\\"
            } else {
                "/\"'`?#<>)\\"
            };
            done = end_of(text, start, stops);
            let code = text[start..done].trim_end_matches(STOPS);
            if code.len() >= 8 && !code.starts_with(['{', '$', '<']) {
                found.push(Span::new(start..start + code.len(), "webhook".to_owned()));
            }
        }
    }
}

/// Tokens of Telegram's bots: a number, a colon, and a code.
fn bots(text: &str, found: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    for (colon, _) in text.match_indices(':') {
        let number = bytes[..colon]
            .iter()
            .rev()
            .take(12)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(8..=11).contains(&number) {
            continue;
        }
        let code = bytes[colon + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
            .count();
        if (30..=50).contains(&code) {
            let at = colon - number..colon + 1 + code;
            found.push(Span::new(at, "bot_token".to_owned()));
        }
    }
}

/// `https://user:password@host`. Some passwords have what would end an authority.
fn user_info(text: &str, found: &mut Vec<Span>) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let most = text.floor_char_boundary(start + AUTHORITY_BYTES_MAX);
        let within = &text[..most];
        let end = end_of(within, start, "/?#\"");
        let authority = info(&text[start..end]).or_else(|| {
            let user = text[start..end].split_once(':')?;
            let is_port = user.1.bytes().all(|byte| byte.is_ascii_digit());
            let end = end_of(within, start, "\"'`<>");
            (!is_port).then(|| info(&text[start..end])).flatten()
        });
        if let Some(at) = authority {
            let at: Range<usize> = start + at.start..start + at.end;
            found.push(Span::new(at, "password".to_owned()));
        }
    }
}

/// The password of `user:password@…`.
fn info(authority: &str) -> Option<Range<usize>> {
    let (info, _) = authority.rsplit_once('@')?;
    let (user, password) = info.split_once(':')?;
    (!password.is_empty()).then(|| user.len() + 1..info.len())
}

//! Text of a recording, made harmless: one line, nothing invisible, no hole, no markup.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::canon::CanonicalJson;

/// The longest sentence that is taken over, in characters.
pub(super) const SENTENCE_CHARS_MAX: usize = 200;

/// The longest title of a step, in characters.
const TITLE_CHARS_MAX: usize = 60;

/// The longest name of a skill, in characters; it names its file.
const SLUG_CHARS_MAX: usize = 60;

/// Names that some systems keep for devices, whatever their ending.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Characters that are not seen, or that change how their neighbours are seen.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Without anything invisible; lines stay.
pub(super) fn visible(text: &str) -> String {
    text.chars()
        .filter(|c| *c == '\n' || c.is_whitespace() || !is_hidden(*c))
        .collect()
}

/// One line of at most `chars_max` characters that opens no hole and no markup.
pub(super) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for word in visible(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    let mut count = 0;
    while let Some(c) = chars.next() {
        if count == chars_max.saturating_sub(1) && chars.peek().is_some() {
            out.push('…');
            break;
        }
        count += 1;
        let next = chars.peek().copied();
        match c {
            '<' if next.is_some_and(|next| next.is_alphabetic() || "!/?".contains(next)) => {
                out.push('‹');
            }
            '{' if out.ends_with('{') => out.push_str(" {"),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// What a text is about: its first sentence.
pub(super) fn first_sentence(text: &str) -> Option<String> {
    let text = visible(text);
    let first = text
        .lines()
        .find(|line| line.chars().any(char::is_alphanumeric))?;
    sentence(first)
}

/// The one sentence that says what comes: the first one of the last paragraph.
pub(super) fn sentence(text: &str) -> Option<String> {
    let text = visible(text);
    let last = text
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches(['#', '*', '-', '>', '`', ' '])
        })
        .rfind(|line| line.chars().any(char::is_alphanumeric))?;
    let end = last
        .match_indices(['.', '!', '?'])
        .find(|(at, _)| {
            let (before, after) = (&last[..*at], &last[at + 1..]);
            after.starts_with(char::is_whitespace) && before.contains(char::is_alphanumeric)
        })
        .map_or(last.len(), |(at, _)| at + 1);
    let sentence = one_line(&last[..end], SENTENCE_CHARS_MAX);
    let sentence = sentence.trim_end_matches([':', '*', '`', ' ']);
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

/// A title: the start of a sentence, without its full stop.
pub(super) fn title(sentence: &str) -> String {
    let line = one_line(sentence, SENTENCE_CHARS_MAX);
    let line = line.trim_end_matches(['.', '!']);
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS_MAX).collect();
    let cut = cut.rfind(' ').map_or(cut.as_str(), |at| &cut[..at]);
    format!("{}…", cut.trim_end_matches([',', ';', ' ']))
}

/// A name that is a name of a file everywhere and never a path; none where nothing is left of it.
pub(super) fn slug(text: &str) -> Option<String> {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= SLUG_CHARS_MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        return None;
    }
    if RESERVED.contains(&slug) {
        return Some(format!("{slug}-skill"));
    }
    Some(slug.to_owned())
}

/// A name for an input or a bind: a letter or `_`, then letters, digits and `_`.
pub(super) fn identifier(text: &str) -> String {
    let mut name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(40)
        .collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    let name = name.trim_end_matches('_');
    if name.chars().any(|c| c.is_ascii_alphanumeric()) {
        name.to_owned()
    } else {
        "value".to_owned()
    }
}

/// The members in the order of their keys, so that the same recording gives the same file everywhere.
pub(super) fn sorted(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    members
}

/// JSON on one line, the same value, with everything invisible written as `\uXXXX`. What would open
/// a comment in Markdown is written so too: it would hide the steps below it from a reader.
pub(super) fn json_line(value: &Value) -> String {
    // In one order, whatever the order of the recording and of the reader.
    let plain = CanonicalJson::of(value);
    let plain = plain.as_str();
    let mut out = String::with_capacity(plain.len());
    let mut chars = plain.chars().peekable();
    while let Some(c) = chars.next() {
        if is_hidden(c) || (c == '<' && chars.peek() == Some(&'!')) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

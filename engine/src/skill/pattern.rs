//! Regular expressions as JavaScript writes them, run in linear time.
//!
//! The common part of both dialects is taken over, with JavaScript's meaning where they differ (`\d`,
//! `\w` and `\b` are ASCII, `.` stops at every line end). What only one of them knows (look-around,
//! back-references, classes by name) is refused when the file is read.

use regex::{Regex, RegexBuilder};

use crate::limits::{SKILL_PATTERN_BYTES_MAX, SKILL_PATTERN_TEXT_BYTES_MAX};

/// A regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    source: String,
    flags: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.flags == other.flags
    }
}

impl Pattern {
    /// Reads `/RE/` or `/RE/flags`, with nothing behind it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let inner = text
            .strip_prefix('/')
            .and_then(|rest| rest.rsplit_once('/'));
        let Some((source, flags)) = inner else {
            return Err(format!(
                "{text:?} is not a regular expression; write it as /RE/, with the flags i, m, s behind it where needed"
            ));
        };
        if SKILL_PATTERN_TEXT_BYTES_MAX < source.len() {
            return Err(format!(
                "the regular expression is longer than {SKILL_PATTERN_TEXT_BYTES_MAX} bytes"
            ));
        }
        let doubled = flags.char_indices().any(|(at, c)| flags[..at].contains(c));
        if doubled || !flags.chars().all(|flag| "ims".contains(flag)) {
            return Err(format!(
                "{flags:?} are not flags; known are i (any case), m (^ and $ at lines), s (. takes line ends), each once"
            ));
        }
        let has = |flag| flags.contains(flag);
        let translated = translate(source, has('s'))?;
        let regex = RegexBuilder::new(&translated)
            .case_insensitive(has('i'))
            .multi_line(has('m'))
            .crlf(has('m'))
            .dot_matches_new_line(has('s'))
            .size_limit(SKILL_PATTERN_BYTES_MAX)
            .dfa_size_limit(SKILL_PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| explain(&error))?;
        Ok(Self {
            source: source.to_owned(),
            flags: flags.to_owned(),
            regex,
        })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// How many groups it captures.
    pub(super) fn groups(&self) -> usize {
        self.regex.captures_len() - 1
    }

    /// What the first group captures in the first match.
    pub(super) fn first_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(self.regex.captures(text)?.get(1)?.as_str())
    }
}

fn explain(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            "the regular expression takes too much memory; repeat less, or more narrowly".to_owned()
        }
        other => {
            // The last line says what is wrong; those before draw the pattern.
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            let what = last.trim_start_matches("error: ");
            format!("the regular expression cannot be used: {what}")
        }
    }
}

/// The same pattern in the dialect of the engine.
fn translate(source: &str, dot_takes_all: bool) -> Result<String, String> {
    let mut out = String::with_capacity(source.len() + 16);
    let mut chars = source.char_indices().peekable();
    let mut in_class = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let Some((_, escaped)) = chars.next() else {
                    return Err("the regular expression ends with a backslash".to_owned());
                };
                escape(escaped, in_class, &mut out)?;
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if let Some((_, '^')) = chars.peek() {
                    chars.next();
                    out.push('^');
                }
                if let Some((_, ']')) = chars.peek() {
                    return Err("the regular expression has an empty class".to_owned());
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Doubled, these are operators of the engine.
            '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && source[at + 1..].starts_with('-') => out.push_str("\\-"),
            '.' if !in_class && !dot_takes_all => out.push_str("[^\\n\\r\\x{2028}\\x{2029}]"),
            '{' if !in_class && !is_counted(&source[at..]) => out.push_str("\\{"),
            '(' if !in_class && source[at + 1..].starts_with('?') => {
                let known = ["(?:", "(?<"]
                    .iter()
                    .any(|start| source[at..].starts_with(start));
                let around = ["(?<=", "(?<!"]
                    .iter()
                    .any(|start| source[at..].starts_with(start));
                if !known || around {
                    return Err(format!(
                        "the regular expression has {:?}; groups are written (…), (?:…) or (?<name>…), and nothing looks around",
                        source[at..].chars().take(4).collect::<String>()
                    ));
                }
                out.push('(');
            }
            other => out.push(other),
        }
    }
    if in_class {
        return Err("the regular expression has a class that is not closed by ]".to_owned());
    }
    Ok(out)
}

/// Whether a text starts with `{2}`, `{2,}` or `{2,5}`.
fn is_counted(text: &str) -> bool {
    let Some((inner, _)) = text[1..].split_once('}') else {
        return false;
    };
    let (from, to) = inner.split_once(',').unwrap_or((inner, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !from.is_empty() && digits(from) && digits(to)
}

fn escape(c: char, in_class: bool, out: &mut String) -> Result<(), String> {
    let word = match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => "\\s",
        'S' => "\\S",
        'n' => "\\n",
        'r' => "\\r",
        't' => "\\t",
        'f' => "\\f",
        'v' => "\\v",
        'x' => "\\x",
        'u' => "\\u",
        'b' if !in_class => "(?-u:\\b)",
        'B' if !in_class => "(?-u:\\B)",
        'b' => "\\x08",
        '0' => "\\x00",
        // The engine reads these two as word borders.
        '<' | '>' => {
            out.push(c);
            return Ok(());
        }
        c if c.is_ascii_alphanumeric() => {
            return Err(format!(
                "the regular expression has \\{c}, which is not supported"
            ));
        }
        c => {
            if c.is_ascii() {
                out.push('\\');
            }
            out.push(c);
            return Ok(());
        }
    };
    out.push_str(word);
    Ok(())
}

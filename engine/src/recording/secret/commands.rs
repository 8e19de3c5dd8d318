//! Secrets of command lines: what follows the short options of programs.

use std::ops::Range;

use super::keys::is_placeholder;

/// The options of some programs that take a secret.
struct Rule {
    programs: &'static [&'static str],
    /// A word that the command line must have as well.
    with: Option<&'static str>,
    options: &'static [&'static str],
    /// It may stand in the next word.
    is_apart: bool,
    /// It may stand in the same word.
    is_attached: bool,
    /// A user and a colon stand before it.
    is_pair: bool,
}

const RULES: [Rule; 7] = [
    Rule {
        programs: &["curl"],
        with: None,
        options: &["-u", "-U", "--user", "--proxy-user"],
        is_apart: true,
        is_attached: true,
        is_pair: true,
    },
    Rule {
        programs: &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb"],
        with: None,
        options: &["-p"],
        is_apart: false,
        is_attached: true,
        is_pair: false,
    },
    Rule {
        programs: &["sshpass"],
        with: None,
        options: &["-p"],
        is_apart: true,
        is_attached: true,
        is_pair: false,
    },
    Rule {
        programs: &["docker", "podman", "nerdctl", "helm", "oras", "crane"],
        with: Some("login"),
        options: &["-p"],
        is_apart: true,
        is_attached: true,
        is_pair: false,
    },
    Rule {
        programs: &["redis-cli"],
        with: None,
        options: &["-a"],
        is_apart: true,
        is_attached: false,
        is_pair: false,
    },
    Rule {
        programs: &["mongo", "mongosh", "mongodump", "mongorestore"],
        with: None,
        options: &["-p"],
        is_apart: true,
        is_attached: true,
        is_pair: false,
    },
    Rule {
        programs: &["ldapsearch", "ldapmodify", "ldapadd"],
        with: None,
        options: &["-w"],
        is_apart: true,
        is_attached: false,
        is_pair: false,
    },
];

/// The secrets of a command line that was split into words: in which word, and where in it.
pub(super) fn in_words(words: &[&str]) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    let mut rule: Option<&Rule> = None;
    let mut is_with = false;
    for (index, word) in words.iter().enumerate() {
        let program = word.rsplit(['/', '\\', '(', '`', '"', '\'']).next();
        let started = RULES
            .iter()
            .find(|rule| program.is_some_and(|program| rule.programs.contains(&program)));
        if started.is_some() {
            (rule, is_with) = (started, false);
        }
        is_with |= rule.and_then(|rule| rule.with) == Some(*word);
        if let Some(rule) = rule.filter(|rule| rule.with.is_none() || is_with) {
            for option in rule.options {
                if let Some(at) = of_option(rule, option, words, index) {
                    found.push(at);
                    break;
                }
            }
        }
        if word.ends_with([';', '|', '&', '\n']) {
            rule = None;
        }
    }
    found
}

/// The secret that this option takes, where the word at `index` is it.
fn of_option(
    rule: &Rule,
    option: &str,
    words: &[&str],
    index: usize,
) -> Option<(usize, Range<usize>)> {
    let word = words.get(index)?;
    let is_long = option.starts_with("--");
    // `-su` is `-s -u`.
    let is_group = !is_long
        && word.len() <= 6
        && word.starts_with('-')
        && word
            .get(1..)?
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic())
        && word.ends_with(option.trim_start_matches('-'));
    if rule.is_apart && (*word == option || is_group) {
        let next = words.get(index + 1).filter(|next| !next.starts_with('-'))?;
        return value(rule, next, 0).map(|at| (index + 1, at));
    }
    let rest = word.strip_prefix(option).filter(|_| rule.is_attached)?;
    let start = match (is_long, rest.strip_prefix('=')) {
        (true, None) => return None,
        (true | false, Some(rest)) => word.len() - rest.len(),
        (false, None) => option.len(),
    };
    value(rule, word, start).map(|at| (index, at))
}

/// The secret that stands in a word from `start` on.
fn value(rule: &Rule, word: &str, start: usize) -> Option<Range<usize>> {
    let quotes = ['"', '\'', '\\'];
    let end = word.trim_end_matches([';', '|', '&', ')', '`', '\n']);
    let end = end.trim_end_matches(quotes).len();
    let text = word.get(start..end)?.trim_start_matches(quotes);
    let secret = if rule.is_pair {
        text.split_once(':')?.1
    } else {
        text
    };
    (!secret.is_empty() && !is_placeholder(secret)).then(|| end - secret.len()..end)
}

/// The secrets of command lines in a text.
pub(super) fn in_text(text: &str) -> Vec<Range<usize>> {
    let mut programs = RULES.iter().flat_map(|rule| rule.programs);
    if !programs.any(|program| text.contains(program)) {
        return Vec::new();
    }
    // An end of a line is an end of a command.
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let mut starts = Vec::with_capacity(words.len());
    let mut start = 0;
    for word in &words {
        starts.push(start);
        start += word.len();
    }
    let words: Vec<(&str, usize)> = words
        .into_iter()
        .map(|word| word.trim_end_matches([' ', '\t', '\r']))
        .zip(starts)
        .filter(|(word, _)| !word.is_empty())
        .collect();
    let plain: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    in_words(&plain)
        .into_iter()
        .map(|(index, at)| {
            let start = words[index].1;
            quoted(text, start + at.start..start + at.end)
        })
        .collect()
}

/// A value in quotes reaches to its closing quote, over spaces.
fn quoted(text: &str, at: Range<usize>) -> Range<usize> {
    let opening = text[..at.start].chars().next_back();
    let closing = opening
        .filter(|c| matches!(c, '"' | '\''))
        .and_then(|quote| text[at.start..].find([quote, '\n']));
    match closing {
        Some(length) if length > at.len() => at.start..at.start + length,
        Some(_) | None => at,
    }
}

//! Headings: those that start a step, those that end one, and those that only look like one.

use std::ops::Range;

use crate::skill::text::trim;

/// A heading that starts a step.
pub(super) struct Header {
    /// Where its number is, in bytes.
    pub(super) number: Range<usize>,
    /// Where its title is.
    pub(super) title: Range<usize>,
}

/// What a line is.
pub(super) enum Heading {
    /// `### Step N — Title`.
    Step(Header),
    /// Almost one of those.
    Almost,
    /// `## …`, which ends a step.
    Section,
    /// Anything else.
    Other,
}

/// Tells what the line at `range` is; there is no white space around it.
pub(super) fn heading(text: &str, range: Range<usize>) -> Heading {
    let line = &text[range.clone()];
    let depth = line.len() - line.trim_start_matches('#').len();
    if depth == 0 {
        return Heading::Other;
    }
    if let Some((header, exact)) = step(text, range.start + depth..range.end) {
        let exact = exact && depth == 3;
        return match header {
            Some(header) if exact => Heading::Step(header),
            // With other signs, or as a heading of another depth, it may be prose.
            Some(_) => Heading::Almost,
            None if depth == 3 => Heading::Almost,
            None => section(line),
        };
    }
    section(line)
}

fn section(line: &str) -> Heading {
    if is_section(line) {
        Heading::Section
    } else {
        Heading::Other
    }
}

/// Whether a line is a heading of the second level.
pub(in crate::skill) fn is_section(line: &str) -> bool {
    let line = line.trim();
    line.strip_prefix("##")
        .is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// Reads ` Step N — Title`, behind the signs of the heading. None where it does not start with the word
/// and a number; without a header where the rest is not as it should be. The flag says whether the word
/// and the space are as they must be.
fn step(text: &str, range: Range<usize>) -> Option<(Option<Header>, bool)> {
    let behind = trim(text, range.clone());
    let spaced = range.start < behind.start;
    let line = &text[behind.clone()];
    let word = line.get(..4)?;
    if !word.eq_ignore_ascii_case("step") {
        return None;
    }
    let number = trim(text, behind.start + 4..behind.end);
    let apart = behind.start + 4 < number.start;
    let digits = text[number.clone()].bytes().take_while(u8::is_ascii_digit);
    let number = number.start..number.start + digits.count();
    if number.is_empty() || !apart {
        return None;
    }
    let rest = trim(text, number.end..behind.end);
    let dash = ["—", "-"]
        .into_iter()
        .find(|dash| text[rest.clone()].starts_with(dash));
    let title = dash.map(|dash| trim(text, rest.start + dash.len()..rest.end));
    let header = title
        .filter(|title| !title.is_empty())
        .map(|title| Header { number, title });
    Some((header, spaced && word == "Step"))
}

#[cfg(test)]
mod tests {
    use super::{Heading, heading};

    fn kind(line: &str) -> String {
        match heading(line, 0..line.len()) {
            Heading::Step(header) => format!("{}: {}", &line[header.number], &line[header.title]),
            Heading::Almost => "almost".to_owned(),
            Heading::Section => "section".to_owned(),
            Heading::Other => "other".to_owned(),
        }
    }

    #[test]
    fn headings_are_told_apart() {
        for (line, expected) in [
            ("### Step 1 — Read", "1: Read"),
            ("###   Step  12-Read it - now", "12: Read it - now"),
            ("### Step 3 — — x", "3: — x"),
            ("### Step 1: Read", "almost"),
            ("### Step 1 – Read", "almost"),
            ("### Step 1 —", "almost"),
            ("### step 1 — Read", "almost"),
            ("###Step 1 — Read", "almost"),
            ("## Step 1 — Read", "almost"),
            ("#### Step 1 - Read", "almost"),
            ("## Step 1: prose about it", "section"),
            ("### Steps", "other"),
            ("### Step one", "other"),
            ("## Changelog", "section"),
            ("##", "other"),
            ("##x", "other"),
            ("# Title", "other"),
            ("text", "other"),
            ("### Sté", "other"),
        ] {
            assert_eq!(kind(line), expected, "{line}");
        }
    }
}

//! The lines of a text and their places.

use std::ops::Range;

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Where it starts, in bytes; the first one behind a byte order mark.
    pub(super) start: usize,
    /// Where its content ends, before the line end.
    pub(super) end: usize,
    /// Where the next line starts.
    pub(super) next: usize,
}

/// A text and its lines.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) lines: Vec<Line>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        while start < text.len() {
            let rest = &text[start..];
            let (length, next) = match rest.find('\n') {
                Some(at) => (at, start + at + 1),
                None => (rest.len(), text.len()),
            };
            let mut end = start + length;
            if next == end + 1 && text[start..end].ends_with('\r') {
                end -= 1;
            }
            lines.push(Line { start, end, next });
            start = next;
        }
        Self { text, lines }
    }

    /// Where the content of a line is, without white space around it.
    pub(super) fn trimmed(&self, line: usize) -> Range<usize> {
        let Line { start, end, .. } = self.lines[line];
        trim(self.text, start..end)
    }

    /// The content of a line, without white space around it.
    pub(super) fn content(&self, line: usize) -> &'a str {
        &self.text[self.trimmed(line)]
    }

    /// Where a line starts, or the end of the text where there is no such line.
    pub(super) fn start_of(&self, line: usize) -> usize {
        self.lines
            .get(line)
            .map_or(self.text.len(), |line| line.start)
    }
}

/// The same stretch of a text, without white space around it.
pub(super) fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// A stretch that is replaced, and by what.
#[derive(Clone, Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// The part of a text from `from` on, with some stretches replaced. They are in order and do not
/// overlap; those before `from` are left out.
pub(super) fn spliced(text: &str, from: usize, splices: &[Splice]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = from;
    for splice in splices.iter().filter(|splice| from <= splice.range.start) {
        out.push_str(&text[at..splice.range.start]);
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out.push_str(&text[at..]);
    out
}

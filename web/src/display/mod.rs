//! Text as it is shown to people: nothing in it can hide, reorder or pass for something else.
//!
//! Everything that comes from outside goes through here before it reaches a template:
//!
//! * What cannot be seen, or changes the order of what can (controls, zero-width and bidirectional
//!   characters, tags, odd spaces, unassigned and private characters), becomes `⟦U+202E⟧`.
//! * A line break is shown as `↵` and then breaks the line.
//! * A word that mixes alphabets, or is made of letters that pass for Latin ones, is marked and
//!   followed by a note such as `⟦mixes Latin and Cyrillic⟧`.
//! * More than two combining marks on one character are written out.
//! * The brackets `⟦` and `⟧` themselves are written out, so that nobody can imitate a note.
//!
//! The result is injective: two different texts never look the same, and no part is left out.
//! Escaping for HTML is left to the templates; nothing here makes markup.

mod chars;

use askama::Template;
use askama::filters::HtmlSafe;
use holdpoint_engine::seeded::Bug;

use chars::Kind;

/// The most combining marks on one character that are drawn.
const MARKS_MAX: usize = 2;

/// Text that is safe to show. Renders as HTML in a template without a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r#"<bdi class="t" dir="ltr">{% for s in segments %}{% match s.mark %}{% when Mark::Plain %}{{ s.text }}{% when Mark::Escape(name) %}<span class="esc" title="{{ name }}">{{ s.text }}</span>{% when Mark::Break %}<span class="brk" title="line break">{{ s.text }}</span>{% when Mark::Odd %}<span class="odd">{{ s.text }}</span>{% when Mark::Note %}<span class="esc">{{ s.text }}</span>{% when Mark::RightToLeft %}<bdi dir="rtl">{{ s.text }}</bdi>{% endmatch %}{% endfor %}</bdi>"#
)]
pub struct Shown {
    segments: Vec<Segment>,
}

/// The template above escapes every part of it.
impl HtmlSafe for Shown {}

/// A piece of shown text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    text: String,
    mark: Mark,
}

/// Why a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// It does not.
    Plain,
    /// A character written out; what it is.
    Escape(&'static str),
    /// A visible line break, with the break.
    Break,
    /// A word that is not what it seems.
    Odd,
    /// Our note on the word before.
    Note,
    /// A word that is written from right to left; isolated, so that it moves nothing else.
    RightToLeft,
}

/// What becomes of line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Break,
    Escape,
}

impl Shown {
    /// Text that may take several lines.
    pub fn block(text: &str) -> Self {
        Self::new(text, Lines::Break)
    }

    /// Text that must stay on one line: a name, a headline, the label of a button.
    pub fn line(text: &str) -> Self {
        Self::new(text, Lines::Escape)
    }

    /// As bare text, for places that hold no markup, such as a title.
    pub fn plain(&self) -> String {
        self.segments.iter().map(|s| s.text.as_str()).collect()
    }

    /// Whether anything had to be written out or marked.
    pub fn is_marked(&self) -> bool {
        self.segments.iter().any(|s| match s.mark {
            Mark::Plain | Mark::Break => false,
            Mark::Escape(_) | Mark::Odd | Mark::Note | Mark::RightToLeft => true,
        })
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    fn new(text: &str, lines: Lines) -> Self {
        let mut shown = Self::default();
        let mut marks = MarkCap::default();
        let mut rest = text;
        if Bug::TextTruncatedSilently.is_on() {
            rest = text.get(..200).unwrap_or(text);
        }
        while let Some(first) = rest.chars().next() {
            let length = match chars::kind(first) {
                Kind::Letter | Kind::Mark => rest.find(|c| !chars::is_word(c)),
                Kind::Blank => rest.find(|c| c != ' '),
                Kind::LineBreak | Kind::Hidden | Kind::LookAlike | Kind::Visible => {
                    Some(first.len_utf8())
                }
            };
            let (piece, after) = rest.split_at(length.unwrap_or(rest.len()));
            match chars::kind(first) {
                Kind::Letter | Kind::Mark => shown.word(piece, &mut marks),
                Kind::Blank => {
                    // At either end of a line a blank cannot be seen.
                    let at_start = rest.len() == text.len();
                    let at_end = after.is_empty() || after.starts_with('\n');
                    if at_start || at_end {
                        piece.chars().for_each(|blank| shown.escape(blank));
                    } else {
                        shown.push(piece, Mark::Plain);
                    }
                    marks.reset(false);
                }
                Kind::LineBreak if lines == Lines::Break => {
                    shown.push("↵\n", Mark::Break);
                    marks.reset(false);
                }
                Kind::LineBreak | Kind::Hidden => {
                    shown.escape(first);
                    marks.reset(false);
                }
                Kind::LookAlike => {
                    shown.push(piece, Mark::Odd);
                    let name = format!("⟦look-alike U+{:04X}⟧", u32::from(first));
                    shown.push(&name, Mark::Note);
                    marks.reset(false);
                }
                Kind::Visible => {
                    shown.push(piece, Mark::Plain);
                    marks.reset(true);
                }
            }
            rest = after;
        }
        shown
    }

    /// Adds a run of letters, digits and combining marks.
    fn word(&mut self, word: &str, marks: &mut MarkCap) {
        let note = chars::oddity(word);
        let mark = match note {
            Some(_) => Mark::Odd,
            None if word.chars().any(chars::is_right_to_left) => Mark::RightToLeft,
            None => Mark::Plain,
        };
        for c in word.chars() {
            if chars::kind(c) != Kind::Mark {
                marks.reset(true);
                self.push(c.encode_utf8(&mut [0; 4]), mark);
            } else if marks.take() {
                self.push(c.encode_utf8(&mut [0; 4]), mark);
            } else {
                self.escape(c);
            }
        }
        if let Some(note) = note {
            self.push(&format!("⟦{note}⟧"), Mark::Note);
            marks.reset(false);
        }
    }

    /// Adds a character written out.
    fn escape(&mut self, c: char) {
        let text = format!("⟦U+{:04X}⟧", u32::from(c));
        self.push(&text, Mark::Escape(chars::name(c)));
    }

    fn push(&mut self, text: &str, mark: Mark) {
        match self.segments.last_mut() {
            Some(last) if last.mark == mark => last.text.push_str(text),
            Some(_) | None => self.segments.push(Segment {
                text: text.to_owned(),
                mark,
            }),
        }
    }
}

/// How many combining marks the last character has taken.
#[derive(Default)]
struct MarkCap {
    left: usize,
}

impl MarkCap {
    fn reset(&mut self, has_base: bool) {
        self.left = if has_base { MARKS_MAX } else { 0 };
    }

    fn take(&mut self) -> bool {
        let free = 0 < self.left;
        self.left = self.left.saturating_sub(1);
        free
    }
}

#[cfg(test)]
mod tests;

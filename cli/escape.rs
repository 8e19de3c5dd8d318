//! Text from elsewhere, made safe for a terminal (fault V3).
//!
//! A name, a reason or an argument may hold codes that move the cursor, reorder what is read, or
//! cannot be seen. They are shown as escapes, so that what is read is what is there.

use std::fmt::Write as _;

use serde_json::Value;

/// Whether a character would not be seen as itself: control and format characters, separators that
/// break lines, fillers without ink, variation selectors and tags.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}' | '\u{180e}'
            | '\u{600}'..='\u{605}' | '\u{890}'..='\u{891}' | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is drawn over the one before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// As many marks on one letter as writing needs; more of them grow into the lines around.
const MARKS_MAX: usize = 2;

/// One line of text, with everything hidden written as `\n`, `\t` or `\u{…}`.
pub(crate) fn text(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut marks = 0;
    for c in source.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) || marks > MARKS_MAX => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Text of several lines, with everything hidden replaced by as many question marks as it has
/// bytes, so that places in it stay where they are.
pub(crate) fn keep_places(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\r' | '\t') {
            out.extend(std::iter::repeat_n('?', c.len_utf8()));
        } else {
            out.push(c);
        }
    }
    out
}

/// JSON text whose hidden characters are written as `\uXXXX`. The value stays the same.
fn json_text(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut marks = 0;
    for c in source.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        // Line breaks of the layout stay: inside of strings they are escaped already.
        if c != '\n' && (is_hidden(c) || marks > MARKS_MAX) {
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

/// A JSON value on one line, safe to show and still the same value.
pub(crate) fn json(value: &Value) -> String {
    json_text(&value.to_string())
}

/// A JSON value on several lines, safe to show and still the same value.
pub(crate) fn json_pretty(value: &Value) -> String {
    json_text(&format!("{value:#}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn terminal_codes_and_reordering_are_shown_as_escapes() {
        assert_eq!(super::text("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(super::text("pay\u{202e}005"), "pay\\u{202e}005");
        assert_eq!(super::text("one\ntwo\r\t"), "one\\ntwo\\r\\t");
        assert_eq!(super::text("z\u{200b}w\u{9b}31m"), "z\\u{200b}w\\u{9b}31m");
    }

    #[test]
    fn a_written_escape_differs_from_the_character() {
        assert_ne!(super::text("\\u{202e}"), super::text("\u{202e}"));
    }

    #[test]
    fn stacked_marks_end_after_two() {
        assert_eq!(super::text("e\u{301}"), "e\u{301}");
        assert!(super::text("e\u{301}\u{301}\u{301}").ends_with("\\u{301}"));
    }

    #[test]
    fn escaped_json_is_still_the_same_value() {
        let value = json!({ "note": "a\u{202e}b\u{e0041}\u{7f}\u{9b}", "n": [1, 2.5, null] });
        for text in [super::json(&value), super::json_pretty(&value)] {
            assert!(!text.contains('\u{202e}') && !text.contains('\u{9b}'));
            let back: Value = serde_json::from_str(&text).expect("valid JSON");
            assert_eq!(back, value);
        }
    }
}

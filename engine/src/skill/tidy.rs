//! One way of writing what has several, where that is certain to change nothing else.

use std::ops::Range;

use super::edit::EditError;
use super::read::Key;
use super::text::{Source, Splice, spliced};
use super::{Skill, Step};

impl Skill {
    /// The same file with its headers, the lines of its steps and those of its front matter in one
    /// spelling: `### Step N — Title`, `- key: value`, `key: value`, JSON without white space. Prose, the
    /// order of lines and line ends stay as they are. The result is read again and says the same.
    pub fn tidied(&self) -> Result<Self, EditError> {
        let source = Source::new(&self.text);
        let mut splices = Vec::new();
        let mut line = |line: usize, text: String| {
            let line = source.lines[line];
            if source.text[line.start..line.end] != *text {
                splices.push(Splice {
                    range: line.start..line.end,
                    text,
                });
            }
        };
        let text = |range: &Range<usize>| &self.text[range.clone()];
        for (key, value) in &self.layout.front {
            let key_text = text(key);
            let value = match key_text {
                "inputs" | "manifest" => compact(text(value)),
                _other => text(value).to_owned(),
            };
            let number = source
                .lines
                .partition_point(|line| line.start <= key.start)
                .saturating_sub(1);
            line(number, format!("{key_text}: {value}").trim_end().to_owned());
        }
        for (step, place) in self.steps.iter().zip(&self.layout.steps) {
            let Step { number, title, .. } = step;
            line(place.header, format!("### Step {number} — {title}"));
            for field in &place.fields {
                let value = text(&field.value);
                let value = match (field.key, value.split_once(' ')) {
                    (Key::Action, Some((tool, args))) => format!("{tool} {}", compact(args)),
                    _other => value.to_owned(),
                };
                let tidy = format!("- {}: {value}", field.key.name());
                line(field.line, tidy.trim_end().to_owned());
            }
        }
        splices.sort_by_key(|splice| splice.range.start);
        let changed = Self::parse(&spliced(&self.text, 0, &splices));
        let changed = changed.map_err(EditError::Unreadable)?;
        if changed.says_the_same(self) {
            Ok(changed)
        } else {
            Err(EditError::Different)
        }
    }
}

/// A JSON text without the white space between its values.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if !quoted && matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        out.push(c);
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && c == '\\' && !escaped;
    }
    out
}

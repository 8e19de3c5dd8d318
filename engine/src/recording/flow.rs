//! Which values came out of earlier answers, so that a replay takes them from there again.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::agree::agreement;
use super::learn::Learning;
use super::secret::Secrets;
use super::telling::{
    borders, is_code, is_distinctive, is_fair, is_part_of_number, is_plain, says,
};
use crate::canon::CanonicalJson;
use crate::limits::{RECORDED_VALUES_MAX, SEARCHED_TEXT_BYTES_MAX};

/// The longest value that is looked for inside of other text, in bytes; ids are shorter.
pub(super) const INSIDE_BYTES_MAX: usize = 128;

/// The most places of one value that are compared; the newest are.
const SOURCES_MAX: usize = 16;

/// How much of all texts is compared, in candidates: some ten times what long sessions need.
const SEARCHES_MAX: usize = 1 << 24;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The number of the step that answered it, from 1.
    pub(super) step: usize,
    /// Its path in that answer, such as `json.order.id`.
    pub(super) path: String,
    /// The last key of the path.
    pub(super) key: String,
    /// The key above that one; where there is none, the tool: `get_order` answers an `id`.
    pub(super) above: String,
    /// How deep it stands.
    pub(super) depth: usize,
    /// What an assertion says of it: `string`, `number`, `array` or `set`.
    pub(super) kind: &'static str,
}

impl Source {
    /// Whether it is one of a list, of which the next run may have another first.
    fn is_listed(&self) -> bool {
        let is_index = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        self.path.split('.').any(is_index)
    }
}

/// Whether an argument follows an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It does.
    Follows,
    /// It does, and a write that does is asked about.
    AskedOfWrites,
    /// It may be equal by chance: it stays, and is asked about.
    Stays,
}

/// A value of an answer in an argument.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) source: Source,
    pub(super) how: How,
}

/// The values of all answers so far.
#[derive(Default)]
pub(super) struct Flow {
    values: HashMap<String, Vec<Source>>,
    /// Words of answers that no path leads to, with their steps.
    loose: HashMap<String, usize>,
    /// What values that may stand inside of text look like.
    prints: HashSet<u64>,
    /// How they begin.
    starts: HashSet<[u8; 2]>,
    /// The values that some argument follows; every other place of them counts as well.
    followed: HashSet<String>,
    seen: usize,
    searched: usize,
    /// Not all values were looked at.
    pub(super) is_full: bool,
}

impl Flow {
    /// One that knows which values are followed.
    pub(super) fn of(followed: HashSet<String>) -> Self {
        Self {
            followed,
            ..Self::default()
        }
    }

    /// Takes the values of the answer that a step got of this tool.
    pub(super) fn learn(&mut self, step: usize, tool: &str, answer: &Value, secrets: &Secrets) {
        let room = RECORDED_VALUES_MAX - self.seen;
        let learned = Learning::of(step, tool, answer, secrets, room);
        self.seen += learned.looked_at;
        self.is_full |= self.seen == RECORDED_VALUES_MAX;
        for (value, mut sources) in learned.found {
            let text = value.strip_prefix('"').unwrap_or(&value);
            if let Some(start) = start(text.as_bytes())
                && text.len() <= INSIDE_BYTES_MAX
            {
                self.starts.insert(start);
                self.prints.insert(print(text));
            }
            let known = self.values.entry(value).or_default();
            sources.append(known);
            sources.truncate(SOURCES_MAX);
            *known = sources;
        }
        for text in learned.loose {
            self.learn_text(step, &text);
        }
    }

    /// Takes the words of an answer of which no path leads to a value.
    pub(super) fn learn_text(&mut self, step: usize, text: &str) {
        for word in text.split(|c: char| !is_code_char(c)) {
            if !is_code(word) {
                continue;
            }
            if self.seen == RECORDED_VALUES_MAX {
                self.is_full = true;
                return;
            }
            self.seen += 1;
            self.loose.insert(word.to_owned(), step);
        }
    }

    /// Where an argument came from, if it came from an answer.
    pub(super) fn value(&self, value: &Value, key: &str) -> Option<Found> {
        let id = id(value)?;
        let (source, agrees) = self.best(&id, key)?;
        let is_plain = matches!(value, Value::String(text) if is_plain(text));
        let how = if !says(value, agrees) {
            if !self.followed.contains(&id) {
                return None;
            }
            How::Stays
        } else if !agrees && is_plain {
            How::Stays
        } else if !agrees || (is_plain && source.is_listed()) {
            How::AskedOfWrites
        } else {
            How::Follows
        };
        Some(Found {
            source: source.clone(),
            how,
        })
    }

    /// Where a number came from that the argument has as text, or text that it has as a number.
    pub(super) fn other_type(&self, value: &Value, key: &str) -> Option<&Source> {
        let (id, other) = match value {
            Value::String(text) => {
                let number: serde_json::Number = serde_json::from_str(text).ok()?;
                (text.clone(), Value::Number(number))
            }
            Value::Number(number) => {
                let text = number.to_string();
                (id_of_text(&text), Value::Number(number.clone()))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        let (source, agrees) = self.best(&id, key)?;
        (says(&other, agrees) || self.followed.contains(&id)).then_some(source)
    }

    /// The step of whose answer this is a word, where no path leads to it.
    pub(super) fn loose(&self, text: &str) -> Option<usize> {
        if self.loose.is_empty() || text.len() > SEARCHED_TEXT_BYTES_MAX {
            return None;
        }
        text.split(|c: char| !is_code_char(c))
            .find_map(|word| self.loose.get(word).copied())
    }

    /// Of equal values the ones whose keys agree count first, then the newest, then the plainest.
    fn best(&self, id: &str, key: &str) -> Option<(&Source, bool)> {
        self.values
            .get(id)?
            .iter()
            .map(|source| (source, agreement(key, source)))
            .max_by_key(|(source, agreement)| {
                let depth = usize::MAX - source.depth;
                (*agreement > 0, source.step, *agreement, depth)
            })
            .map(|(source, agreement)| (source, agreement > 0))
    }

    /// The parts of a longer text that came from answers, apart from one another and in order.
    pub(super) fn parts(&mut self, text: &str) -> Vec<(Range<usize>, Found)> {
        let mut parts = Vec::new();
        if text.len() > SEARCHED_TEXT_BYTES_MAX || self.values.is_empty() {
            return parts;
        }
        let borders = borders(text);
        let mut from = 0;
        for (index, &start) in borders.iter().enumerate() {
            let begins = self::start(&text.as_bytes()[start..]);
            if start < from || !begins.is_some_and(|begins| self.starts.contains(&begins)) {
                continue;
            }
            let near = borders[index..].partition_point(|end| end - start <= INSIDE_BYTES_MAX);
            self.searched += near;
            if self.searched > SEARCHES_MAX {
                self.is_full = true;
                return parts;
            }
            let ends = &borders[index..index + near];
            let found = ends.iter().rev().find_map(|&end| {
                let found = self.part(text, start..end)?;
                Some((start..end, found))
            });
            if let Some(found) = found {
                from = found.0.end;
                parts.push(found);
            }
        }
        parts
    }

    fn part(&self, text: &str, at: Range<usize>) -> Option<Found> {
        let part = text.get(at.clone())?;
        if !self.prints.contains(&print(part)) || is_part_of_number(text, &at) {
            return None;
        }
        // What stands before it may name it: `/orders/…`, `order=…`.
        let before = text[..at.start].trim_end_matches(|c: char| !c.is_alphanumeric());
        let named = before
            .rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .map_or(before, |end| &before[end..]);
        let named = named.trim_start_matches(|c: char| !c.is_alphanumeric());
        let (id, (source, _)) = [id_of_text(part), part.to_owned()]
            .into_iter()
            .find_map(|id| self.best(&id, named).map(|best| (id.clone(), best)))
            .filter(|(_, (source, _))| matches!(source.kind, "string" | "number"))?;
        let is_followed = || self.followed.contains(&id);
        let how = if is_distinctive(part) {
            How::Follows
        } else if is_fair(part) && is_followed() {
            How::AskedOfWrites
        } else if part.len() >= 2 && is_followed() {
            How::Stays
        } else {
            return None;
        };
        Some(Found {
            source: source.clone(),
            how,
        })
    }
}

/// The first bytes of a text that is long enough to be looked for.
fn start(bytes: &[u8]) -> Option<[u8; 2]> {
    bytes.first_chunk().copied()
}

/// Enough of a text to tell it from most others: its length, its first and its last bytes.
fn print(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (first, last) = (bytes.iter().take(3), bytes.iter().rev().take(3));
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    first
        .chain(last)
        .fold(length, |print, byte| print << 8 | u64::from(*byte))
}

/// What equal values share; none for values that are never compared.
pub(super) fn id(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) => None,
        Value::String(text) => Some(id_of_text(text)),
        Value::Array(items) if items.is_empty() => None,
        Value::Object(members) if members.is_empty() => None,
        Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Some(CanonicalJson::of(value).as_str().to_owned())
        }
    }
}

pub(super) fn id_of_text(text: &str) -> String {
    format!("\"{text}")
}

fn is_code_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

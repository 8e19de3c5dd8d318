//! JSON values that stand in a line of the file.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::canon::{Spans, parse_spanned, pointer_push};
use crate::limits::JSON_BYTES_MAX;
use crate::skill::error::Report;
use crate::skill::text::Source;
use crate::tool::did_you_mean;

/// A JSON text in the file, with the places of its values.
pub(super) struct Json<'a> {
    pub(super) value: Value,
    spans: Spans,
    at: &'a Range<usize>,
}

impl<'a> Json<'a> {
    /// Reads the JSON at `at`; reports where that cannot be done.
    pub(super) fn read(
        source: &Source<'_>,
        at: &'a Range<usize>,
        what: &str,
        report: &mut Report,
    ) -> Option<Self> {
        match parse_spanned(source.text[at.clone()].as_bytes(), JSON_BYTES_MAX) {
            Ok((value, spans)) => Some(Self { value, spans, at }),
            Err(error) => {
                report.wrong_json(at, what, &error);
                None
            }
        }
    }

    /// Where the value at a pointer is in the file.
    pub(super) fn place(&self, pointer: &str) -> Range<usize> {
        self.shift(self.spans.value(pointer))
    }

    /// Where the key of a member is in the file.
    pub(super) fn key_place(&self, pointer: &str) -> Range<usize> {
        self.shift(self.spans.key(pointer))
    }

    fn shift(&self, span: Option<Range<usize>>) -> Range<usize> {
        span.map_or_else(
            || self.at.clone(),
            |span| self.at.start + span.start..self.at.start + span.end,
        )
    }

    /// Reports the members of the object at `pointer` that are none of `known`.
    pub(super) fn only(
        &self,
        members: &Map<String, Value>,
        pointer: &str,
        known: &[&str],
        report: &mut Report,
    ) {
        for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
            let help = did_you_mean(key, known.iter().copied())
                .unwrap_or_else(|| format!("known are {}", known.join(", ")));
            let place = self.key_place(&pointer_push(pointer, key));
            report.wrong(place, format!("unknown key {key:?}"), Some(help));
        }
    }
}

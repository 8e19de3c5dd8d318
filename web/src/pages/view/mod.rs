//! What templates are given: plain values, made from the engine's types by pure functions.
//!
//! Text from outside arrives in templates only as [`crate::display::Shown`].

mod again_words;
mod args;
mod class;
mod diff;
mod event_words;
mod rejected;
mod run_words;
mod status;
mod when;

pub(super) use args::{Row, join, rows, text_row, value_row};
pub(super) use class::ClassView;
pub(super) use diff::{DiffRow, diff_rows};
pub(super) use event_words::{Words, describe};
pub(super) use rejected::Rejected;
pub(super) use run_words::{describe_run, flag_words, interrupted, run_status, step_outcome};
pub(super) use status::{StatusView, kind_badge};
pub(super) use when::{When, span_words};

use std::collections::BTreeMap;

/// Names of people and keys by id, as far as the page knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Remembers a name.
    pub(super) fn add(&mut self, id: &str, name: &str) {
        self.0.insert(id.to_owned(), name.to_owned());
    }

    /// The name with the id behind it, or the id alone.
    pub(super) fn of(&self, id: &str) -> String {
        self.0
            .get(id)
            .map_or_else(|| id.to_owned(), |name| format!("{name} ({id})"))
    }

    /// The name alone, or the id where there is none.
    pub(super) fn short(&self, id: &str) -> String {
        self.0.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }
}

//! What moved, field by field, with signs and words.

use holdpoint_engine::action::Difference;

use super::args::value_row;
use crate::display::Shown;

/// One field that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) struct DiffRow {
    /// A JSON Pointer; `the whole state` for the empty one.
    pub(in crate::pages) path: Shown,
    /// `+`, `−` or `≠`, repeated in words.
    pub(in crate::pages) sign: &'static str,
    /// `added`, `gone` or `changed`.
    pub(in crate::pages) word: &'static str,
    /// What the approval saw.
    pub(in crate::pages) approved: Option<Shown>,
    /// What is there now.
    pub(in crate::pages) now: Option<Shown>,
}

pub(in crate::pages) fn diff_rows(differences: &[Difference]) -> Vec<DiffRow> {
    differences
        .iter()
        .map(|difference| {
            let (sign, word) = match (&difference.approved, &difference.now) {
                (None, Some(_)) => ("+", "added"),
                (Some(_), None) => ("−", "gone"),
                (Some(_), Some(_)) | (None, None) => ("≠", "changed"),
            };
            let shown = |json| value_row("", json).value;
            DiffRow {
                path: path_words(&difference.path),
                sign,
                word,
                approved: difference.approved.as_ref().map(shown),
                now: difference.now.as_ref().map(shown),
            }
        })
        .collect()
}

fn path_words(path: &str) -> Shown {
    if path.is_empty() {
        Shown::line("the whole state")
    } else {
        Shown::line(path)
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_engine::canon::CanonicalJson;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_moved_field_is_said_with_a_sign_and_a_word() {
        let value = |n: i32| Some(CanonicalJson::of(&json!(n)));
        let difference = |approved, now| Difference {
            path: "/left".into(),
            approved,
            now,
        };
        let rows = diff_rows(&[
            difference(value(1), value(2)),
            difference(None, value(2)),
            difference(value(1), None),
        ]);
        let said: Vec<_> = rows.iter().map(|row| (row.sign, row.word)).collect();
        assert_eq!(said, [("≠", "changed"), ("+", "added"), ("−", "gone")]);
    }
}

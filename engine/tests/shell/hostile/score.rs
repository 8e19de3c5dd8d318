//! The score of a run, in one line.

use std::fmt;

/// What came of all rows together.
#[derive(Default)]
pub(super) struct Score {
    pub(super) manners: usize,
    pub(super) rows: usize,
    pub(super) sent: u32,
    pub(super) performed: u32,
    /// Effects beyond the first of a key that are the engine's doing.
    pub(super) duplicates: u32,
    pub(super) by_machine: usize,
    pub(super) by_person: usize,
    /// "Done" that was not.
    pub(super) wrong_done: usize,
    /// "Not done" that was.
    pub(super) wrong_not_done: usize,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "hostile target: {} manners, {} rows: sent {}, performed {}, duplicates {}, doubts solved \
             by machine {}, by a person {}, wrong claims {} (done) and {} (not done)",
            self.manners,
            self.rows,
            self.sent,
            self.performed,
            self.duplicates,
            self.by_machine,
            self.by_person,
            self.wrong_done,
            self.wrong_not_done,
        )
    }
}

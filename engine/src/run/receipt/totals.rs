//! How many steps of a run ended how.

use serde::Serialize;

use super::StepReceipt;

pub(super) const PASSED: &str = "passed";
pub(super) const WITHHELD: &str = "withheld";
pub(super) const SKIPPED: &str = "skipped";
pub(super) const WAITING: &str = "waiting";
pub(super) const RUNNING: &str = "running";
pub(super) const PENDING: &str = "pending";

/// How many steps ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// All steps.
    pub steps: u32,
    /// As they should.
    pub passed: u32,
    /// In any other way that was made, or tried.
    pub failed: u32,
    /// Not allowed.
    pub withheld: u32,
    /// Left out, or never reached.
    pub skipped: u32,
    /// Under way, or still to come.
    pub waiting: u32,
}

impl Totals {
    pub(super) fn of(steps: &[StepReceipt]) -> Self {
        let mut totals = Self::default();
        for step in steps {
            totals.steps += 1;
            let count = match step.outcome {
                PASSED => &mut totals.passed,
                WITHHELD => &mut totals.withheld,
                SKIPPED => &mut totals.skipped,
                WAITING | RUNNING | PENDING => &mut totals.waiting,
                _ => &mut totals.failed, // Every other outcome is one in which it was not done.
            };
            *count += 1;
        }
        totals
    }
}

//! Earlier tries of a step to which people said no: whoever decides now must not overlook it.

use holdpoint_engine::run::Made;
use holdpoint_engine::time::Timestamp;

use super::When;
use crate::display::Shown;

/// The most that a page shows; the receipt of the run has all of them.
const SHOWN_MAX: usize = 5;

/// A try to which somebody said no.
pub(in crate::pages) struct RejectedTry {
    pub(in crate::pages) number: u32,
    /// By whom and why.
    pub(in crate::pages) why: Shown,
    pub(in crate::pages) at: When,
    pub(in crate::pages) action: Option<String>,
}

/// All of them, the last ones shown.
pub(in crate::pages) struct Rejected {
    /// Which try it is now.
    pub(in crate::pages) now: u32,
    pub(in crate::pages) left_out: usize,
    pub(in crate::pages) tries: Vec<RejectedTry>,
}

impl Rejected {
    /// Those before a try of a step; none where nobody said no.
    pub(in crate::pages) fn before(made: &Made, tried: u32, now: Timestamp) -> Option<Self> {
        let mut all = made.rejections();
        all.retain(|rejection| rejection.number < tried);
        let left_out = all.len().saturating_sub(SHOWN_MAX);
        let tries = all.into_iter().skip(left_out).map(|rejection| RejectedTry {
            number: rejection.number,
            why: Shown::block(&rejection.why),
            at: When::new(rejection.at, now),
            action: rejection.action.map(|action| action.to_string()),
        });
        let tries: Vec<_> = tries.collect();
        (!tries.is_empty()).then_some(Self {
            now: tried,
            left_out,
            tries,
        })
    }
}

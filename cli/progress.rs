//! A bar for work that takes a while, on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// A bar that may not be there: without a terminal nothing moves.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// A bar over `end` records; `doing` is one word.
    pub(crate) fn over(end: u64, doing: &'static str, output: Output) -> Self {
        if !output.can_animate() {
            return Self(None);
        }
        let bar = ProgressBar::new(end).with_message(doing);
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} ({eta} left)")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Some(bar))
    }

    /// How far it is.
    pub(crate) fn at(&self, position: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(position);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

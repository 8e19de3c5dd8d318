//! A mark that is never read: these scenarios end before the log is opened again.

use std::io;

use super::keys::Tip;

pub(crate) struct Mark;

impl Mark {
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "as the real one"
    )]
    pub(super) fn set(&mut self, _tip: &Tip) -> io::Result<()> {
        Ok(())
    }

    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "as the real one"
    )]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

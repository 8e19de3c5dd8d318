//! The end of taking and sending (invariant I22).

use tokio_util::sync::CancellationToken;

use crate::sync::OnceLock;

/// Set once and never taken back.
#[derive(Default)]
pub(crate) struct Stop {
    failure: OnceLock<String>,
    stopping: CancellationToken,
}

/// Nothing is taken and nothing is sent any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Stopped(String);

impl Stop {
    /// Takes and sends nothing new from now on; what is on its way may still be recorded.
    pub(crate) fn begin(&self) {
        self.stopping.cancel();
    }

    /// The store failed: nothing is written any more either. The first reason is kept.
    pub(crate) fn fail(&self, reason: &str) {
        if self.failure.set(reason.to_owned()).is_ok() {
            tracing::error!("the engine takes and sends nothing any more: {reason}");
        }
        self.stopping.cancel();
    }

    /// Fails where nothing may be written.
    pub(crate) fn may_write(&self) -> Result<(), Stopped> {
        match self.failure.get() {
            Some(reason) => Err(Stopped(reason.clone())),
            None => Ok(()),
        }
    }

    /// Fails where nothing new may be taken or sent.
    pub(crate) fn may_begin(&self) -> Result<(), Stopped> {
        self.may_write()?;
        if self.stopping.is_cancelled() {
            return Err(Stopped("the engine is stopping".to_owned()));
        }
        Ok(())
    }

    /// Waits until nothing new is taken.
    pub(crate) async fn reached(&self) {
        self.stopping.cancelled().await;
    }
}

//! What runs of code need of the engine.

use super::Engine;
use crate::run::code::Workflows;
use crate::run::{Origin, Run, RunError};

impl Engine {
    /// How many runs are in memory: those that are carried on or looked at. Runs that are over are not
    /// among them.
    pub fn runs_in_memory(&self) -> usize {
        self.inner.runs.in_memory()
    }

    /// Fails where this program does not have the code of the run.
    pub(super) fn has_code_of(&self, run: &Run) -> Result<(), RunError> {
        let Origin::Code { name, version } = &run.start.origin else {
            return Ok(());
        };
        let resolved = self.workflows().resolve(name, Some(*version));
        resolved.map(|_| ()).map_err(|why| {
            let message = format!(
                "{} was begun by version {version} of {name}, which this program does not have: {why}",
                run.id
            );
            RunError::Invalid(message)
        })
    }

    /// Random bytes.
    pub(crate) fn random_bytes<const N: usize>(&self) -> Result<[u8; N], RunError> {
        let mut bytes = [0; N];
        let filled = self.inner.entropy.fill(&mut bytes);
        filled.map_err(|error| RunError::Unavailable(Box::new(error)))?;
        Ok(bytes)
    }

    /// The functions that runs can carry out.
    pub fn workflows(&self) -> &Workflows {
        &self.inner.workflows
    }
}

//! From a wish to the first event of a run.

use std::sync::Arc;

use serde_json::Value;

use super::driver::{Driver, Halt};
use super::event::{End, Flags, Origin, Start};
use super::id::RunId;
use super::refusal::RunRefusal;
use super::shell::RunError;
use super::{code, skill_file};
use crate::canon::CanonicalJson;
use crate::engine::Engine;
use crate::identity::Principal;
use crate::skill::Secrets;

/// A run that somebody wants to start.
pub struct NewRun {
    /// What it carries out.
    pub what: NewOrigin,
    /// What it is allowed.
    pub flags: Flags,
    /// Whether nobody sits before it: a server goes on with it by itself after a restart.
    pub unattended: bool,
    /// The schedule that starts it.
    pub schedule: Option<String>,
    /// The run that it goes on from.
    pub continues: Option<RunId>,
}

/// What a run carries out.
pub enum NewOrigin {
    /// A skill file.
    Skill {
        /// All of it.
        text: String,
        /// Its inputs, the secret ones too. Secrets are stored nowhere.
        inputs: Inputs,
        /// Whether tools may differ from those that the file was made with.
        ignore_manifest: bool,
    },
    /// A function of the program.
    Code {
        /// Its name.
        name: String,
        /// Its version; the newest where none is said.
        version: Option<u32>,
        /// What it is given.
        input: Value,
    },
}

/// The inputs of a skill file, by name.
pub enum Inputs {
    /// As texts, read by the type that the file declares.
    Texts(Vec<(String, String)>),
    /// As JSON values.
    Values(Vec<(String, Value)>),
}

/// What a run starts with, and its secrets apart.
pub(crate) fn prepare(
    engine: &Engine,
    by: &Principal,
    new: NewRun,
) -> Result<(Start, Arc<Secrets>), RunError> {
    let prepared = match new.what {
        NewOrigin::Skill {
            text,
            inputs,
            ignore_manifest,
        } => skill_file::prepare(engine, &text, &inputs, ignore_manifest)?,
        NewOrigin::Code {
            name,
            version,
            input,
        } => code::prepare(engine, name, version, &input)?,
    };
    let start = Start {
        origin: prepared.origin,
        input: prepared.input,
        secrets: prepared.names,
        flags: new.flags,
        caller: by.caller(),
        unattended: new.unattended,
        schedule: new.schedule,
        continues: new.continues,
    };
    Ok((start, Arc::new(prepared.secrets)))
}

/// Carries a run on until it is over or the engine stops.
pub(crate) async fn drive(driver: &Driver) {
    let run = driver.run();
    if run.ended.is_some() {
        return;
    }
    driver.open();
    let went = match &run.start.origin {
        Origin::Skill { text, .. } => Box::pin(skill_file::carry_on(driver, text)).await,
        Origin::Code { name, version } => code::carry_on(driver, name, *version).await,
    };
    if let Err(halt) = settle(driver, went).await {
        tracing::error!(
            run.id = %driver.live.id,
            error = &halt as &dyn std::error::Error,
            "{} cannot go on; resume it when the cause is gone",
            driver.live.id
        );
    }
}

/// Ends a run that ended in another way than by its own last step.
async fn settle(driver: &Driver, went: Result<(), Halt>) -> Result<(), Halt> {
    let null = CanonicalJson::of(&Value::Null);
    match went {
        Ok(()) | Err(Halt::Stopping) => Ok(()),
        Err(halt) if halt.ends_run() || driver.run().cancel.is_some() => {
            driver.call_off_steps().await?;
            let (end, message) = match halt {
                Halt::Run(error) if driver.run().cancel.is_none() => {
                    (End::Failed, Some(error.to_string()))
                }
                Halt::Run(_) | Halt::Stopping | Halt::CalledOff => {
                    (End::Cancelled, driver.run().cancel.clone().flatten())
                }
            };
            driver.end(end, null, message).await
        }
        Err(Halt::Run(RunError::Refused(RunRefusal::Diverged(difference)))) => {
            let message =
                format!("the code is not the one that the history was made by: {difference}");
            driver.end(End::Diverged, null, Some(message)).await
        }
        Err(other) => Err(other),
    }
}

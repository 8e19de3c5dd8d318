//! Workflows in code: an async function, registered by name and version, that is made durable by its
//! history.
//!
//! After a restart the function is called again from its beginning. Whatever it asks its [`Context`] for
//! is answered from the history as far as that goes, and made from there on. So it must ask for
//! everything that can differ between two calls: the time, random numbers, answers of tools, events. If
//! it asks for something else than the history has at that place, the run stops and says what differs.
//!
//! A run of code goes as far as the safety classes of its tools allow: the replay gate, which is there for
//! recordings, does not ask it for flags.

mod context;
mod error;
mod workflows;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

pub use context::{CallOptions, Context};
pub use error::{CallError, Failure};
pub use workflows::Workflows;

use self::context::Shared;
use super::decide::{Command, Divergence, RunRefusal};
use super::driver::{Driver, Halt};
use super::event::{End, Note, Origin};
use super::id::{RunId, StepPath};
use super::shell::RunError;
use super::skill_file::Prepared;
use super::start::{NewOrigin, NewRun};
use crate::canon::CanonicalJson;
use crate::engine::Engine;
use crate::limits::JSON_BYTES_MAX;
use crate::skill::Secrets;

/// What a run of code starts with.
pub(super) fn prepare(
    engine: &Engine,
    name: String,
    version: Option<u32>,
    input: &Value,
) -> Result<Prepared, RunError> {
    let workflows = engine.workflows();
    let version = workflows
        .resolve(&name, version)
        .map_err(RunError::Invalid)?;
    let input = CanonicalJson::of(input);
    if JSON_BYTES_MAX < input.as_str().len() {
        return Err(RunError::Invalid(format!(
            "the input is longer than {JSON_BYTES_MAX} bytes"
        )));
    }
    Ok(Prepared {
        origin: Origin::Code { name, version },
        input,
        names: BTreeSet::new(),
        secrets: Secrets::default(),
    })
}

/// Calls the function, and ends the run as it ends.
pub(super) async fn carry_on(driver: &Driver, name: &str, version: u32) -> Result<(), Halt> {
    let engine = driver.engine()?;
    let Some(function) = engine.workflows().get(name, version) else {
        tracing::error!(
            run.id = %driver.live.id,
            "{} was begun by version {version} of {name}, which this program does not have; it goes on \
             when a program that has it starts",
            driver.live.id
        );
        return Ok(());
    };
    drop(engine);
    let (shared, mut halted) = Shared::new(driver.clone());
    let shared = Arc::new(shared);
    let context = Context::root(Arc::clone(&shared));
    let input = driver.run().start.input.value();
    let running = AssertUnwindSafe(async move { function(context, input).await }).catch_unwind();
    let stop = Arc::clone(&driver.runs.store.stop);
    let mut changed = driver.live.watch();
    let ended = tokio::select! {
        biased;
        halt = halted.recv() => return Err(halt.unwrap_or(Halt::Stopping)),
        () = stop.reached() => return Err(Halt::Stopping),
        ended = running => ended,
        Ok(_) = changed.wait_for(|run| run.cancel.is_some() && !has_open_step(run)) => {
            return Err(Halt::CalledOff);
        }
    };
    let null = || CanonicalJson::of(&Value::Null);
    let Ok(ended) = ended else {
        let message = "the code panicked; its log says where".to_owned();
        return driver.end(End::Failed, null(), Some(message)).await;
    };
    shared.check_all_was_met()?;
    match ended {
        Ok(output) => {
            let output = CanonicalJson::of(&output);
            if JSON_BYTES_MAX < output.as_str().len() {
                let message =
                    format!("what the code answers is longer than {JSON_BYTES_MAX} bytes");
                return driver.end(End::Failed, null(), Some(message)).await;
            }
            driver.end(End::Passed, output, None).await
        }
        Err(Failure::ContinueAsNew(input)) => continue_as_new(driver, name, input).await,
        Err(failure) => {
            let end = failure.end();
            driver.end(end, null(), Some(failure.to_string())).await
        }
    }
}

fn has_open_step(run: &super::Run) -> bool {
    run.steps.iter().any(|step| step.open().is_some())
}

/// Starts the run that goes on from this one, once, and ends this one.
async fn continue_as_new(driver: &Driver, name: &str, input: Value) -> Result<(), Halt> {
    let at = moment_of_the_change(driver).await?;
    let next = RunId::following(driver.live.id, at);
    let engine = driver.engine()?;
    let end =
        |message: String| driver.end(End::Failed, CanonicalJson::of(&Value::Null), Some(message));
    let Some(by) = driver.principal(&engine) else {
        return end("the credential that started the run works no longer".to_owned()).await;
    };
    let start = &driver.run().start;
    let new = NewRun {
        what: NewOrigin::Code {
            name: name.to_owned(),
            version: None,
            input,
        },
        flags: start.flags,
        unattended: start.unattended,
        schedule: start.schedule.clone(),
        continues: Some(driver.live.id),
    };
    let live = match driver.runs.open(next) {
        // It was started before a crash.
        Ok(live) => live,
        Err(RunError::NotFound) => {
            let (start, _) = match super::start::prepare(&engine, &by, new) {
                Ok(prepared) => prepared,
                Err(error) => return end(error.to_string()).await,
            };
            driver.runs.start(next, &by.id, start).await?
        }
        Err(error) => return Err(error.into()),
    };
    driver
        .end(End::Continued(next), CanonicalJson::of(&Value::Null), None)
        .await?;
    engine.drive(live, Arc::default());
    Ok(())
}

/// When the code went on as another run: the same moment after every crash.
async fn moment_of_the_change(driver: &Driver) -> Result<crate::time::Timestamp, Halt> {
    let path = StepPath::new("continue-as-new").map_err(|_| Halt::Stopping)?;
    let noted = |run: &super::Run| match run.notes.get(&path).and_then(|notes| notes.first()) {
        Some(Note::Now(at)) => Some(*at),
        Some(_) | None => None,
    };
    if let Some(at) = noted(&driver.run()) {
        return Ok(at);
    }
    let at = driver.runs.store.time.now();
    let (path, note) = (path.clone(), Note::Now(at));
    driver.commit(Command::Note { path, note }).await?;
    Ok(at)
}

/// The history has something that the code never asked for.
fn never_met(path: &StepPath, was: String) -> Halt {
    let difference = Divergence {
        path: path.clone(),
        was,
        is: "nothing: it ended without getting there".to_owned(),
    };
    Halt::Run(RunRefusal::Diverged(Box::new(difference)).into())
}

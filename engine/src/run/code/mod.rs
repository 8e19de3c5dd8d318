//! Workflows in code: an async function, registered by name and version, that is made durable by its
//! history.
//!
//! After a restart the function is called again from its beginning. Whatever it asks its [`Context`] for
//! is answered from the history as far as that goes, and made from there on. So it must ask for
//! everything that can differ between two calls: the time, random numbers, answers of tools, events. If
//! it asks for something else than the history has at that place, the run stops and says what differs.
//!
//! A run of code goes as far as the safety classes of its tools allow: the replay gate, which is there for
//! recordings, does not ask it for flags. When somebody calls a run off, the call that is under way is
//! taken back where that is still possible, and nothing more is begun: no compensation either.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use holdpoint_engine::engine::{Engine, Options, RunOptions};
//! use holdpoint_engine::identity::Principal;
//! use holdpoint_engine::run::code::{Context, Failure, Workflows};
//! use holdpoint_engine::run::{Flags, NewOrigin, NewRun, RunStatus};
//! use holdpoint_engine::target::Locals;
//! use holdpoint_engine::tool::{Format, ToolsFile};
//! use holdpoint_storage::MemoryLog;
//! use serde_json::json;
//!
//! /// Reads a price twice a day apart, and writes the change down.
//! async fn watch_price(ctx: Context, item: String) -> Result<f64, Failure> {
//!     let read = || ctx.call("read_price", json!({ "item": item }));
//!     let before: f64 = serde_json::from_value(read().await?)?;
//!     ctx.sleep(Duration::from_millis(10)).await;
//!     let after: f64 = serde_json::from_value(read().await?)?;
//!     ctx.call("write_change", json!({ "item": item, "change": after - before }))
//!         .intent("The buyer wants to know how prices move")
//!         .await?;
//!     Ok(after - before)
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let tools = json!({ "tools": {
//!         "read_price": { "execute": { "local": "price" }, "safetyClass": "idempotent" },
//!         "write_change": { "execute": { "local": "write" }, "safetyClass": "write-once-checkable" },
//!     } });
//!     let tools = ToolsFile::from_str(&tools.to_string(), Format::Json)?;
//!     let options = Options {
//!         locals: Locals::default()
//!             .with("price", async |_| Ok(json!(12.5)))
//!             .with("write", async |call| Ok(call.args)),
//!         runs: RunOptions {
//!             workflows: Workflows::default().with("watch_price", 1, watch_price),
//!             resume: true, // Goes on with what a process that died left behind.
//!             ..RunOptions::default()
//!         },
//!         ..Options::default()
//!     };
//!     // A program that must survive its death takes a `SledLog`.
//!     let log = Arc::new(MemoryLog::new());
//!     let engine = Engine::open(log, Arc::new(tools.registry), options).await?;
//!
//!     let me = Principal::local("me", Default::default());
//!     let new = NewRun {
//!         what: NewOrigin::Code {
//!             name: "watch_price".to_owned(),
//!             version: None,
//!             input: json!("tea"),
//!         },
//!         flags: Flags::default(),
//!         unattended: true,
//!         schedule: None,
//!         continues: None,
//!     };
//!     let mut run = engine.start_run(&me, new).await?;
//!     while run.ended.is_none() {
//!         run = engine.wait_run(&me, run.id, run.events, Duration::from_secs(1)).await?;
//!     }
//!     assert_eq!(run.status(), RunStatus::Passed);
//!     assert_eq!(run.ended.as_ref().map(|end| end.output.value()), Some(json!(0)));
//!     Ok(())
//! }
//! ```
//!
//! Compensation is shown at [`CallError`], branches at [`Context::branch`], what never ends at
//! [`Failure::ContinueAsNew`].

mod call;
mod context;
mod error;
#[cfg(test)]
mod history_tests;
mod notes;
mod shared;
mod turns;
mod workflows;

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

pub use call::Call;
pub use context::Context;
pub use error::{CallError, Failure};
pub use workflows::Workflows;

use self::shared::Shared;
use super::authority::{self, Authority};
use super::driver::{Driver, Halt};
use super::event::{End, Origin};
use super::id::StepPath;
use super::refusal::{Divergence, RunRefusal};
use super::shell::RunError;
use super::skill_file::Prepared;
use super::start::{NewOrigin, NewRun};
use crate::canon::CanonicalJson;
use crate::engine::Engine;
use crate::limits::JSON_BYTES_MAX;
use crate::skill::Secrets;
use crate::tool::EffectClass;

/// What the guide shows is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/WORKFLOWS.md")]
struct Guide;

/// The longest words of a panic that are kept, in characters.
const PANIC_CHARS_MAX: usize = 500;

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
    if let Some(function) = workflows.get(&name, version) {
        let bad = |message| RunError::BadInputs(vec![message]);
        (function.check)(input).map_err(bad)?;
    }
    let input = CanonicalJson::exact(input)
        .map_err(|error| RunError::BadInputs(vec![format!("the input: {error}")]))?;
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
        drop(engine);
        return without(driver, name, version);
    };
    drop(engine);
    driver.check_cancel()?;
    let input = driver.run().start.input.value();
    (function.check)(&input).map_err(|message| other_input(&input, message))?;
    let (shared, mut halted) = Shared::new(driver.clone());
    let shared = Arc::new(shared);
    let _abandons = shared.abandons();
    let context = Context::root(Arc::clone(&shared));
    let running = async move { (function.call)(context, input).await };
    let running = AssertUnwindSafe(running).catch_unwind();
    let stop = Arc::clone(&driver.runs.store.stop);
    let mut changed = driver.live.watch();
    let ended = tokio::select! {
        biased;
        () = stop.reached() => Err(Halt::Stopping),
        Ok(_) = changed.wait_for(|run| run.cancel.is_some()) => Err(Halt::CalledOff),
        halt = halted.recv() => Err(halt.unwrap_or(Halt::Stopping)),
        ended = turns::play(&shared, running) => Ok(ended),
        halt = shared.stands_still() => Err(halt),
    };
    let ended = match ended {
        Ok(ended) => {
            shared.check_all_was_met("it ended without getting there")?;
            ended
        }
        Err(halt) => {
            if halt.ends_run() {
                shared.close().await?;
            }
            return Err(halt);
        }
    };
    shared.close().await?;
    let fail = async |message| driver.end(End::Failed, null(), Some(message)).await;
    let ended = match ended {
        Ok(ended) => ended,
        Err(panic) => return fail(words_of_panic(panic.as_ref())).await,
    };
    match ended {
        Ok(output) => {
            let output = match CanonicalJson::exact(&output) {
                Ok(output) => output,
                Err(error) => return fail(format!("what the code answers: {error}")).await,
            };
            if JSON_BYTES_MAX < output.as_str().len() {
                let message =
                    format!("what the code answers is longer than {JSON_BYTES_MAX} bytes");
                return fail(message).await;
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

/// The program does not have the code: the run stays open, unless somebody calls it off.
fn without(driver: &Driver, name: &str, version: u32) -> Result<(), Halt> {
    driver.check_cancel()?;
    tracing::error!(
        run.id = %driver.live.id,
        "{} was begun by version {version} of {name}, which this program does not have; it goes on when \
         a program that has it starts",
        driver.live.id
    );
    Ok(())
}

/// The function reads another type than when the run began.
fn other_input(input: &Value, message: String) -> Halt {
    match StepPath::new("start") {
        Ok(path) => {
            let difference = Divergence {
                path,
                was: super::decide::words_of("an input", &CanonicalJson::of(input)),
                is: message,
            };
            Halt::Run(RunRefusal::Diverged(Box::new(difference)).into())
        }
        Err(error) => Halt::Run(RunError::Invalid(error.to_string())),
    }
}

fn words_of_panic(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("it did not say why");
    let words: String = words.chars().take(PANIC_CHARS_MAX).collect();
    format!("the code panicked: {words}")
}

/// Ends this run and starts the one that goes on from it, in one append.
async fn continue_as_new(driver: &Driver, name: &str, input: Value) -> Result<(), Halt> {
    let engine = driver.engine()?;
    let fail = async |message| driver.end(End::Failed, null(), Some(message)).await;
    let Some(by) = driver.principal(&engine) else {
        return fail("the credential that started the run works no longer".to_owned()).await;
    };
    if let Some(class) = Authority::of(&by).lacks(EffectClass::Read) {
        let needs = authority::needs(class);
        return fail(format!(
            "whoever started the run may start none now: that needs {needs}"
        ))
        .await;
    }
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
    let start = match super::start::prepare(&engine, &by, new) {
        Ok((start, _)) => start,
        Err(error) => return fail(error.to_string()).await,
    };
    drop(engine);
    let next = loop {
        match driver.runs.continue_as(&driver.live, start.clone()).await {
            Err(RunError::NoRoom(_)) => driver.wait_for_room().await?,
            other => break other?,
        }
    };
    let next = next.ok_or(Halt::CalledOff)?;
    driver.engine()?.drive(next);
    Ok(())
}

fn null() -> CanonicalJson {
    CanonicalJson::of(&Value::Null)
}

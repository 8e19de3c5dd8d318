//! A call of a tool, as code asks for it.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::error::CallError;
use super::shared::{Shared, differs};
use crate::canon::CanonicalJson;
use crate::limits::JSON_BYTES_MAX;
use crate::run::decide::words_of;
use crate::run::driver::Halt;
use crate::run::event::{StepCall, Verdict};
use crate::run::id::StepPath;
use crate::run::shell::RunError;
use crate::run::step::StepWish;
use crate::tool::EffectClass;

/// A call of a tool; made when it is awaited. Its place in the history is that where
/// [`Context::call`](super::Context::call) was called.
///
/// It answers the result of the tool, once the call has certainly taken effect, or a [`CallError`], once
/// it certainly has not. In between it waits: for people, for the source of truth, for a worker.
#[must_use = "a call is made when it is awaited"]
pub struct Call {
    shared: Arc<Shared>,
    path: Result<StepPath, Halt>,
    tool: String,
    args: Result<Value, serde_json::Error>,
    title: Option<String>,
    intent: Option<String>,
    stage: bool,
    timeout: Option<Duration>,
    retries: Option<u32>,
}

impl Call {
    pub(super) fn new(
        shared: Arc<Shared>,
        path: Result<StepPath, Halt>,
        tool: String,
        args: impl Serialize,
    ) -> Self {
        Self {
            shared,
            path,
            tool,
            args: serde_json::to_value(args),
            title: None,
            intent: None,
            stage: false,
            timeout: None,
            retries: None,
        }
    }

    /// What it is called for people; the name of the tool where nothing is said.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What it is for, in one sentence: approvers read it.
    pub fn intent(mut self, intent: impl Into<String>) -> Self {
        self.intent = Some(intent.into());
        self
    }

    /// People must approve it, whatever the tool's own safety class.
    pub fn needs_approval(mut self) -> Self {
        self.stage = true;
        self
    }

    /// The longest that it may take, where that is less than the tool's own.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How often a read that fails, or a write that was certainly not delivered, is made once more.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }
}

impl IntoFuture for Call {
    type Output = Result<Value, CallError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let called = shared.carry_out(make(self)).await;
            shared.or_halt(called).await
        })
    }
}

async fn make(call: Call) -> Result<Result<Value, CallError>, Halt> {
    let driver = &call.shared.driver;
    let path = call.path?;
    let invalid = |message| Halt::Run(RunError::Invalid(message));
    let args = call
        .args
        .map_err(|error| invalid(format!("the arguments of {}: {error}", call.tool)))?;
    let args = CanonicalJson::exact(&args)
        .map_err(|error| invalid(format!("the arguments of {}: {error}", call.tool)))?;
    if JSON_BYTES_MAX < args.as_str().len() {
        let message = format!(
            "the arguments of {} are longer than {JSON_BYTES_MAX} bytes",
            call.tool
        );
        return Err(invalid(message));
    }
    let run = driver.run();
    if run.notes.contains_key(&path) {
        return Err(differs(&run, path, words_of(&call.tool, &args)));
    }
    if run.step(&path).is_none() {
        call.shared.caught_up(&path).await?;
        // What has begun is followed to its end, and called off on the way where that is possible.
        driver.check_cancel()?;
    }
    let engine = driver.engine()?;
    let effect = engine
        .registry()
        .get(&call.tool)
        .map_or(EffectClass::Destructive, |tool| tool.effect);
    drop(engine);
    let wish = StepWish {
        path,
        call: StepCall {
            number: 1,
            title: call.title.unwrap_or_else(|| call.tool.clone()),
            intent: call.intent,
            tool: call.tool,
            args,
            effect,
            verdict: if call.stage {
                Verdict::Stage
            } else {
                Verdict::Go
            },
            notes: Vec::new(),
        },
        timeout: call.timeout,
        retries: call.retries,
    };
    let begun = driver.begin_step(&wish).await?;
    call.shared.meet(&wish.path);
    let report = match begun {
        Err(report) => report,
        Ok(made) => {
            call.shared.caught_up(&wish.path).await?;
            let report = driver.make(&wish, &made).await?.report();
            driver.end_step(&wish.path, report.clone()).await?;
            report
        }
    };
    Ok(match CallError::of(&report) {
        None => Ok(report.answer.value()),
        Some(error) => Err(error),
    })
}

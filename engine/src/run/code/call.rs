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
use crate::run::decide::{Command, decide, words_of};
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
        Box::pin(async move {
            let shared = Arc::clone(&self.shared);
            let wish = shared.or_halt(self.wish()).await;
            let path = wish.path.clone();
            let making = async {
                let made = shared.carry_out(make(Arc::clone(&shared), wish)).await;
                shared.or_halt(made).await;
            };
            tokio::select! {
                biased;
                () = shared.answered(&path) => {}
                // What came of it is told in its turn.
                () = making => shared.answered(&path).await,
            }
            let run = shared.driver.run();
            let made = run.step(&path).and_then(|step| step.made());
            match made.and_then(|made| made.ended.as_ref()) {
                Some((_, report)) => match CallError::of(report) {
                    None => Ok(report.answer.value()),
                    Some(error) => Err(error),
                },
                // It is answered by its end.
                None => std::future::pending().await,
            }
        })
    }
}

impl Call {
    /// What is to be made. What the history has at its place is met before the code goes on: code that ends
    /// without waiting for the call has asked for it all the same.
    fn wish(self) -> Result<StepWish, Halt> {
        let (shared, path) = (self.shared, self.path?);
        let driver = &shared.driver;
        let invalid = |message| Halt::Run(RunError::Invalid(message));
        let args = self
            .args
            .map_err(|error| invalid(format!("the arguments of {}: {error}", self.tool)))?;
        let args = CanonicalJson::exact(&args)
            .map_err(|error| invalid(format!("the arguments of {}: {error}", self.tool)))?;
        if JSON_BYTES_MAX < args.as_str().len() {
            let message = format!(
                "the arguments of {} are longer than {JSON_BYTES_MAX} bytes",
                self.tool
            );
            return Err(invalid(message));
        }
        let run = driver.run();
        if run.notes.contains_key(&path) {
            return Err(differs(&run, path, words_of(&self.tool, &args)));
        }
        let engine = driver.engine()?;
        let effect = engine
            .registry()
            .get(&self.tool)
            .map_or(EffectClass::Destructive, |tool| tool.effect);
        drop(engine);
        let call = StepCall {
            number: 1,
            title: self.title.unwrap_or_else(|| self.tool.clone()),
            intent: self.intent,
            tool: self.tool,
            args,
            effect,
            verdict: if self.stage {
                Verdict::Stage
            } else {
                Verdict::Go
            },
            notes: Vec::new(),
        };
        if run.step(&path).is_some() {
            let begin = Command::BeginStep {
                path: path.clone(),
                call: call.clone(),
            };
            decide(Some(&run), begin).map_err(RunError::from)?;
            shared.meet(&path);
        }
        Ok(StepWish {
            path,
            call,
            timeout: self.timeout,
            retries: self.retries,
        })
    }
}

/// Makes a call, and notes how it ended; what ended before is not made again.
async fn make(shared: Arc<Shared>, wish: StepWish) -> Result<(), Halt> {
    let driver = &shared.driver;
    if driver.run().step(&wish.path).is_none() {
        shared.caught_up(&wish.path).await?;
        // What has begun is followed to its end, and called off on the way where that is possible.
        driver.check_cancel()?;
    }
    match driver.begin_step(&wish).await? {
        Err(_) => Ok(()),
        Ok(made) => {
            shared.caught_up(&wish.path).await?;
            let report = driver.make(&wish, &made).await?.report();
            driver.end_step(&wish.path, report).await
        }
    }
}

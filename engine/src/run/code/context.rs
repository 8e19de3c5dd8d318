//! What a workflow asks for.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::call::Call;
use super::notes;
use super::shared::Shared;
use crate::run::driver::Halt;
use crate::run::id::{RunId, StepPath};
use crate::run::shell::RunError;
use crate::time::Timestamp;

/// The longest name of a branch, in characters.
const BRANCH_CHARS_MAX: usize = 40;

/// What a workflow asks for. Cheap to clone; a clone counts on with the original.
///
/// Everything it answers is in the history before it is answered, or comes from there. A call is numbered
/// when it is asked for, not when it is awaited. Two calls that run side by side are asked for one after
/// the other in a fixed order, or in branches of their own ([`Context::branch`]).
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
    prefix: String,
    next: Arc<AtomicU32>,
    branches: Arc<Mutex<BTreeSet<String>>>,
}

impl Context {
    pub(super) fn root(shared: Arc<Shared>) -> Self {
        Self::at(shared, String::new())
    }

    fn at(shared: Arc<Shared>, prefix: String) -> Self {
        Self {
            shared,
            prefix,
            next: Arc::new(AtomicU32::new(1)),
            branches: Arc::default(),
        }
    }

    /// The run.
    pub fn run_id(&self) -> RunId {
        self.shared.driver.live.id
    }

    /// How often the code has asked for something so far, in all branches; the same at every replay. Each question leaves up to six events in the history, so a
    /// loop without end goes on as a new run ([`Failure::ContinueAsNew`](super::Failure::ContinueAsNew))
    /// every thousand or so, well before [`RUN_EVENTS_MAX`](crate::limits::RUN_EVENTS_MAX).
    pub fn asked(&self) -> usize {
        self.shared.places()
    }

    /// A context whose calls are counted apart, for what runs side by side. The name is made of
    /// letters, digits, dots, underscores and dashes; other characters become dashes, and a name that was
    /// given before gets a number.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/play.rs"));
    /// use holdpoint_engine::run::code::{Context, Failure, Workflows};
    /// use serde_json::json;
    ///
    /// /// Tells everybody at once; whoever answers first, each call keeps its place in the history.
    /// async fn tell(ctx: Context, people: Vec<String>) -> Result<usize, Failure> {
    ///     let calls = people.iter().map(|person| {
    ///         let branch = ctx.branch(person);
    ///         async move { branch.call("send_mail", json!({ "to": person })).await }
    ///     });
    ///     let told = futures_util::future::join_all(calls).await;
    ///     Ok(told.iter().filter(|told| told.is_ok()).count())
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let workflows = Workflows::default().with("tell", 1, tell);
    /// let (told, done) = play(workflows, json!(["ana", "ben"]), &["send_mail"]).await;
    /// assert_eq!((told, done.len()), (json!(2), 2));
    /// # }
    /// ```
    pub fn branch(&self, name: &str) -> Self {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        };
        let mut name: String = name.chars().map(plain).take(BRANCH_CHARS_MAX).collect();
        if name.is_empty() {
            "branch".clone_into(&mut name);
        }
        let mut names = self.branches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unique = name.clone();
        let mut number = 2;
        while !names.insert(unique.clone()) {
            unique = format!("{name}.{number}");
            number += 1;
        }
        Self::at(
            Arc::clone(&self.shared),
            format!("{}{unique}/", self.prefix),
        )
    }

    /// Calls a tool, once, whatever happens in between; see [`Call`].
    pub fn call(&self, tool: &str, args: impl Serialize) -> Call {
        Call::new(Arc::clone(&self.shared), self.path(), tool.to_owned(), args)
    }

    /// The time, the same at every replay.
    pub fn now(&self) -> impl Future<Output = Timestamp> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        async move {
            let noted = notes::now(&shared, path).await;
            shared.or_halt(noted).await
        }
    }

    /// Random bytes, the same at every replay. Not for secrets: they stand in the history.
    pub fn random(&self) -> impl Future<Output = [u8; 16]> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        async move {
            let noted = notes::random(&shared, path).await;
            shared.or_halt(noted).await
        }
    }

    /// Waits, over restarts too. The moment at which it ends is fixed when it begins.
    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        async move {
            let slept = notes::sleep(&shared, path, time).await;
            shared.or_halt(slept).await;
        }
    }

    /// Waits for an event of that name that the run is sent
    /// ([`Engine::signal_run`](crate::engine::Engine::signal_run)), and answers its data. Events are taken
    /// in the order in which they came, also those that came before anybody waited; of two that wait for
    /// the same name each gets one of its own.
    pub fn wait_for(&self, name: &str) -> impl Future<Output = Value> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        let name = name.to_owned();
        async move {
            let got = notes::wait_for(&shared, path, name, None).await;
            match shared.or_halt(got).await {
                Some(data) => data,
                // Without a limit there is no other end.
                None => std::future::pending().await,
            }
        }
    }

    /// The same for at most that long; none where nothing came. A `select!` of a wait and a sleep would
    /// not end in the same way at every replay; this does.
    pub fn wait_for_at_most(
        &self,
        name: &str,
        time: Duration,
    ) -> impl Future<Output = Option<Value>> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        let name = name.to_owned();
        async move {
            let got = notes::wait_for(&shared, path, name, Some(time)).await;
            shared.or_halt(got).await
        }
    }

    fn path(&self) -> Result<StepPath, Halt> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = StepPath::new(format!("{}{number}", self.prefix));
        let path = path.map_err(|_| {
            let message = format!(
                "the names of the branches {} are too long together",
                self.prefix
            );
            Halt::Run(RunError::Invalid(message))
        })?;
        self.shared.ask();
        Ok(path)
    }
}

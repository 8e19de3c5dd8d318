//! What a workflow in code asks for.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use super::error::CallError;
use super::never_met;
use crate::canon::CanonicalJson;
use crate::limits::JSON_BYTES_MAX;
use crate::run::decide::{Command, Divergence, RunRefusal};
use crate::run::driver::{Driver, Halt};
use crate::run::event::{Note, StepCall, StepOutcome, Verdict};
use crate::run::id::{RunId, StepPath};
use crate::run::shell::RunError;
use crate::run::state::Run;
use crate::run::step::StepWish;
use crate::time::Timestamp;
use crate::tool::EffectClass;

/// What all contexts of one run share.
pub(super) struct Shared {
    driver: Driver,
    halt: mpsc::UnboundedSender<Halt>,
    /// Where the code has been in this process.
    met: Mutex<BTreeSet<StepPath>>,
}

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

/// How a call is made.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// What it is called for people; the name of the tool where nothing is said.
    pub title: Option<String>,
    /// What it is for, in one sentence: approvers read it.
    pub intent: Option<String>,
    /// Whether people must approve it, whatever the tool's own safety class.
    pub stage: bool,
    /// The longest that it may take, where that is less than the tool's own.
    pub timeout: Option<Duration>,
    /// How often a read that fails, or a write that was certainly not delivered, is made once more.
    pub retries: Option<u32>,
}

impl Shared {
    pub(super) fn new(driver: Driver) -> (Self, mpsc::UnboundedReceiver<Halt>) {
        let (halt, halted) = mpsc::unbounded_channel();
        let met = Mutex::default();
        (Self { driver, halt, met }, halted)
    }

    /// Fails where the history has something that the code did not ask for.
    pub(super) fn check_all_was_met(&self) -> Result<(), Halt> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let run = self.driver.run();
        if let Some(step) = run.steps.iter().find(|step| !met.contains(&step.path)) {
            return Err(never_met(&step.path, step.title().to_owned()));
        }
        let own = |path: &&StepPath| path.as_str() != "continue-as-new" && !met.contains(*path);
        match run.notes.keys().find(own) {
            Some(path) => Err(never_met(path, words(&run, path))),
            None => Ok(()),
        }
    }

    fn meet(&self, path: &StepPath) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.insert(path.clone());
    }

    /// The value, or never: what stops the run is told to whoever carries it on, not to the code, which
    /// must not take it for an answer.
    async fn or_halt<T>(&self, result: Result<T, Halt>) -> T {
        match result {
            Ok(value) => value,
            Err(halt) => {
                // Nobody listens any more where it has stopped already.
                drop(self.halt.send(halt));
                std::future::pending().await
            }
        }
    }
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

    /// How many events the run has. A loop without end goes on as a new run
    /// ([`super::Failure::ContinueAsNew`]) well before [`crate::limits::RUN_EVENTS_MAX`].
    pub fn history_len(&self) -> u64 {
        self.shared.driver.run().events
    }

    /// A context whose calls are counted apart, for what runs side by side. The name is made of
    /// letters, digits, dots, underscores and dashes; other characters become dashes, and a name that was
    /// given before gets a number.
    pub fn branch(&self, name: &str) -> Self {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        };
        let name: String = name.chars().map(plain).take(40).collect();
        let name = if name.is_empty() {
            "branch".to_owned()
        } else {
            name
        };
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

    /// Calls a tool and waits for the end of it: for people where they must approve it, for the source
    /// of truth where nobody knows. Once, whatever happens in between.
    pub fn call(
        &self,
        tool: &str,
        args: Value,
    ) -> impl Future<Output = Result<Value, CallError>> + Send + 'static {
        self.call_with(tool, args, CallOptions::default())
    }

    /// The same, with options.
    pub fn call_with(
        &self,
        tool: &str,
        args: Value,
        options: CallOptions,
    ) -> impl Future<Output = Result<Value, CallError>> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        let tool = tool.to_owned();
        async move {
            let called = call(&shared, path, tool, args, options).await;
            shared.or_halt(called).await
        }
    }

    /// The time, the same at every replay.
    pub fn now(&self) -> impl Future<Output = Timestamp> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        async move {
            let noted = now(&shared, path).await;
            shared.or_halt(noted).await
        }
    }

    /// Random bytes, the same at every replay. Not for secrets: they stand in the history.
    pub fn random(&self) -> impl Future<Output = [u8; 16]> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        async move {
            let noted = random(&shared, path).await;
            shared.or_halt(noted).await
        }
    }

    /// Waits, over restarts too.
    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        async move {
            let slept = sleep(&shared, path, time).await;
            shared.or_halt(slept).await;
        }
    }

    /// Waits for an event of that name that the run is sent, and answers its data. Events are taken in
    /// the order in which they came, also those that came before anybody waited.
    pub fn wait_for(&self, name: &str) -> impl Future<Output = Value> + Send + 'static {
        let (shared, path) = (Arc::clone(&self.shared), self.path());
        let name = name.to_owned();
        async move {
            let got = wait_for(&shared, path, name, None).await;
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
            let got = wait_for(&shared, path, name, Some(time)).await;
            shared.or_halt(got).await
        }
    }

    fn path(&self) -> Result<StepPath, Halt> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = StepPath::new(format!("{}{number}", self.prefix));
        let path = path.map_err(|error| Halt::Run(RunError::Invalid(error.to_string())))?;
        self.shared.meet(&path);
        Ok(path)
    }
}

async fn call(
    shared: &Shared,
    path: Result<StepPath, Halt>,
    tool: String,
    args: Value,
    options: CallOptions,
) -> Result<Result<Value, CallError>, Halt> {
    let driver = &shared.driver;
    let path = path?;
    expect(&driver.run(), &path, None)?;
    let engine = driver.engine()?;
    let effect = engine
        .registry()
        .get(&tool)
        .map_or(EffectClass::Destructive, |tool| tool.effect);
    drop(engine);
    let args = CanonicalJson::of(&args);
    if JSON_BYTES_MAX < args.as_str().len() {
        let message = format!("the arguments are longer than {JSON_BYTES_MAX} bytes");
        return Err(Halt::Run(RunError::Invalid(message)));
    }
    let verdict = if options.stage {
        Verdict::Stage
    } else {
        Verdict::Go
    };
    let wish = StepWish {
        path,
        call: StepCall {
            number: 1,
            title: options.title.unwrap_or_else(|| tool.clone()),
            intent: options.intent,
            tool,
            args,
            effect,
            verdict,
            notes: Vec::new(),
        },
        timeout: options.timeout,
        retries: options.retries,
    };
    driver.check_cancel()?;
    let report = match driver.begin_step(&wish).await? {
        Err(report) => report,
        Ok(made) => {
            let called = driver.make(&wish, &made).await?;
            let report = called.report();
            driver.end_step(&wish.path, report.clone()).await?;
            report
        }
    };
    Ok(match CallError::of(&report) {
        None if report.outcome == StepOutcome::Passed => Ok(report.answer.value()),
        None => Ok(Value::Null),
        Some(error) => Err(error),
    })
}

async fn now(shared: &Shared, path: Result<StepPath, Halt>) -> Result<Timestamp, Halt> {
    let (driver, path) = (&shared.driver, path?);
    match first(&driver.run(), &path)? {
        Some(Note::Now(at)) => return Ok(at),
        Some(_) => return Err(differs(&driver.run(), path, "the time")),
        None => {}
    }
    let at = driver.runs.store.time.now();
    let note = Note::Now(at);
    driver.commit(Command::Note { path, note }).await?;
    Ok(at)
}

async fn random(shared: &Shared, path: Result<StepPath, Halt>) -> Result<[u8; 16], Halt> {
    let (driver, path) = (&shared.driver, path?);
    match first(&driver.run(), &path)? {
        Some(Note::Random(bytes)) => return Ok(bytes),
        Some(_) => return Err(differs(&driver.run(), path, "random bytes")),
        None => {}
    }
    let bytes = driver.engine()?.random_bytes().map_err(Halt::Run)?;
    let note = Note::Random(bytes);
    driver.commit(Command::Note { path, note }).await?;
    Ok(bytes)
}

async fn sleep(shared: &Shared, path: Result<StepPath, Halt>, time: Duration) -> Result<(), Halt> {
    let (driver, path) = (&shared.driver, path?);
    let until = match first(&driver.run(), &path)? {
        Some(Note::Sleep { until }) => until,
        Some(_) => return Err(differs(&driver.run(), path, "to sleep")),
        None => {
            let until = driver.runs.store.time.now().plus(time);
            let (path, note) = (path.clone(), Note::Sleep { until });
            driver.commit(Command::Note { path, note }).await?;
            until
        }
    };
    if is_last(&driver.run(), &path, &Note::Woke) {
        return Ok(());
    }
    reach(driver, until).await;
    let note = Note::Woke;
    driver.commit(Command::Note { path, note }).await?;
    Ok(())
}

async fn wait_for(
    shared: &Shared,
    path: Result<StepPath, Halt>,
    name: String,
    time: Option<Duration>,
) -> Result<Option<Value>, Halt> {
    let (driver, path) = (&shared.driver, path?);
    match first(&driver.run(), &path)? {
        Some(Note::WaitFor { name: other }) if other == name => {}
        Some(_) => return Err(differs(&driver.run(), path, &format!("an event {name:?}"))),
        None => {
            let note = Note::WaitFor { name: name.clone() };
            let path = path.clone();
            driver.commit(Command::Note { path, note }).await?;
        }
    }
    let until = match time {
        None => None,
        Some(time) => Some(limit(driver, &path, time).await?),
    };
    let mut changed = driver.live.watch();
    loop {
        let run = driver.run();
        match run.notes.get(&path).and_then(|notes| notes.last()) {
            Some(Note::Received { name, index }) => {
                let index = usize::try_from(*index).unwrap_or(usize::MAX);
                let data = run.signals.get(name).and_then(|sent| sent.get(index));
                return Ok(Some(data.map_or(Value::Null, CanonicalJson::value)));
            }
            Some(Note::Woke) => return Ok(None),
            Some(Note::Now(_) | Note::Random(_) | Note::Sleep { .. } | Note::WaitFor { .. })
            | None => {}
        }
        let (at, wanted) = (path.clone(), name.clone());
        let after = driver.commit(Command::Receive {
            path: at,
            name: wanted,
        });
        if after.await?.events != run.events {
            continue;
        }
        let moved = async {
            changed
                .wait_for(|now| now.events != run.events)
                .await
                .is_ok()
        };
        tokio::select! {
            moved = moved => {
                if !moved {
                    return Err(Halt::Stopping);
                }
            }
            () = reach_if(driver, until) => {
                let (path, note) = (path.clone(), Note::Woke);
                driver.commit(Command::Note { path, note }).await?;
            }
        }
    }
}

/// When a wait for an event ends without one.
async fn limit(driver: &Driver, path: &StepPath, time: Duration) -> Result<Timestamp, Halt> {
    let run = driver.run();
    let noted = run.notes.get(path).into_iter().flatten();
    let mut limits = noted.filter_map(|note| match note {
        Note::Sleep { until } => Some(*until),
        Note::Now(_)
        | Note::Random(_)
        | Note::WaitFor { .. }
        | Note::Received { .. }
        | Note::Woke => None,
    });
    if let Some(until) = limits.next() {
        return Ok(until);
    }
    let until = driver.runs.store.time.now().plus(time);
    let (path, note) = (path.clone(), Note::Sleep { until });
    driver.commit(Command::Note { path, note }).await?;
    Ok(until)
}

async fn reach_if(driver: &Driver, until: Option<Timestamp>) {
    match until {
        Some(until) => reach(driver, until).await,
        None => std::future::pending().await,
    }
}

/// Waits until the engine's time is that late.
async fn reach(driver: &Driver, until: Timestamp) {
    let mut woken = driver.runs.woken();
    loop {
        let left = until.since(driver.runs.store.time.now());
        if left.is_zero() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            // The clock was set.
            _ = woken.changed() => {}
        }
    }
}

fn first(run: &Run, path: &StepPath) -> Result<Option<Note>, Halt> {
    let note = run.notes.get(path).and_then(|notes| notes.first());
    if note.is_none() {
        expect(run, path, Some("no call"))?;
    }
    Ok(note.cloned())
}

/// Fails where the history has another kind of thing at that place.
fn expect(run: &Run, path: &StepPath, no_call: Option<&str>) -> Result<(), Halt> {
    let is_there = match no_call {
        None => run.notes.contains_key(path),
        Some(_) => run.step(path).is_some(),
    };
    if is_there {
        return Err(differs(run, path.clone(), no_call.unwrap_or("a call")));
    }
    Ok(())
}

fn is_last(run: &Run, path: &StepPath, note: &Note) -> bool {
    run.notes.get(path).and_then(|notes| notes.last()) == Some(note)
}

fn differs(run: &Run, path: StepPath, is: &str) -> Halt {
    let difference = Divergence {
        was: words(run, &path),
        path,
        is: is.to_owned(),
    };
    Halt::Run(RunRefusal::Diverged(Box::new(difference)).into())
}

/// What the history has at a place.
fn words(run: &Run, path: &StepPath) -> String {
    if let Some(step) = run.step(path) {
        return format!("the call {:?}", step.title());
    }
    match run.notes.get(path).and_then(|notes| notes.first()) {
        Some(Note::Now(_)) => "the time".to_owned(),
        Some(Note::Random(_)) => "random bytes".to_owned(),
        Some(Note::Sleep { .. }) => "a sleep".to_owned(),
        Some(Note::WaitFor { name } | Note::Received { name, .. }) => format!("an event {name:?}"),
        Some(Note::Woke) | None => "nothing".to_owned(),
    }
}

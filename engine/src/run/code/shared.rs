//! What all contexts of one run share, and what the history has at each place.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::run::decide::words_of;
use crate::run::driver::{Driver, Halt};
use crate::run::event::Note;
use crate::run::id::StepPath;
use crate::run::refusal::{Divergence, RunRefusal};
use crate::run::state::{Run, What};

/// How long code that wants something new may stand still before all of its history was met. What is in
/// the history is answered at once, so this is for what the code reckons in between.
const REST_MAX: Duration = Duration::from_secs(10);

/// What all contexts of one run share.
pub(super) struct Shared {
    pub(super) driver: Driver,
    halt: mpsc::UnboundedSender<Halt>,
    /// At how many places the code has asked for something.
    asked: AtomicUsize,
    /// The places that the history had when the code was called, and that it has not been at since.
    unmet: watch::Sender<BTreeSet<StepPath>>,
    /// The places at which it waits for all of them to be met.
    held: watch::Sender<BTreeSet<StepPath>>,
    /// How many answers the history had when the code was called.
    known: usize,
    /// What the code was answered since.
    handed: watch::Sender<Handed>,
    /// The calls that are under way: each goes on to its end, also where the code no longer waits for it.
    calls: TaskTracker,
    /// Lets go of them, as if the process had died.
    abandon: CancellationToken,
}

/// The answers that the code was handed: the first so many of those that the run has, and their places.
#[derive(Default)]
struct Handed {
    count: usize,
    places: BTreeSet<StepPath>,
}

/// A place that is held back, until this is dropped.
struct Held<'a>(&'a Shared, &'a StepPath);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.send_modify(|held| {
            held.remove(self.1);
        });
    }
}

impl Shared {
    pub(super) fn new(driver: Driver) -> (Self, mpsc::UnboundedReceiver<Halt>) {
        let (halt, halted) = mpsc::unbounded_channel();
        let run = driver.run();
        let steps = run.steps.iter().map(|step| &step.path);
        let places = steps.chain(run.notes.keys()).cloned().collect();
        let shared = Self {
            driver,
            halt,
            asked: AtomicUsize::new(0),
            unmet: watch::Sender::new(places),
            held: watch::Sender::default(),
            known: run.answered.len(),
            handed: watch::Sender::default(),
            calls: TaskTracker::new(),
            abandon: CancellationToken::new(),
        };
        (shared, halted)
    }

    /// The code asks for something at one more place.
    pub(super) fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// At how many places the code has asked for something.
    pub(super) fn places(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// The code wants at this place what the history has there.
    pub(super) fn meet(&self, path: &StepPath) {
        self.unmet.send_if_modified(|unmet| unmet.remove(path));
    }

    /// Hands the code the next answer of the run, where there is one.
    pub(super) fn hand_over(&self) -> bool {
        let run = self.driver.run();
        self.handed.send_if_modified(|handed| {
            let Some(place) = run.answered.get(handed.count) else {
                return false;
            };
            handed.count += 1;
            handed.places.insert(place.clone());
            true
        })
    }

    /// Waits until the code is handed the answer at a place.
    pub(super) async fn answered(&self, path: &StepPath) {
        let mut handed = self.handed.subscribe();
        // The sender is here: it does not go away.
        drop(handed.wait_for(|handed| handed.places.contains(path)).await);
    }

    /// Waits until the code has met all of its history and was handed all answers of it. Only then may
    /// anything be made or noted: code that was changed, and would do again at another place what it has
    /// done, never gets there, and code that ended with the last of these answers begins nothing more.
    /// Fails where the run is called off or its code has ended: nothing more is met then.
    pub(super) async fn caught_up(&self, path: &StepPath) -> Result<(), Halt> {
        let (mut unmet, mut handed) = (self.unmet.subscribe(), self.handed.subscribe());
        let has_all = |handed: &Handed| self.known <= handed.count;
        if unmet.borrow().is_empty() && has_all(&handed.borrow()) {
            return Ok(());
        }
        self.held.send_modify(|held| {
            held.insert(path.clone());
        });
        let _held = Held(self, path);
        // The senders are here: they do not go away.
        let met = async {
            drop(unmet.wait_for(BTreeSet::is_empty).await);
            drop(handed.wait_for(has_all).await);
        };
        tokio::select! {
            biased;
            () = met => Ok(()),
            () = self.driver.called_off() => Err(Halt::CalledOff),
        }
    }

    /// Waits until the code stands still without having met its history, and answers what differs.
    pub(super) async fn stands_still(&self) -> Halt {
        let (mut unmet, mut held) = (self.unmet.subscribe(), self.held.subscribe());
        loop {
            // The sender is here: it does not go away.
            drop(held.wait_for(|held| !held.is_empty()).await);
            unmet.mark_unchanged();
            let rests = tokio::time::timeout(REST_MAX, unmet.changed())
                .await
                .is_err();
            let place = held.borrow().first().cloned();
            if let (true, Some(place)) = (rests, place)
                && let Err(halt) = self.check_all_was_met(&format!("it is at {place} instead"))
            {
                return halt;
            }
        }
    }

    /// Fails where the history has something that the code did not ask for; `how` it went on without it.
    pub(super) fn check_all_was_met(&self, how: &str) -> Result<(), Halt> {
        let (unmet, run) = (self.unmet.borrow(), self.driver.run());
        // A call says more than what was learned on the way.
        let call = unmet.iter().find(|path| run.step(path).is_some());
        match call.or_else(|| unmet.first()) {
            Some(path) => Err(differs(&run, path.clone(), format!("nothing: {how}"))),
            None => Ok(()),
        }
    }

    /// Makes a call in a task of its own: one that the code no longer waits for is under way all the same.
    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let call = self.abandon.clone().run_until_cancelled_owned(call);
        match self.calls.spawn(call).await {
            Ok(Some(came)) => came,
            // Whoever abandons the calls has let go of the code.
            Ok(None) => std::future::pending().await,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Abandons the calls that are under way when the answer is dropped.
    pub(super) fn abandons(&self) -> DropGuard {
        self.abandon.clone().drop_guard()
    }

    /// The code has ended: what it left open is taken back where that is still possible, and its end waited
    /// for where it is not.
    pub(super) async fn close(&self) -> Result<(), Halt> {
        self.driver.close();
        self.calls.close();
        tokio::select! {
            biased;
            () = self.driver.runs.store.stop.reached() => return Err(Halt::Stopping),
            () = self.calls.wait() => {}
        }
        self.driver.call_off_steps().await
    }

    /// The value, or never: what stops the run is told to whoever carries it on, not to the code, which
    /// must not take it for an answer.
    pub(super) async fn or_halt<T>(&self, result: Result<T, Halt>) -> T {
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

/// What was noted at a place. Fails where the history has a call there.
pub(super) fn notes(run: &Run, path: &StepPath, wish: &str) -> Result<Vec<Note>, Halt> {
    if run.step(path).is_some() {
        return Err(differs(run, path.clone(), wish.to_owned()));
    }
    Ok(run.notes.get(path).cloned().unwrap_or_default())
}

/// The code wants something else than the history has at a place.
pub(super) fn differs(run: &Run, path: StepPath, is: String) -> Halt {
    let was = had(run, &path);
    let difference = Divergence { path, was, is };
    Halt::Run(RunRefusal::Diverged(Box::new(difference)).into())
}

/// What the history has at a place.
fn had(run: &Run, path: &StepPath) -> String {
    match run.step(path).map(|step| &step.what) {
        Some(What::Made(made)) => return words_of(&made.call.tool, &made.call.args),
        Some(What::Skipped { title, .. }) => return format!("{title:?}, left out"),
        None => {}
    }
    match run.notes.get(path).and_then(|notes| notes.first()) {
        Some(Note::Now(_)) => "the time".to_owned(),
        Some(Note::Random(_)) => "random bytes".to_owned(),
        Some(Note::Sleep { .. }) => "a sleep".to_owned(),
        Some(Note::WaitFor { name } | Note::Received { name, .. }) => {
            format!("a wait for the event {name:?}")
        }
        Some(Note::Woke) | None => "nothing".to_owned(),
    }
}

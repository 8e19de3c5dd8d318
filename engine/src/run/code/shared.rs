//! What all contexts of one run share, and what the history has at each place.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::run::decide::{Divergence, RunRefusal, words_of};
use crate::run::driver::{Driver, Halt};
use crate::run::event::Note;
use crate::run::id::StepPath;
use crate::run::state::{Run, What};

/// What all contexts of one run share.
pub(super) struct Shared {
    pub(super) driver: Driver,
    halt: mpsc::UnboundedSender<Halt>,
    /// Where the code has been in this process.
    met: Mutex<BTreeSet<StepPath>>,
}

impl Shared {
    pub(super) fn new(driver: Driver) -> (Self, mpsc::UnboundedReceiver<Halt>) {
        let (halt, halted) = mpsc::unbounded_channel();
        let met = Mutex::default();
        (Self { driver, halt, met }, halted)
    }

    /// The code asks for something at this place.
    pub(super) fn meet(&self, path: &StepPath) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.insert(path.clone());
    }

    /// At how many places the code has asked for something.
    pub(super) fn places(&self) -> usize {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.len()
    }

    /// Fails where the history has something that the code did not ask for.
    pub(super) fn check_all_was_met(&self) -> Result<(), Halt> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let run = self.driver.run();
        let steps = run.steps.iter().map(|step| &step.path);
        let mut all = steps.chain(run.notes.keys());
        match all.find(|path| !met.contains(*path)) {
            Some(path) => Err(differs(
                &run,
                path.clone(),
                "nothing: it ended without getting there".to_owned(),
            )),
            None => Ok(()),
        }
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

//! Wakes the writer where sled forgets to.
//!
//! sled writes on threads of its own. Where such a write fails, it remembers the error and tells
//! nobody: whoever waits in `flush` for that write waits for ever, and with them every caller of an
//! append. The next caller of `flush`, however, is told, and wakes all others. So while a group takes
//! long, somebody calls `flush` again: after half a second, then each time after twice as long as
//! before, which on a slow disk are a few threads that wait as well, and end with the first.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::warn;

use super::fault::OPENING_THREAD;
use super::store::Store;

/// After how long a group takes long.
const PATIENCE: Duration = Duration::from_millis(500);

enum Signal {
    Begun,
    Ended,
}

/// The thread that looks after the writer; ends when dropped.
pub(super) struct Waker {
    signals: Option<Sender<Signal>>,
    thread: Option<JoinHandle<()>>,
}

/// As long as this lives, the writer is looked after.
pub(super) struct Watched(Option<Sender<Signal>>);

impl Waker {
    pub(super) fn start(store: Arc<Store>) -> io::Result<Self> {
        let (signals, heard) = mpsc::channel();
        let thread = thread::Builder::new().name("holdpoint-log-waker".to_owned());
        let thread = thread.spawn(move || watch(&store, &heard))?;
        Ok(Self {
            signals: Some(signals),
            thread: Some(thread),
        })
    }

    /// Begins to look after whoever writes now.
    pub(super) fn begin(&self) -> Watched {
        let signals = self.signals.clone();
        send(signals.as_ref(), Signal::Begun);
        Watched(signals)
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.signals = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        send(self.0.as_ref(), Signal::Ended);
    }
}

/// The waker ends after everybody who signals to it.
fn send(signals: Option<&Sender<Signal>>, signal: Signal) {
    if let Some(signals) = signals {
        drop(signals.send(signal));
    }
}

fn watch(store: &Arc<Store>, heard: &Receiver<Signal>) {
    while heard.recv().is_ok() {
        let mut patience = PATIENCE;
        let mut waking = Vec::new();
        while let Err(RecvTimeoutError::Timeout) = heard.recv_timeout(patience) {
            patience = patience.saturating_mul(2);
            let store = Arc::clone(store);
            let again = move || drop(catch_unwind(AssertUnwindSafe(|| store.db.flush())));
            let thread = thread::Builder::new().name(OPENING_THREAD.to_owned());
            match thread.spawn(again) {
                Ok(thread) => waking.push(thread),
                Err(error) => warn!("nobody can look after the writer of the log: {error}"),
            }
        }
        for thread in waking {
            drop(thread.join());
        }
    }
}

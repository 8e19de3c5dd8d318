//! What the files from the engine wait on (there: `engine/src/sync.rs`).
//!
//! What tokio's channels and notifications do never blocks a thread, so each of their steps is one
//! step here too; before it another thread may come in.

pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicI64};
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
pub(crate) use tokio::sync::mpsc;

/// Lets another thread come in.
pub(crate) fn step() {
    shuttle::thread::yield_now();
}

/// As that of the standard library.
#[derive(Default)]
pub(crate) struct OnceLock<T>(std::sync::OnceLock<T>);

impl<T> OnceLock<T> {
    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        step();
        self.0.set(value)
    }

    pub(crate) fn get(&self) -> Option<&T> {
        step();
        self.0.get()
    }
}

/// As that of tokio.
pub(crate) struct Notify(tokio::sync::Notify);

impl Notify {
    pub(crate) fn new() -> Self {
        Self(tokio::sync::Notify::new())
    }

    pub(crate) fn notify_one(&self) {
        step();
        self.0.notify_one();
    }

    pub(crate) async fn notified(&self) {
        step();
        self.0.notified().await;
    }
}

/// As that of tokio.
pub(crate) mod watch {
    use tokio::sync::watch;

    use super::step;

    pub(crate) struct Sender<T>(watch::Sender<T>);
    pub(crate) struct Receiver<T>(watch::Receiver<T>);

    impl<T> Sender<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(watch::Sender::new(value))
        }

        pub(crate) fn subscribe(&self) -> Receiver<T> {
            step();
            Receiver(self.0.subscribe())
        }

        pub(crate) fn send_replace(&self, value: T) -> T {
            step();
            self.0.send_replace(value)
        }
    }

    impl<T> Receiver<T> {
        pub(crate) fn mark_unchanged(&mut self) {
            step();
            self.0.mark_unchanged();
        }

        pub(crate) async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
            step();
            self.0.changed().await
        }
    }
}

//! What the files of the log wait on (there: `storage/src/sled_log/sync.rs`).

pub(crate) use shuttle::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The queue of the writer, as far as the writer uses it.
pub(crate) mod mpsc {
    use shuttle::sync::mpsc;

    pub(crate) use shuttle::sync::mpsc::SyncSender;

    pub(crate) struct Receiver<T>(mpsc::Receiver<T>);

    pub(crate) fn channel<T>(room: usize) -> (SyncSender<T>, Receiver<T>) {
        let (sender, receiver) = mpsc::sync_channel(room);
        (sender, Receiver(receiver))
    }

    impl<T> Receiver<T> {
        pub(crate) fn blocking_recv(&mut self) -> Option<T> {
            self.0.recv().ok()
        }

        pub(crate) fn try_recv(&mut self) -> Result<T, mpsc::TryRecvError> {
            self.0.try_recv()
        }
    }
}

//! The log on disk, in one sled tree.
//!
//! sled alone does not keep the promises of [`EventLog`]: its `flush` does not reach the device, it
//! shows a write before it is durable, and it takes damage at the end of its file for a torn write.
//! What is built around it, in reading order:
//!
//! * `folder`, `reserve`, `origin`: the lock, the marker, the room on the disk; telling a copy of a folder.
//! * `keys`, `values`: what is in the tree. No stored value is longer than 7 KiB.
//! * `group`, `committer`: one thread checks and writes, many batches at a time, one sync for all.
//! * `view`: readers see the durable state only.
//! * `waker`: where a write of sled fails, it lets the writer wait for ever; somebody wakes it.
//! * `fault`, `tree`: sled panics on some kinds of damage, and in closing; that is caught and named.
//! * `snapshot`: sled believes the file from which it finds its pages; so that is judged first.
//! * `mark`, `whole`, `open`: opening notices a lost end and any other damage, and refuses it in words.
//! * `trial`: whether a log whose snapshot is damaged is whole without it, tried on a copy.
//!
//! After an I/O error sled refuses to read what it has not cached, so reads may fail too until the
//! log is opened again.

mod committer;
mod fault;
mod folder;
mod group;
mod keys;
mod mark;
mod marker;
mod names;
mod open;
mod origin;
mod reserve;
mod scan;
mod snapshot;
mod store;
mod sync;
mod tree;
mod trial;
mod values;
mod view;
mod waker;
mod whole;

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot, watch};

use self::committer::{Committer, Counters, GROUP_MAX, Request, Work};
pub use self::fault::OPENING_THREAD;
use self::folder::{Folder, Purpose};
use self::group::Tails;
use self::open::Opened;
use self::sync::mpsc;
pub use self::trial::Trial;
use self::view::View;
use self::waker::Waker;
use crate::batch::Batch;
use crate::bounds;
use crate::log::{
    AppendError, Appended, Direction, Entries, EventLog, OpenError, Origin, ReadError, ScanRange,
    Stats,
};
use crate::record::{Position, Record, StreamId, Version};
use crate::subscription::Subscription;

/// The most bytes of batches that wait for the writer, in KiB: a few of the largest ones.
const QUEUE_KIB_MAX: u32 = 64 * 1024;

/// How a log on disk is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SledOptions {
    /// How much of the store is cached, in bytes. The process takes up to four times as much.
    pub cache_bytes: u64,
    /// Appends are refused as [`AppendError::Full`] rather than leave less than this free on the
    /// disk, in bytes; 0 means that nobody looks.
    pub free_bytes_min: u64,
    /// How much room is set aside in the folder to be able to open the log on a full disk, in
    /// bytes.
    pub reserve_bytes: u64,
    /// Up to this many records the whole log is read and every entry counted in at each start; of a
    /// longer log only the end is checked. By default every log is read whole: a start that takes
    /// longer is better than one on a damaged log.
    pub whole_check_records_max: u64,
    /// How many threads share the reading of the whole log; at least 1.
    pub check_threads: usize,
}

impl Default for SledOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 128 * 1024 * 1024,
            free_bytes_min: 64 * 1024 * 1024,
            reserve_bytes: 32 * 1024 * 1024,
            whole_check_records_max: u64::MAX,
            // More would wait for each other: the log is read through one cache.
            check_threads: thread::available_parallelism()
                .map_or(1, usize::from)
                .min(8),
        }
    }
}

/// A log on disk. See the [module](self).
///
/// Dropping it waits for what is being written, as [`close`](EventLog::close) does.
pub struct SledLog {
    queue: Mutex<Option<mpsc::Sender<Request>>>,
    room: Arc<Semaphore>,
    view: Arc<View>,
    counters: Arc<Counters>,
    durable: watch::Receiver<Position>,
    /// Closed once the committer has let go of the files.
    ended: watch::Receiver<()>,
    committer: Option<JoinHandle<()>>,
    origin: Mutex<Origin>,
}

impl SledLog {
    /// Opens the log in the folder `path`, or creates it there. Blocks: after an unclean stop of a
    /// large log for seconds.
    pub fn open(path: impl AsRef<Path>, options: &SledOptions) -> Result<Self, OpenError> {
        Self::open_to(path.as_ref(), options, Purpose::Use)
    }

    /// Makes a log in an empty folder for [`crate::transfer::import`]. Until
    /// [`finish_import`](Self::finish_import) nobody can open the folder otherwise.
    pub fn open_for_import(
        path: impl AsRef<Path>,
        options: &SledOptions,
    ) -> Result<Self, OpenError> {
        Self::open_to(path.as_ref(), options, Purpose::Import)
    }

    /// Makes an imported log one that can be opened. Everything in it is on the device by then.
    pub fn finish_import(&self) -> io::Result<()> {
        let store = self.view.store().ok_or_else(closed)?;
        store.finish_import()
    }

    /// Removes everything that an import which did not end left in the folder, and nothing where there
    /// was none. The log must be closed.
    pub fn discard_import(path: impl AsRef<Path>) -> Result<(), OpenError> {
        Folder::discard_import(path.as_ref())
    }

    /// Where the snapshot of the store in the folder `path` keeps the log from opening: that refusal, and
    /// whether the log is whole without it, tried on a copy in a new folder below `place`, which is
    /// removed again. `None` where that is not what is wrong. Changes nothing in the folder.
    pub fn try_without_snapshot(
        path: impl AsRef<Path>,
        place: impl AsRef<Path>,
    ) -> Result<Option<(OpenError, Trial)>, OpenError> {
        trial::run(path.as_ref(), place.as_ref())
    }

    fn open_to(path: &Path, options: &SledOptions, purpose: Purpose) -> Result<Self, OpenError> {
        let Opened {
            store,
            mark,
            tip,
            origin,
            wants_reserve,
        } = open::open(path, options, purpose)?;
        let view = Arc::new(View::new(Arc::clone(&store), tip.head));
        let counters = Arc::new(Counters::default());
        let (publish, durable) = watch::channel(tip.head.position);
        let (alive, ended) = watch::channel(());
        let (queue, requests) = mpsc::channel(GROUP_MAX);
        let io = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        let waker = Waker::start(Arc::clone(&store)).map_err(io)?;
        let committer = Committer {
            store,
            view: Arc::clone(&view),
            counters: Arc::clone(&counters),
            waker,
            mark,
            tip,
            tails: Tails::default(),
            publish,
            stopped: None,
            wants_reserve,
        };
        let thread = thread::Builder::new().name("holdpoint-log".to_owned());
        let committer = thread.spawn(move || {
            committer.run(requests);
            drop(alive);
        });
        let committer = committer.map_err(io)?;
        Ok(Self {
            queue: Mutex::new(Some(queue)),
            room: Arc::new(Semaphore::new(QUEUE_KIB_MAX as usize)),
            view,
            counters,
            durable,
            ended,
            committer: Some(committer),
            origin: Mutex::new(origin),
        })
    }

    /// Whether the folder has room set aside to open the log on a full disk.
    pub fn has_reserve(path: impl AsRef<Path>) -> bool {
        reserve::is_there(path.as_ref())
    }

    /// Queues it for the writer and waits for the answer.
    async fn hand_in(&self, work: Work, bytes: usize) -> Result<Appended, AppendError> {
        let closed = || AppendError::Stopped {
            reason: "it was closed".to_owned(),
        };
        let queue = self
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let queue = queue.ok_or_else(closed)?;
        let kib = u32::try_from(bytes / 1024 + 1)
            .unwrap_or(u32::MAX)
            .min(QUEUE_KIB_MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(kib).await;
        let room = room.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let request = Request {
            work,
            bytes,
            answer,
            room,
        };
        queue.send(request).await.map_err(|_| closed())?;
        drop(queue);
        answered.await.unwrap_or_else(|_| {
            Err(AppendError::Io(io::Error::other(
                "the writer of the log ended before it answered",
            )))
        })
    }

    fn end_queue(&self) {
        drop(
            self.queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }
}

impl Drop for SledLog {
    fn drop(&mut self) {
        self.end_queue();
        if let Some(committer) = self.committer.take() {
            // A committer that panicked has told its waiters by dropping them.
            drop(committer.join());
        }
    }
}

fn closed() -> io::Error {
    io::Error::other("the log is closed")
}

#[async_trait]
impl EventLog for SledLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let bytes = bounds::check(&batch)?;
        self.hand_in(Work::Append(batch), bytes).await
    }

    async fn restore(&self, records: Vec<Record>) -> Result<(), AppendError> {
        let bytes = bounds::check_records(&records)?;
        self.hand_in(Work::Restore(records), bytes).await.map(drop)
    }

    fn may_append(&self) -> Result<(), AppendError> {
        let store = self.view.store().ok_or_else(|| AppendError::Stopped {
            reason: "it was closed".to_owned(),
        })?;
        match store.too_full(0) {
            Some(reason) => Err(AppendError::Full { reason }),
            None => Ok(()),
        }
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.view.stream(stream, after, limit)
    }

    fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError> {
        self.view.stream_version(stream)
    }

    fn read_all(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.view.records(after, limit)
    }

    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.view.value(&keys::entry(index, key))
    }

    fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError> {
        self.view.scan(index, range, limit, direction)
    }

    fn claim(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.view.value(&keys::claim(key))
    }

    fn claims(&self, above: Option<&[u8]>, limit: usize) -> Result<Entries, ReadError> {
        self.view.claims(above, limit)
    }

    fn subscribe(&self, after: Position) -> Subscription {
        Subscription::new(
            Arc::clone(&self.view) as Arc<_>,
            self.durable.clone(),
            after,
        )
    }

    fn origin(&self) -> Origin {
        *self.origin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn confirm_origin(&self) -> io::Result<()> {
        self.view.store().ok_or_else(closed)?.confirm_origin()?;
        *self.origin.lock().unwrap_or_else(PoisonError::into_inner) = Origin::Own;
        Ok(())
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        let head = self.view.head();
        Ok(Stats {
            records: head.position,
            bytes: self.view.bytes_on_disk()?,
            last_position: head.position,
            last_hash: head.hash,
            batches: self.counters.batches.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
        })
    }

    async fn close(&self) {
        self.end_queue();
        // An error says that the sender is gone, which is what is waited for.
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

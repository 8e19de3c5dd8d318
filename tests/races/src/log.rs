//! Files of `storage/src/sled_log`, over a device that is counted ([`store`], [`mark`], [`waker`]).

#[path = "../../../storage/src/sled_log/committer.rs"]
pub(crate) mod committer;
#[expect(unreachable_pub, reason = "public where it is at home")]
#[path = "../../../storage/src/sled_log/fault.rs"]
mod fault;
#[path = "../../../storage/src/sled_log/group.rs"]
pub(crate) mod group;
#[path = "../../../storage/src/sled_log/keys.rs"]
pub(crate) mod keys;
pub(crate) mod mark;
#[path = "../../../storage/src/sled_log/scan.rs"]
mod scan;
pub(crate) mod store;
mod sync;
#[path = "../../../storage/src/sled_log/values.rs"]
mod values;
#[path = "../../../storage/src/sled_log/view.rs"]
pub(crate) mod view;
mod waker;

pub(crate) use holdpoint_storage::log::*;

use std::sync::Arc;

use shuttle::thread::{self, JoinHandle};
use tokio::sync::{Semaphore, oneshot, watch};

use crate::batch::Batch;
use crate::chain::Head;
use crate::record::{Position, Record, StreamId, Version};
use committer::{Committer, Counters, GROUP_MAX, Request, Work};
use group::Tails;
use keys::Tip;
use mark::Mark;
use store::Store;
use sync::mpsc::{self, SyncSender};
use view::View;
use waker::Waker;

/// One place for the store, emptied for each schedule: opening it costs more than a schedule.
pub(crate) struct Disk {
    db: sled::Db,
    _folder: tempfile::TempDir,
}

impl Disk {
    pub(crate) fn new() -> Self {
        // In memory where there is such a place: no real device is asked here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder");
        let config = sled::Config::new().path(folder.path().join("store"));
        let db = config.flush_every_ms(None).open().expect("a store");
        Self {
            db,
            _folder: folder,
        }
    }
}

/// The log, as its own files put it together.
pub(crate) struct Log {
    queue: SyncSender<Request>,
    view: Arc<View>,
    store: Arc<Store>,
    room: Arc<Semaphore>,
    committer: JoinHandle<()>,
}

impl Log {
    /// An empty log whose device fails after so many syncs.
    pub(crate) fn open(disk: &Disk, syncs: u64) -> Self {
        disk.db.clear().expect("an empty store");
        let store = Arc::new(Store::new(disk.db.clone(), syncs));
        let view = Arc::new(View::new(Arc::clone(&store), Head::default()));
        let (queue, requests) = mpsc::channel(GROUP_MAX);
        let committer = Committer {
            store: Arc::clone(&store),
            view: Arc::clone(&view),
            counters: Arc::new(Counters::default()),
            waker: Waker::default(),
            mark: Mark,
            tip: Tip::default(),
            tails: Tails::default(),
            publish: watch::Sender::new(0),
            stopped: None,
            wants_reserve: false,
        };
        Self {
            queue,
            view,
            store,
            room: Arc::new(Semaphore::new(1024)),
            committer: thread::spawn(move || committer.run(requests)),
        }
    }

    pub(crate) fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let (answer, answered) = oneshot::channel();
        let room = Arc::clone(&self.room).try_acquire_owned();
        let request = Request {
            work: Work::Append(batch),
            bytes: 1,
            answer,
            room: room.expect("there is room for all"),
        };
        assert!(self.queue.send(request).is_ok(), "the writer is there");
        shuttle::future::block_on(answered).expect("an answer")
    }

    /// What a reader sees, each part at a moment of its own.
    pub(crate) fn records(&self) -> Vec<Record> {
        let records = self.view.records(0, usize::MAX).expect("records");
        let last = records.last().map_or(0, |record| record.position);
        assert!(last <= self.durable(), "read before it was durable");
        records
    }

    pub(crate) fn head(&self) -> Position {
        self.view.head().position
    }

    pub(crate) fn stream(&self, stream: &StreamId) -> Vec<Record> {
        let records = self.view.stream(stream, 0, usize::MAX).expect("records");
        let last = records.last().map_or(0, |record| record.position);
        assert!(last <= self.durable(), "read before it was durable");
        records
    }

    pub(crate) fn stream_version(&self, stream: &StreamId) -> Version {
        self.view.stream_version(stream).expect("a version")
    }

    pub(crate) fn entry(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.view.value(&keys::entry(1, key)).expect("an entry")
    }

    pub(crate) fn entries(&self) -> Entries {
        let scanned = self
            .view
            .scan(1, ScanRange::default(), 100, Direction::Forward);
        scanned.expect("entries")
    }

    pub(crate) fn claim(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.view.value(&keys::claim(key)).expect("a claim")
    }

    pub(crate) fn durable(&self) -> Position {
        self.store.durable()
    }

    /// Ends the queue and waits for the writer to let go.
    pub(crate) fn close(self) {
        drop(self.queue);
        self.committer.join().expect("the writer ends");
    }
}

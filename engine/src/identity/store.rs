//! People, keys and sessions over a log.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use holdpoint_storage::{
    AppendError, Batch, Claim, Direction, EventLog, IndexPut, NewRecord, ScanRange, StreamAppend,
    Version,
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore};

use super::directory::Directory;
use super::error::{OpenIdentityError, StoreError};
use super::event::{self, Event};
use super::secret::Secret;
use super::streams;
use super::throttle::Throttle;
use crate::limits;
use crate::time::{Clock, Entropy, Timestamp};

/// People, groups, roles, keys and sessions of one log. Cheap to clone.
///
/// Changes are made one after another, each durable before it is answered; they are finished even
/// if the future that asked for them is dropped. Needs a Tokio runtime.
///
/// Only one `Identity` at a time may change people and keys of one log: it learns of changes from
/// itself alone.
#[derive(Clone)]
pub struct Identity {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) log: Arc<dyn EventLog>,
    clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    directory: RwLock<Directory>,
    throttle: Mutex<Throttle>,
    /// Held while a change is decided and written.
    writing: Arc<AsyncMutex<()>>,
    /// Password hashes that may be computed at once: each takes 19 MiB and a core.
    hashing: Arc<Semaphore>,
    /// Sign-ins that may wait for their hash.
    pub(super) queue: Arc<Semaphore>,
    latest: AtomicI64,
}

/// The right to change something; one at a time.
pub(super) type Turn = OwnedMutexGuard<()>;

/// A change that is about to be written.
pub(super) struct Draft {
    by: String,
    at: Timestamp,
    facts: Vec<(String, Event)>,
    batch: Batch,
}

impl Identity {
    /// Loads the people and keys of a log.
    pub fn open(
        log: Arc<dyn EventLog>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, OpenIdentityError> {
        let directory = load(log.as_ref())?;
        Ok(Self {
            inner: Arc::new(Inner {
                log,
                clock,
                entropy,
                directory: RwLock::new(directory),
                throttle: Mutex::new(Throttle::new()),
                writing: Arc::new(AsyncMutex::new(())),
                hashing: Arc::new(Semaphore::new(limits::PASSWORD_HASHES_AT_ONCE)),
                queue: Arc::new(Semaphore::new(limits::SIGN_INS_WAITING)),
                latest: AtomicI64::new(i64::MIN),
            }),
        })
    }

    /// The time now. Never earlier than before in this process: a clock that steps back lengthens
    /// no deadline (invariant I9).
    pub(super) fn now(&self) -> Timestamp {
        let now = self.inner.clock.now();
        let before = self.inner.latest.fetch_max(now.0, Ordering::Relaxed);
        now.max(Timestamp(before))
    }

    // No code that runs under these locks can panic half-way through a change, so a poisoned lock
    // guards a whole state all the same.
    pub(super) fn directory(&self) -> RwLockReadGuard<'_, Directory> {
        let lock = &self.inner.directory;
        lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn directory_mut(&self) -> RwLockWriteGuard<'_, Directory> {
        let lock = &self.inner.directory;
        lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn throttle(&self) -> MutexGuard<'_, Throttle> {
        let lock = &self.inner.throttle;
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else is changing anything. Nobody gets a turn after a write that failed:
    /// what is in memory may then be older than the log, so that not even "it is so already" is known
    /// (invariant I22).
    pub(super) async fn turn(&self) -> Result<Turn, StoreError> {
        let turn = Arc::clone(&self.inner.writing).lock_owned().await;
        self.inner.log.may_append()?;
        Ok(turn)
    }

    /// Writes a change, then applies it to the directory. `turn` is what its decision was made
    /// under. Answers with the time that the log gave it.
    pub(super) async fn commit(&self, turn: Turn, draft: Draft) -> Result<Timestamp, StoreError> {
        let this = self.clone();
        // A task of its own: if the caller goes away half-way, the directory must still learn of
        // what was written.
        let written = tokio::spawn(async move {
            let appended = this.inner.log.append(draft.batch).await?;
            let at = Timestamp(appended.time_ms);
            let mut directory = this.directory_mut();
            for (id, event) in &draft.facts {
                directory
                    .evolve(&draft.by, id, at, event)
                    .map_err(|reason| StoreError::Damaged {
                        place: id.clone(),
                        reason,
                    })?;
            }
            drop(directory);
            drop(turn);
            Ok(at)
        });
        written.await.unwrap_or(Err(StoreError::ShuttingDown))
    }

    /// Runs something about a password on a thread where it may take its time.
    pub(super) async fn hashing<T: Send + 'static>(
        &self,
        password: &Secret,
        work: impl FnOnce(&Secret) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.inner.hashing).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::ShuttingDown)?;
        let password = password.clone();
        // The permit goes along: a caller that goes away does not make room for one more.
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&password);
            drop(permit);
            done
        });
        done.await.map_err(|_| StoreError::ShuttingDown)
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl Draft {
    /// A change that `by` makes at `at`.
    pub(super) fn new(by: &str, at: Timestamp) -> Self {
        Self {
            by: by.to_owned(),
            at,
            facts: Vec::new(),
            batch: Batch::default(),
        }
    }

    /// Whether it would change nothing.
    pub(super) fn is_empty(&self) -> bool {
        let Batch {
            streams,
            puts,
            deletes,
            claims,
            ..
        } = &self.batch;
        streams.is_empty() && puts.is_empty() && deletes.is_empty() && claims.is_empty()
    }

    /// Adds a fact about `id`, whose stream is at version `expected`; at most one per stream.
    pub(super) fn append(
        &mut self,
        id: &str,
        expected: Version,
        event: Event,
    ) -> Result<(), StoreError> {
        let stream = streams::of(id)?;
        self.append_to(stream, expected, &event);
        self.facts.push((id.to_owned(), event));
        Ok(())
    }

    /// Adds a fact that the directory need not know.
    pub(super) fn append_to(
        &mut self,
        stream: holdpoint_storage::StreamId,
        expected: Version,
        event: &Event,
    ) {
        let record = NewRecord {
            time_ms: self.at.0,
            actor: self.by.clone(),
            kind: event.kind().to_owned(),
            body: event::encode(event),
        };
        self.batch.streams.push(StreamAppend {
            stream,
            expected,
            records: vec![record],
        });
    }

    /// Makes the change fail if the stream of `id` is not at this version.
    pub(super) fn expect(&mut self, id: &str, expected: Version) -> Result<(), StoreError> {
        self.batch.streams.push(StreamAppend {
            stream: streams::of(id)?,
            expected,
            records: Vec::new(),
        });
        Ok(())
    }

    pub(super) fn put(&mut self, index: u8, key: impl Into<Vec<u8>>, value: Vec<u8>) {
        let key = key.into();
        self.batch.puts.push(IndexPut { index, key, value });
    }

    pub(super) fn delete(&mut self, index: u8, key: impl Into<Vec<u8>>) {
        self.batch.deletes.push((index, key.into()));
    }

    pub(super) fn claim(&mut self, key: Vec<u8>, holder: &str) {
        let value = holder.as_bytes().to_vec();
        self.batch.claims.push(Claim { key, value });
    }
}

/// The holder of a claim that somebody else has, as text.
pub(super) fn claim_holder(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Append(AppendError::ClaimTaken { holder, key: _ }) => {
            Some(String::from_utf8_lossy(holder).into_owned())
        }
        StoreError::Append(
            AppendError::VersionConflict { .. }
            | AppendError::Invalid { .. }
            | AppendError::Full { .. }
            | AppendError::Io(_)
            | AppendError::Stopped { .. },
        )
        | StoreError::Read(_)
        | StoreError::Damaged { .. }
        | StoreError::Entropy(_)
        | StoreError::ShuttingDown => None,
    }
}

/// The entries of an index under a prefix, at most `limit`.
pub(super) fn entries(
    log: &dyn EventLog,
    index: u8,
    prefix: &[u8],
    limit: usize,
) -> Result<holdpoint_storage::Entries, StoreError> {
    let range = ScanRange {
        prefix,
        above: None,
        below: None,
    };
    Ok(log.scan(index, range, limit, Direction::Forward)?)
}

fn load(log: &dyn EventLog) -> Result<Directory, OpenIdentityError> {
    let mut directory = Directory::default();
    for (index, what, max) in [
        (streams::PEOPLE, "people", limits::PEOPLE_MAX),
        (streams::KEYS, "keys", limits::KEYS_MAX),
    ] {
        let listed = entries(log, index, b"", max + 1)?;
        if listed.len() > max {
            return Err(OpenIdentityError::TooMany { what, max });
        }
        for (key, _) in listed {
            replay(log, &mut directory, &String::from_utf8_lossy(&key))?;
        }
    }
    for (key, value) in entries(log, streams::KEY_USE, b"", limits::KEYS_MAX)? {
        let id = String::from_utf8_lossy(&key);
        let used = event::decode(&value).map_err(|reason| StoreError::Damaged {
            place: format!("the last use of {id}"),
            reason,
        })?;
        directory.key_used(&id, used);
    }
    Ok(directory)
}

fn replay(log: &dyn EventLog, directory: &mut Directory, id: &str) -> Result<(), StoreError> {
    let stream = streams::of(id)?;
    let mut after = 0;
    loop {
        let records = log.read_stream(&stream, after, limits::REPLAY_PAGE)?;
        let Some(last) = records.last() else {
            return Ok(());
        };
        after = last.version;
        for record in &records {
            event::decode(&record.body)
                .and_then(|event| {
                    directory.evolve(&record.actor, id, Timestamp(record.time_ms), &event)
                })
                .map_err(|reason| StoreError::Damaged {
                    place: format!("record {} of {stream}", record.version),
                    reason,
                })?;
        }
    }
}

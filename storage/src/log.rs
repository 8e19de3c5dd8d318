//! The contract between the engine and whatever keeps its log.

use std::path::PathBuf;

use async_trait::async_trait;

use crate::batch::{Batch, StreamAppend};
use crate::chain::Head;
use crate::record::{Hash, NewRecord, Position, Record, StreamId, Version};
use crate::subscription::Subscription;

/// The longest index key or claim key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;

/// The longest body of a record and the longest index value, in bytes. Longer than the largest
/// request that the engine accepts, with room for what an answer adds.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most bytes (bodies and values together) that one batch may carry.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Index entries as (key, value).
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A durable, append-only log of streams with index entries and unique claims.
///
/// What every implementation promises, and [`crate::conformance`] checks:
///
/// * **Atomic.** A batch is applied whole or not at all, across a crash too.
/// * **Durable.** `Ok` from [`append`](EventLog::append) means that everything in the batch is on
///   the device. Nothing is visible to any reader before that.
/// * **Ordered.** Positions are dense (1, 2, 3, …) in commit order; versions are dense in their
///   stream. Records of one batch are adjacent, in the order of `streams`.
/// * **Compare-and-append.** If any stream of a batch is at another version than expected, or any
///   claim is taken, nothing is written.
/// * **Read your writes.** After `append` has returned, every read sees the batch.
/// * **Chained.** Each record carries the hash of the one before it.
/// * **Time.** `time_ms` never decreases along the log.
/// * **Stops.** After an I/O error in an append, every later append fails with
///   [`AppendError::Stopped`] until the log is opened again (invariant I22). Reads may go on.
#[async_trait]
pub trait EventLog: Send + Sync + 'static {
    /// Applies a batch and waits until it is durable.
    ///
    /// May wait for its turn while the queue of writers is full (back-pressure). If the returned
    /// future is dropped, the batch may or may not be applied.
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError>;

    /// Fails where every append would. Once one has failed, nobody knows whether what it wrote is in
    /// the log, so that not even "it is so already" may be answered from memory (invariant I22); a
    /// log by itself knows of no such failure before the next append. [`AppendError::Full`] passes once
    /// there is room.
    fn may_append(&self) -> Result<(), AppendError> {
        Ok(())
    }

    /// The records of a stream with a version above `after`, in order, at most `limit`.
    fn read_stream(
        &self,
        stream: &StreamId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError>;

    /// The version a stream is at; 0 where it does not exist.
    fn stream_version(&self, stream: &StreamId) -> Result<Version, ReadError>;

    /// The records of the whole log with a position above `after`, in order, at most `limit`.
    fn read_all(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError>;

    /// The value of one index entry.
    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError>;

    /// Index entries of a range as (key, value), in the order asked for, at most `limit`.
    fn scan(
        &self,
        index: u8,
        range: ScanRange<'_>,
        limit: usize,
        direction: Direction,
    ) -> Result<Entries, ReadError>;

    /// The value of a claim, where it is held.
    fn claim(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError>;

    /// Every durable record above `after`, then each new one, once each and in order.
    fn subscribe(&self, after: Position) -> Subscription;

    /// Claims as (key, value) with a key above `above`, ascending, at most `limit`.
    fn claims(&self, above: Option<&[u8]>, limit: usize) -> Result<Entries, ReadError>;

    /// Appends records exactly as another log had them: place, version, time and hashes included.
    /// [`AppendError::Invalid`], and nothing written, where one of them is not the next of the log
    /// or of its stream. Meant for a log that nobody else writes to.
    ///
    /// All at once or, by default, one after another: what was taken before an error stays.
    async fn restore(&self, records: Vec<Record>) -> Result<(), AppendError> {
        for record in records {
            restore_one(self, record).await?;
        }
        Ok(())
    }

    /// Whether this is the log that was last used here, or a copy of it (invariant I29). Stays as it
    /// was found at opening until [`confirm_origin`](EventLog::confirm_origin).
    fn origin(&self) -> Origin {
        Origin::Own
    }

    /// Notes that this copy is the log from now on.
    fn confirm_origin(&self) -> std::io::Result<()> {
        Ok(())
    }

    /// Figures about the log; cheap.
    fn stats(&self) -> Result<Stats, ReadError>;

    /// Waits for what is being written, then lets go of the files. Appends fail afterwards.
    async fn close(&self);
}

/// One record of [`EventLog::restore`], by an ordinary append.
async fn restore_one<L: EventLog + ?Sized>(log: &L, record: Record) -> Result<(), AppendError> {
    let io = |error: ReadError| AppendError::Io(std::io::Error::other(error.to_string()));
    let stats = log.stats().map_err(io)?;
    let head = Head {
        position: stats.last_position,
        hash: stats.last_hash,
        time_ms: None,
    };
    head.take(&record)?;
    let time_ms = record.time_ms;
    let append = StreamAppend {
        stream: record.stream,
        expected: record.version - 1,
        records: vec![NewRecord {
            time_ms,
            actor: record.actor,
            kind: record.kind,
            body: record.body,
        }],
    };
    let batch = Batch {
        streams: vec![append],
        ..Batch::default()
    };
    let appended = log.append(batch).await?;
    assert_eq!(
        appended.time_ms, time_ms,
        "nobody else writes, and the time of a chain never goes back"
    );
    Ok(())
}

/// Where a log comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is where it was when it was last used.
    Own,
    /// Its files are copies: of a backup, or of a folder that may still be in use elsewhere.
    Copied,
    /// It was imported, and nothing has used it since.
    Imported,
}

/// What an append did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The position of the first new record; where the batch had none, the last position.
    pub first: Position,
    /// The position of the last new record; where the batch had none, the last position.
    pub last: Position,
    /// The time given to the records of the batch, in milliseconds since the Unix epoch: the
    /// latest that was asked for, raised to the time of the log where that was later.
    pub time_ms: i64,
}

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// The keys of a scan: those that start with `prefix` and lie between the bounds. `above` and
/// `below` are whole keys (prefix included) and are themselves left out; a cursor is the last key
/// of the page before.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanRange<'a> {
    /// What every key starts with; empty for the whole index.
    pub prefix: &'a [u8],
    /// Only keys greater than this.
    pub above: Option<&'a [u8]>,
    /// Only keys less than this.
    pub below: Option<&'a [u8]>,
}

/// Figures about a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many records it holds.
    pub records: u64,
    /// The bytes that it takes on disk (or in memory).
    pub bytes: u64,
    /// The position of the last durable record; 0 where there is none.
    pub last_position: Position,
    /// The hash of the last durable record.
    pub last_hash: Hash,
    /// Batches and device syncs since opening: their ratio is the group size.
    pub batches: u64,
    /// Device syncs since opening.
    pub syncs: u64,
}

impl Stats {
    /// Bytes on disk per record; 0 for an empty log.
    pub fn bytes_per_record(&self) -> u64 {
        self.bytes.checked_div(self.records).unwrap_or(0)
    }
}

/// Why a batch was not applied. One variant for each thing that a caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer was first. Load again and decide again; nothing was written.
    #[error("stream {stream} is at version {actual}, the append expected {expected}")]
    VersionConflict {
        /// The stream that moved.
        stream: StreamId,
        /// The version the batch was decided on.
        expected: Version,
        /// The version it is at.
        actual: Version,
    },
    /// Somebody holds the claim. Nothing was written.
    #[error("a claim of the batch is already held")]
    ClaimTaken {
        /// The key of the claim.
        key: Vec<u8>,
        /// The value that its holder left.
        holder: Vec<u8>,
    },
    /// The batch breaks a bound (see the constants of this module). Nothing was written; the same
    /// batch will never be accepted.
    #[error("the batch cannot be stored: {reason}")]
    Invalid {
        /// Which bound, in words.
        reason: String,
    },
    /// There is no room for it. Nothing was written; free space and try again.
    #[error("the store is full: {reason}")]
    Full {
        /// What is exhausted.
        reason: String,
    },
    /// Whether the batch is on disk is unknown. Stop, open the log again, and read.
    #[error("cannot append to the log")]
    Io(#[source] std::io::Error),
    /// An earlier append met an I/O error, or the log was closed; nothing was written.
    #[error("the log has stopped accepting records: {reason}")]
    Stopped {
        /// Why it stopped.
        reason: String,
    },
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// What is on disk is not what was written there.
    #[error("the log is damaged at {place}: {reason}")]
    Corrupt {
        /// Where: a position or a key, in words.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The device failed.
    #[error("cannot read the log")]
    Io(#[source] std::io::Error),
}

/// Why a log could not be opened. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{} is in use by {holder}; stop that process first, or name another folder", path.display())]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// Who holds it, as far as can be told: "process 4711", or "another process".
        holder: String,
    },
    /// It was written by a newer version of this program.
    #[error(
        "{} has format {found}, this version reads up to {supported}; start the newer version again",
        path.display()
    )]
    NewerFormat {
        /// The data folder.
        path: PathBuf,
        /// The format on disk.
        found: u32,
        /// The newest format that this version knows.
        supported: u32,
    },
    /// It is damaged, or is not a log.
    #[error("{} cannot be opened: {reason}; {advice}", path.display())]
    Damaged {
        /// The data folder.
        path: PathBuf,
        /// What was found.
        reason: String,
        /// What to do next.
        advice: String,
    },
    /// One file of the store is not to be believed, and the log may be whole without it.
    #[error(
        "{} cannot be opened: its file {} {reason}; nothing was changed, and the log may be whole without that \
         file: try that before a backup is restored",
        path.display(),
        file.display()
    )]
    Snapshot {
        /// The data folder.
        path: PathBuf,
        /// The file, in that folder.
        file: PathBuf,
        /// What is wrong with it, after "it".
        reason: String,
    },
    /// There is a log, where a new one was to be made.
    #[error("{} holds a log already; nothing was changed; name an empty folder", path.display())]
    NotEmpty {
        /// The data folder.
        path: PathBuf,
    },
    /// There is no room to open it.
    #[error("{} cannot be opened: the disk is full; free some space and start again", path.display())]
    Full {
        /// The data folder.
        path: PathBuf,
    },
    /// The operating system said no.
    #[error("cannot open {}", path.display())]
    Io {
        /// The data folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

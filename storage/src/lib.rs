//! One log of streams.
//!
//! Everything that Holdpoint knows is a sequence of [`Record`]s in one log. A record belongs to a
//! stream (one action, one person, one run) and has a dense position in the log and a dense version
//! in its stream. The store knows nothing of what a body means.
//!
//! Read [`log`] first: the contract, with its promises. [`sled_log`] keeps it on disk, [`memory`]
//! in memory for tests, [`faulty`] breaks any of them on purpose, and [`conformance`] is the suite
//! that every implementation passes. [`verify`] checks the hash chain, [`transfer`] writes a log out
//! and reads it in again. [`seeded`] holds mistakes that tests switch on to see that they are noticed.

pub mod batch;
pub mod bounds;
pub mod chain;
mod claims;
pub mod codec;
pub mod conformance;
pub mod faulty;
mod forward;
pub mod log;
pub mod memory;
pub mod record;
pub mod seeded;
pub mod sled_log;
pub mod subscription;
pub mod transfer;
pub mod verify;

pub use batch::{Batch, Claim, IndexPut, StreamAppend};
pub use claims::Claims;
pub use log::{
    AppendError, Appended, Direction, Entries, EventLog, OpenError, Origin, ReadError, ScanRange,
    Stats,
};
pub use memory::MemoryLog;
pub use record::{Hash, NewRecord, Position, Record, StreamId, Version};
pub use sled_log::{OPENING_THREAD, SledLog, SledOptions, Trial};
pub use subscription::{Subscription, TailSource};

//! One atomic write.

use crate::record::{NewRecord, StreamId, Version};

/// Everything that becomes true at once, or not at all.
///
/// Within one batch deletes come before puts and releases before claims: a key that is in both ends
/// up written, and a claim can be handed over. Of two puts under one key the later one holds. The
/// bounds are in [`crate::bounds`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// New records, per stream. A stream appears at most once.
    pub streams: Vec<StreamAppend>,
    /// Index entries to write; an entry under the same key is replaced.
    pub puts: Vec<IndexPut>,
    /// Index entries to remove, as (index, key); removing what is not there is no error.
    pub deletes: Vec<(u8, Vec<u8>)>,
    /// Claims that must be free, or the whole batch fails.
    pub claims: Vec<Claim>,
    /// Keys of claims to give back; releasing what is not there is no error.
    pub releases: Vec<Vec<u8>>,
}

/// New records of one stream, with the version that they were decided on (compare-and-append).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamAppend {
    /// The stream.
    pub stream: StreamId,
    /// The version the stream must be at. With no records this only checks the version.
    pub expected: Version,
    /// What to append, in order.
    pub records: Vec<NewRecord>,
}

/// One entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPut {
    /// Which index; the numbers belong to the engine.
    pub index: u8,
    /// At most [`crate::log::KEY_BYTES_MAX`]. Scans go by byte order.
    pub key: Vec<u8>,
    /// At most [`crate::log::BODY_BYTES_MAX`].
    pub value: Vec<u8>,
}

/// A key that can be held once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// At most [`crate::log::KEY_BYTES_MAX`].
    pub key: Vec<u8>,
    /// What the holder wants whoever comes second to learn; at most 1 KiB.
    pub value: Vec<u8>,
}

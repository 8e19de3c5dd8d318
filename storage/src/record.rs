//! What the log holds.

use std::fmt;

/// The place of a record in the whole log: dense, starting at 1, in commit order. 0 means "before
/// the first record".
pub type Position = u64;

/// The place of a record in its stream: dense, starting at 1. 0 means "the stream is empty".
pub type Version = u64;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a stream: 1 to [`StreamId::LENGTH_MAX`] bytes of printable ASCII without spaces, for
/// example `action/0190c7e2…`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(String);

impl StreamId {
    /// Long enough for a kind and two UUIDs; short enough that keys stay small.
    pub const LENGTH_MAX: usize = 96;

    /// Takes a name, or answers `None` where it is empty, too long, or not printable ASCII.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let fits = !name.is_empty() && name.len() <= Self::LENGTH_MAX;
        (fits && name.bytes().all(|byte| byte.is_ascii_graphic())).then_some(Self(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A record as a writer hands it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// When it happened, in milliseconds since the Unix epoch. The log raises it to the time of the
    /// record before it where it is earlier, so that log time never goes back (invariant I9).
    pub time_ms: i64,
    /// Who caused it: an id such as `per_…`, `key_…` or `engine`. At most 128 bytes.
    pub actor: String,
    /// What kind of fact it is, for example `action.staged`. At most 64 bytes.
    pub kind: String,
    /// The fact itself, opaque to the store. May be empty; at most [`crate::log::BODY_BYTES_MAX`].
    pub body: Vec<u8>,
}

/// A record as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the log.
    pub position: Position,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Its place in the stream.
    pub version: Version,
    /// When it happened, in milliseconds since the Unix epoch; never earlier than the record before.
    pub time_ms: i64,
    /// Who caused it.
    pub actor: String,
    /// What kind of fact it is.
    pub kind: String,
    /// The fact itself.
    pub body: Vec<u8>,
    /// [`Record::hash`] of the record before it in the log; all zeros for the first.
    pub prev: Hash,
    /// SHA-256 over `prev` and every other field of this record (invariant I7).
    pub hash: Hash,
}

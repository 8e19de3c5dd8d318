//! The log as a file that knows no store: JSON, one object a line.
//!
//! ```text
//! {"holdpoint_log":1,"from":1,"to":2,"prev":"00…","whole":true,"incarnation":1}
//! {"position":1,"stream":"action/…","version":1,"time_ms":1790000000000,"actor":"key_…",
//!  "kind":"action.staged","body":"base64","prev":"00…","hash":"4f…"}           (on one line)
//! {"position":2, …}
//! {"claim":"base64","value":"base64"}
//! {"end":2,"last_hash":"9c…","claims":1,"sha256":"e1…"}
//! ```
//!
//! * The first line names the format and its version, the positions that follow, and the hash of the
//!   record before them (all zeros at the start of a log).
//! * A record has every field that its hash covers ([`crate::chain`]), so that whoever has the file
//!   can check it. Bodies, and the keys and values of claims, are base64 (RFC 4648, section 4, with
//!   padding); hashes are 64 hexadecimal digits; `time_ms` is milliseconds since the Unix epoch.
//! * Claims (which keys were used, and for what) stand in no record, so a whole log carries them along:
//!   without them a request could be taken twice after an import. No hash of a record covers them, so they
//!   have a digest of their own ([`crate::Claims`]), which is kept elsewhere together with the last hash.
//!   Indexes are not in the file: they are made from the records.
//! * The last line has the position and hash of the last record, the number of claims, and the SHA-256
//!   of all lines before it with their line ends. A file without it was cut off.
//!
//! Keys stand in this order. [`export`] writes, [`LogFile`] reads and checks, [`import`] fills an empty
//! log. Each holds a few records at a time, whatever the length of the log.

mod export;
mod import;
mod lines;
mod read;

pub use export::{ExportError, Exported, export};
pub use import::{ImportError, Imported, import};
pub use read::{FileError, Header, Item, LogFile};

/// The version of the format that [`export`] writes, and the newest that [`LogFile`] reads.
pub const FORMAT: u32 = 1;

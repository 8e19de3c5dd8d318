//! What can go wrong with people, keys and sessions. A variant per thing a caller can do about it.

use std::time::Duration;

use holdpoint_storage::{AppendError, ReadError};

use crate::time::EntropyError;

/// The log, the random source or the runtime failed; nobody's fault who asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The change was not stored, or it is unknown whether it was.
    #[error("the change could not be stored")]
    Append(#[from] AppendError),
    /// Something could not be read.
    #[error("the log could not be read")]
    Read(#[from] ReadError),
    /// A stored record or entry cannot be understood.
    #[error("{place} is damaged: {reason}; run `holdpoint verify` to see the extent of it")]
    Damaged {
        /// The stream or the entry.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The program is shutting down.
    #[error("the program is shutting down; try again once it is back")]
    ShuttingDown,
}

/// Why a person or a key was not created or changed. Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A value breaks a rule; correct it and try again.
    #[error("the {field} {reason}")]
    Invalid {
        /// Which value: `email`, `name`, `password`, `groups`, …
        field: &'static str,
        /// What is wrong with it and what is allowed.
        reason: String,
    },
    /// Another person has this address.
    #[error("a person with this email address exists already: {person}")]
    EmailTaken {
        /// The id of that person.
        person: String,
    },
    /// There is nobody and nothing with this id.
    #[error("there is no {what} {id}")]
    NotFound {
        /// `person` or `key`.
        what: &'static str,
        /// The id that was asked for.
        id: String,
    },
    /// The person is disabled, and this needs an enabled one.
    #[error("the person {id} is disabled; enable the account first")]
    Disabled {
        /// The id of the person.
        id: String,
    },
    /// Nobody would be left who can manage people.
    #[error("{id} is the last enabled administrator; give the role to somebody else first")]
    LastAdministrator {
        /// The id of the person.
        id: String,
    },
    /// There are as many as this system keeps.
    #[error("there are {max} {what} already, which is the most that are kept")]
    TooMany {
        /// `people` or `keys`.
        what: &'static str,
        /// The bound.
        max: usize,
    },
    /// The program failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a key or a session token does not authenticate. All but `Store` are "unauthenticated" to
/// the one who asked.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// It does not have the shape of a key or a token: mistyped or cut off.
    #[error("this is not a complete key or session token; check that all of it was copied")]
    Malformed,
    /// There is none like it: never issued, or ended.
    #[error("this key or session is not known; sign in again, or ask for a new key")]
    Unknown,
    /// Its time is over.
    #[error("this key or session has expired; sign in again, or ask for a new key")]
    Expired,
    /// The key was revoked.
    #[error("this key was revoked; ask for a new one")]
    Revoked,
    /// The person, or the owner of the key, is disabled.
    #[error("the account behind this key or session is disabled; ask an administrator")]
    Disabled,
    /// The program failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// Wrong address, wrong password, no password or a disabled account: not told apart on purpose.
    #[error("the email address or the password is wrong, or the account is disabled")]
    Refused,
    /// Too many attempts for this account or from this address, or too many at once.
    #[error("too many attempts; try again in {} s", retry_after.as_secs().max(1))]
    Throttled {
        /// When the next attempt will be looked at.
        retry_after: Duration,
    },
    /// The program failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a sign-in link signs nobody in.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Unknown, used before, expired, or of a disabled account: not told apart on purpose.
    #[error(
        "this sign-in link is not valid: it works once and for a short time; ask for a new one"
    )]
    Invalid,
    /// The program failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the people and keys of a log could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdentityError {
    /// The log cannot be read or understood.
    #[error("people and keys cannot be loaded")]
    Store(#[from] StoreError),
    /// More of them than this version keeps in memory.
    #[error("the log has more than {max} {what}, which is the most that this version loads")]
    TooMany {
        /// `people` or `keys`.
        what: &'static str,
        /// The bound.
        max: usize,
    },
}

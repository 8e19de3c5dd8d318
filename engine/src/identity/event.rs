//! The facts about people, keys and sessions, and how they are stored.
//!
//! A stored body is one format byte and then bincode. The order of variants and fields is for ever:
//! new ones go to the end.

use std::collections::{BTreeMap, BTreeSet};

use bincode::{Decode, Encode};

use super::password::PasswordHash;
use super::principal::Role;
use super::session::{SessionKind, SignInMethod};
use crate::action::PrincipalKind;
use crate::canon::Digest;
use crate::limits;
use crate::time::Timestamp;

/// The first byte of every stored body and view.
const FORMAT: u8 = 1;

/// One fact. Whom or what it is about is in the name of its stream; who did it and when, in the
/// record around it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// A person got an account. First in `person/…`.
    PersonCreated {
        /// The address to sign in with.
        email: String,
        /// The name shown to others.
        name: String,
        /// What the person may do.
        roles: BTreeSet<Role>,
        /// The groups of approvers the person belongs to.
        groups: BTreeSet<String>,
        /// What tools ask for.
        scopes: BTreeSet<String>,
        /// Further facts.
        attributes: BTreeMap<String, String>,
        /// What is stored of the password, where there is one.
        password: Option<PasswordHash>,
    },
    /// What the person is called or may do was changed to this. In `person/…`.
    PersonChanged {
        /// The name from now on.
        name: String,
        /// The roles from now on.
        roles: BTreeSet<Role>,
        /// The groups from now on.
        groups: BTreeSet<String>,
        /// The scopes from now on.
        scopes: BTreeSet<String>,
        /// The further facts from now on.
        attributes: BTreeMap<String, String>,
        /// Why.
        reason: Option<String>,
    },
    /// The person has a new password. In `person/…`.
    PasswordSet {
        /// What is stored of it.
        password: PasswordHash,
    },
    /// The account cannot be used any more. In `person/…`.
    PersonDisabled {
        /// Why.
        reason: String,
    },
    /// The account can be used again. In `person/…`.
    PersonEnabled {
        /// Why.
        reason: String,
    },
    /// A service or an agent got a key. First in `key/…`.
    KeyCreated {
        /// The part of the key that may be shown.
        public: String,
        /// The SHA-256 of the whole key.
        hash: Digest,
        /// The name of the service or agent.
        name: String,
        /// Service or agent; never a person.
        kind: PrincipalKind,
        /// The person who answers for it.
        owner: String,
        /// What it may do.
        scopes: BTreeSet<String>,
        /// Further facts.
        attributes: BTreeMap<String, String>,
        /// From when on it does not work any more.
        expires_at: Option<Timestamp>,
    },
    /// The key does not work any more. In `key/…`.
    KeyRevoked {
        /// Why.
        reason: String,
    },
    /// A person signed in. First in `session/…`.
    SessionStarted {
        /// Who.
        person: String,
        /// The SHA-256 of the token.
        hash: Digest,
        /// For a browser or for programs.
        kind: SessionKind,
        /// How the person proved who they are.
        method: SignInMethod,
        /// The address it came from.
        from: String,
        /// The absolute limit.
        expires_at: Timestamp,
    },
    /// The session is over. Last in `session/…`.
    SessionEnded {
        /// Whose it was.
        person: String,
        /// Why.
        cause: EndCause,
    },
    /// Somebody was not let in. In `sign-ins/refused`.
    SignInRefused {
        /// Whose account, where the address is known. An unknown address is not kept: people type
        /// passwords into the wrong field.
        person: Option<String>,
        /// The address it came from.
        from: String,
        /// Why.
        cause: RefusalCause,
        /// How many more were refused since the last record of this kind, without records of
        /// their own.
        unrecorded: u64,
    },
    /// A one-time sign-in link was made. First in `link/…`.
    LinkCreated {
        /// For whom.
        person: String,
        /// The SHA-256 of its token.
        hash: Digest,
        /// From when on it does not work any more.
        expires_at: Timestamp,
    },
    /// The link was used. Last in `link/…`.
    LinkRedeemed {
        /// The session that it started.
        session: String,
        /// The address it came from.
        from: String,
    },
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum EndCause {
    /// The person signed out.
    SignedOut,
    /// Somebody ended all sessions of the person.
    AllEnded,
    /// The account was disabled.
    Disabled,
    /// The password was changed.
    PasswordSet,
    /// Its time was over.
    Expired,
    /// The person has too many; the oldest ones go.
    TooMany,
}

impl EndCause {
    /// Its name in the history.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignedOut => "signed_out",
            Self::AllEnded => "all_ended",
            Self::Disabled => "disabled",
            Self::PasswordSet => "password_set",
            Self::Expired => "expired",
            Self::TooMany => "too_many",
        }
    }
}

/// Why somebody was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RefusalCause {
    /// Wrong password, or no such account.
    Wrong,
    /// The password was right, the account is disabled.
    Disabled,
    /// Too many attempts; the password was not looked at.
    Throttled,
    /// A sign-in link that is unknown, used, expired, or of a disabled account.
    Link,
}

impl RefusalCause {
    /// Its name in the history.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Disabled => "disabled",
            Self::Throttled => "throttled",
            Self::Link => "link",
        }
    }
}

impl Event {
    /// Its name in the log. A contract.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::PersonCreated { .. } => "person.created",
            Self::PersonChanged { .. } => "person.changed",
            Self::PasswordSet { .. } => "person.password_set",
            Self::PersonDisabled { .. } => "person.disabled",
            Self::PersonEnabled { .. } => "person.enabled",
            Self::KeyCreated { .. } => "key.created",
            Self::KeyRevoked { .. } => "key.revoked",
            Self::SessionStarted { .. } => "session.started",
            Self::SessionEnded { .. } => "session.ended",
            Self::SignInRefused { .. } => "sign_in.refused",
            Self::LinkCreated { .. } => "link.created",
            Self::LinkRedeemed { .. } => "link.redeemed",
        }
    }
}

/// The stored form of an event or a view.
pub(super) fn encode(value: &impl Encode) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    // Encoding into memory fails only for types that this module does not have.
    match bincode::encode_to_vec(value, bincode::config::standard()) {
        Ok(body) => bytes.extend(body),
        Err(error) => unreachable!("events and views can be encoded: {error}"),
    }
    bytes
}

/// Reads a stored form back; an error says what is wrong with it.
pub(super) fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, String> {
    let config = bincode::config::standard().with_limit::<{ limits::IDENTITY_RECORD_BYTES_MAX }>();
    match bytes.split_first() {
        Some((&FORMAT, body)) => match bincode::decode_from_slice(body, config) {
            Ok((value, used)) if used == body.len() => Ok(value),
            Ok(_) => Err("there are bytes after its end".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        Some((format, _)) => Err(format!("format {format} is newer than this version")),
        None => Err("it is empty".to_owned()),
    }
}

//! Sessions as others see them.

use bincode::{Decode, Encode};

use super::secret::Secret;
use crate::limits;
use crate::time::Timestamp;

/// The token of a session: shown to the one who signed in, once.
pub type SessionToken = Secret;

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SessionKind {
    /// A cookie of a browser.
    Browser,
    /// A bearer token for programs that act as the person.
    Api,
}

impl SessionKind {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Api => "api",
        }
    }

    /// The longest that such a session lives, in milliseconds.
    pub(super) fn lifetime_ms(self) -> u64 {
        match self {
            Self::Browser => limits::BROWSER_SESSION_MS,
            Self::Api => limits::API_SESSION_MS,
        }
    }
}

/// How a person proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SignInMethod {
    /// Address and password.
    Password,
    /// A one-time link.
    Link,
}

impl SignInMethod {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Link => "link",
        }
    }
}

/// One sign-in of a person. It says who, never what they may do: roles are read fresh each time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Session {
    /// `ses_…`; no secret.
    pub id: String,
    /// Whose it is, `per_…`.
    pub person: String,
    /// What it is for.
    pub kind: SessionKind,
    /// How the person proved who they are.
    pub method: SignInMethod,
    /// The address it was started from.
    pub from: String,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it was last used, to within a few minutes.
    pub last_seen_at: Timestamp,
    /// When it ends however much it is used.
    pub expires_at: Timestamp,
}

impl Session {
    /// Whether its time is over, by the absolute or the idle limit.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now || self.last_seen_at.plus_ms(limits::SESSION_IDLE_MS) <= now
    }
}

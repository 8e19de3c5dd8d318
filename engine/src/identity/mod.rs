//! Who acts: people, services and agents, always taken from the credential.
//!
//! Every person, key, session and sign-in link has a stream of its own in the log, so that each
//! change is in the history with who, when and why (invariant I24). People and keys are kept in
//! memory, sessions and links are looked up by the hash of their token.
//!
//! Invariants:
//! * A session or a key says who, never what they may do: roles, groups and scopes are read from
//!   the directory at each authentication.
//! * Whoever cannot be found is refused; there is no default principal.
//! * Keys belong to services and agents and carry no role, so they never vote.
//! * Of passwords, keys and tokens only hashes are stored, and [`describe`] shows not even those.
//!
//! Read in this order: [`Principal`]; the facts (`event`) and what they add up to (`directory`);
//! then the shell, [`Identity`].

mod describe;
mod directory;
mod error;
mod event;
#[cfg(test)]
mod format_tests;
mod indexes;
mod keys;
mod links;
mod password;
mod people;
mod person;
mod principal;
mod secret;
mod session;
mod sessions;
mod sign_in;
mod store;
mod streams;
pub(crate) mod text;
mod throttle;
mod token;

pub use describe::describe;
pub use error::{AuthError, ChangeError, LinkError, OpenIdentityError, SignInError, StoreError};
pub use event::{EndCause, Event, RefusalCause};
pub use indexes::ensure_indexes;
pub use password::PasswordHash;
pub use person::{Key, NewKey, NewPerson, Person, PersonChange};
pub use principal::{LOCAL, Principal, Role};
pub use secret::Secret;
pub use session::{Session, SessionKind, SessionToken, SignInMethod};
pub use store::Identity;

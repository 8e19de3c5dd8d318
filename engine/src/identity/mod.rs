//! Who acts: people, services and agents, always taken from the credential.

mod principal;

pub use principal::{Principal, Role};

/// People, keys and sessions.
pub struct Identity {}

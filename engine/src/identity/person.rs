//! People and keys as others see them.

use std::collections::{BTreeMap, BTreeSet};

use super::principal::Role;
use super::secret::Secret;
use crate::action::PrincipalKind;
use crate::time::Timestamp;

/// A person with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// `per_…`.
    pub id: String,
    /// The address to sign in with.
    pub email: String,
    /// The name shown to others.
    pub name: String,
    /// What the person may do.
    pub roles: BTreeSet<Role>,
    /// The groups of approvers the person belongs to.
    pub groups: BTreeSet<String>,
    /// What tools ask for.
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// Whether there is a password; without one only sign-in links let the person in.
    pub has_password: bool,
    /// Why the account is disabled; none while it is enabled.
    pub disabled: Option<String>,
    /// When the account was created.
    pub created_at: Timestamp,
    /// When anything about it was last changed.
    pub updated_at: Timestamp,
}

impl Person {
    /// Whether the account can be used.
    pub fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }
}

/// A person to be created.
#[derive(Clone, Debug, Default)]
pub struct NewPerson {
    /// The address to sign in with; no two people have the same, however it is written.
    pub email: String,
    /// The name shown to others, at most 100 characters.
    pub name: String,
    /// What the person may do.
    pub roles: BTreeSet<Role>,
    /// The groups of approvers the person belongs to.
    pub groups: BTreeSet<String>,
    /// What tools ask for.
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// At least 12 characters, at most 256 bytes.
    pub password: Option<Secret>,
}

/// What to change about a person; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct PersonChange {
    /// The name from now on.
    pub name: Option<String>,
    /// The roles from now on.
    pub roles: Option<BTreeSet<Role>>,
    /// The groups from now on.
    pub groups: Option<BTreeSet<String>>,
    /// The scopes from now on.
    pub scopes: Option<BTreeSet<String>>,
    /// The further facts from now on.
    pub attributes: Option<BTreeMap<String, String>>,
    /// Why, for the history.
    pub reason: Option<String>,
}

/// The key of a service or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// `key_…`.
    pub id: String,
    /// The part of the key that may be shown, to recognise it by.
    pub public: String,
    /// The name of the service or agent.
    pub name: String,
    /// Service or agent.
    pub kind: PrincipalKind,
    /// The person who answers for it, `per_…`.
    pub owner: String,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// From when on it does not work any more.
    pub expires_at: Option<Timestamp>,
    /// Why it was revoked; none while it works.
    pub revoked: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last used, to within an hour; none where it never was.
    pub last_used_at: Option<Timestamp>,
}

/// A key to be created.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// The name of the service or agent, at most 100 characters.
    pub name: String,
    /// [`PrincipalKind::Service`] or [`PrincipalKind::Agent`]; people have no keys.
    pub kind: PrincipalKind,
    /// The person who answers for it, `per_…`; must be enabled, now and whenever the key is used.
    pub owner: String,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// From when on it does not work any more; none for a key without end.
    pub expires_at: Option<Timestamp>,
}

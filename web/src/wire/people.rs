//! People, keys, sessions and tools on the wire.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::identity;
use holdpoint_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Json;

/// The email and the password of a person.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The address to sign in with.
    pub email: String,
    /// The password.
    pub password: String,
}

/// A session for programs that act as a person.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Send it as `Authorization: Bearer`. Shown once.
    pub token: String,
    /// When it ends however much it is used.
    pub expires_at: String,
    /// Whose it is.
    pub person: String,
    /// The name shown to others.
    pub name: String,
    /// What the person may do now.
    pub roles: Vec<String>,
}

/// A person with an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Person {
    /// `per_…`
    pub id: String,
    /// The address to sign in with.
    pub email: String,
    /// The name shown to others.
    pub name: String,
    /// `admin`, `approver`, `auditor`, `operator`, `requester`.
    pub roles: Vec<String>,
    /// The groups of approvers the person belongs to.
    pub groups: BTreeSet<String>,
    /// What tools ask for.
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// Whether there is a password.
    pub has_password: bool,
    /// Why the account is disabled; none while it is enabled.
    pub disabled: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
}

impl From<&identity::Person> for Person {
    fn from(person: &identity::Person) -> Self {
        Self {
            id: person.id.clone(),
            email: person.email.clone(),
            name: person.name.clone(),
            roles: person.roles.iter().map(|role| role.name().into()).collect(),
            groups: person.groups.clone(),
            scopes: person.scopes.clone(),
            attributes: person.attributes.clone(),
            has_password: person.has_password,
            disabled: person.disabled.clone(),
            created_at: person.created_at.rfc3339(),
            updated_at: person.updated_at.rfc3339(),
        }
    }
}

/// All people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct People {
    /// The people.
    pub data: Vec<Person>,
}

/// A person to be created.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPerson {
    /// The address to sign in with.
    pub email: String,
    /// The name shown to others, at most 100 characters.
    pub name: String,
    /// `admin`, `approver`, `auditor`, `operator`, `requester`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// The groups of approvers the person belongs to.
    #[serde(default)]
    pub groups: BTreeSet<String>,
    /// What tools ask for.
    #[serde(default)]
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// At least 12 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// What to change about a person; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonChange {
    /// The name from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The roles from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// The groups from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    /// The scopes from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<BTreeSet<String>>,
    /// The further facts from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<BTreeMap<String, String>>,
    /// Whether the account can be used from now on; needs a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A new password.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    /// At least 12 characters.
    pub password: String,
}

/// The key of a service or an agent, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Key {
    /// `key_…`
    pub id: String,
    /// The part that may be shown, to recognise it by.
    pub public: String,
    /// The name of the service or agent.
    pub name: String,
    /// `service` or `agent`.
    pub kind: String,
    /// The person who answers for it.
    pub owner: String,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// From when on it does not work any more.
    pub expires_at: Option<String>,
    /// Why it was revoked; none while it works.
    pub revoked: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// When it was last used, to within an hour.
    pub last_used_at: Option<String>,
}

impl From<&identity::Key> for Key {
    fn from(key: &identity::Key) -> Self {
        Self {
            id: key.id.clone(),
            public: key.public.clone(),
            name: key.name.clone(),
            kind: key.kind.name().into(),
            owner: key.owner.clone(),
            scopes: key.scopes.clone(),
            attributes: key.attributes.clone(),
            expires_at: key.expires_at.map(Timestamp::rfc3339),
            revoked: key.revoked.clone(),
            created_at: key.created_at.rfc3339(),
            last_used_at: key.last_used_at.map(Timestamp::rfc3339),
        }
    }
}

/// All keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    /// The keys.
    pub data: Vec<Key>,
}

/// A key to be created.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The name of the service or agent, at most 100 characters.
    pub name: String,
    /// `service` or `agent`.
    pub kind: String,
    /// The person who answers for it, `per_…`.
    pub owner: String,
    /// What it may do.
    #[serde(default)]
    pub scopes: BTreeSet<String>,
    /// Further facts, such as the tenant.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// From when on it does not work any more; RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// A key with its secret.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct KeyCreated {
    /// The key itself, `hp_…`. Shown once.
    pub secret: String,
    /// What is known of it from now on.
    pub key: Key,
}

/// A tool that can be called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// How it is treated.
    pub safety_class: String,
    /// Over its whole definition.
    pub digest: String,
    /// The schema of its arguments (JSON Schema 2020-12).
    pub input: Option<Json>,
    /// The scopes that a caller needs, all of them.
    pub required_scopes: BTreeSet<String>,
    /// Whether it is one that every run has, and that nobody calls outside of runs.
    #[serde(default)]
    pub built_in: bool,
}

/// All tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tools {
    /// The tools, by name.
    pub data: Vec<Tool>,
}

//! The principal behind a request.

use std::collections::{BTreeMap, BTreeSet};

use bincode::{Decode, Encode};

use crate::action::{Caller, Instigator, PrincipalKind};
use crate::approval::Voter;
use crate::time::Timestamp;

/// What a person may do. Roles do not include one another: an administrator does not vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Role {
    /// Manages people and keys.
    Admin,
    /// Votes.
    Approver,
    /// Reads everything, changes nothing.
    Auditor,
    /// Settles unknown outcomes, sees the state of the system.
    Operator,
    /// Proposes actions and follows the own ones.
    Requester,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 5] = [
        Self::Admin,
        Self::Approver,
        Self::Auditor,
        Self::Operator,
        Self::Requester,
    ];

    /// Its name on the wire and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Approver => "approver",
            Self::Auditor => "auditor",
            Self::Operator => "operator",
            Self::Requester => "requester",
        }
    }

    /// The role of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Who acts, as the credential of this request says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// `per_…` of a person, `key_…` of the key of a service or an agent.
    pub id: String,
    /// The name shown to others.
    pub name: String,
    /// A person, a service or an agent.
    pub kind: PrincipalKind,
    /// The person who owns the key; none for a person.
    pub owner: Option<String>,
    /// What tools ask for in `requiredScopes`, and `actions:read` to see the actions of others.
    pub scopes: BTreeSet<String>,
    /// The groups of a person.
    pub groups: BTreeSet<String>,
    /// The roles of a person; empty for services and agents.
    pub roles: BTreeSet<Role>,
    /// Further facts, such as the tenant.
    pub attributes: BTreeMap<String, String>,
    /// When a person last changed what others, or they themselves, may do.
    pub changed_access_at: Option<Timestamp>,
}

/// The id of whoever has the data folder in hand and runs something on it, without a server.
pub const LOCAL: &str = "local";

impl Principal {
    /// Whoever has the data folder in hand: a person who asks for actions and never votes. The scopes are
    /// all that there are, since the file that asks for them is in the same hands.
    pub fn local(name: &str, scopes: BTreeSet<String>) -> Self {
        Self {
            id: LOCAL.to_owned(),
            name: name.to_owned(),
            kind: PrincipalKind::Person,
            owner: None,
            scopes,
            groups: BTreeSet::new(),
            roles: BTreeSet::from([Role::Requester]),
            attributes: BTreeMap::new(),
            changed_access_at: None,
        }
    }

    /// As the caller of an action.
    pub fn caller(&self) -> Caller {
        Caller {
            id: self.id.clone(),
            name: self.name.clone(),
            kind: self.kind,
            owner: self.owner.clone(),
            attributes: self.attributes.clone(),
        }
    }

    /// As somebody who makes a run go on.
    pub fn instigator(&self) -> Instigator {
        Instigator {
            id: self.id.clone(),
            name: self.name.clone(),
            owner: self.owner.clone(),
        }
    }

    /// As somebody who wants to vote.
    pub fn voter(&self) -> Voter {
        Voter {
            id: self.id.clone(),
            name: self.name.clone(),
            groups: self.groups.clone(),
            is_person: self.kind == PrincipalKind::Person,
            is_approver: self.has(Role::Approver),
            changed_access_at: self.changed_access_at,
        }
    }

    /// Whether a person has the role; services and agents have none.
    pub fn has(&self, role: Role) -> bool {
        self.kind == PrincipalKind::Person && self.roles.contains(&role)
    }

    /// Whether the principal may see actions that others proposed.
    pub fn sees_all(&self) -> bool {
        [Role::Admin, Role::Approver, Role::Auditor, Role::Operator]
            .into_iter()
            .any(|role| self.has(role))
            || self.scopes.contains("actions:read")
    }
}

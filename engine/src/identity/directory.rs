//! The people and keys of a log, in memory.
//!
//! Pure: [`Directory::evolve`] is the only place where it changes, live and on replay.

use std::collections::{BTreeMap, HashMap};

use holdpoint_storage::Version;

use super::event::Event;
use super::password::PasswordHash;
use super::person::{Key, Person};
use super::principal::{Principal, Role};
use super::text;
use crate::action::PrincipalKind;
use crate::canon::Digest;
use crate::time::Timestamp;

/// Everybody who can act.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    people: BTreeMap<String, PersonEntry>,
    by_email: HashMap<String, String>,
    keys: BTreeMap<String, KeyEntry>,
    by_public: HashMap<String, String>,
    /// When each principal last changed what people may do.
    changed_access: HashMap<String, Timestamp>,
}

/// A person, and what is not shown of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PersonEntry {
    pub(super) person: Person,
    pub(super) password: Option<PasswordHash>,
    /// The version of the stream.
    pub(super) version: Version,
}

/// A key, and what is not shown of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyEntry {
    pub(super) key: Key,
    pub(super) hash: Digest,
    /// The version of the stream.
    pub(super) version: Version,
}

impl Directory {
    /// Applies one fact that `by` caused about the person or key `id`; says what is wrong where it
    /// cannot follow.
    pub(super) fn evolve(
        &mut self,
        by: &str,
        id: &str,
        at: Timestamp,
        event: &Event,
    ) -> Result<(), String> {
        if changes_access(by, id, event) {
            // Streams are replayed one after the other, not in the order of the log.
            let at = self
                .changed_access
                .get(by)
                .map_or(at, |before| at.max(*before));
            self.changed_access.insert(by.to_owned(), at);
        }
        match event {
            Event::PersonCreated { .. } => self.add_person(id, at, event),
            Event::KeyCreated { .. } => self.add_key(id, at, event),
            Event::PersonChanged { .. }
            | Event::PasswordSet { .. }
            | Event::PersonDisabled { .. }
            | Event::PersonEnabled { .. } => {
                let entry = self
                    .people
                    .get_mut(id)
                    .ok_or_else(|| format!("{} before {id} was created", event.kind()))?;
                entry.version += 1;
                entry.person.updated_at = at;
                entry.change(event);
                Ok(())
            }
            Event::KeyRevoked { reason } => {
                let entry = self
                    .keys
                    .get_mut(id)
                    .ok_or_else(|| format!("{} before {id} was created", event.kind()))?;
                entry.version += 1;
                entry.key.revoked = Some(reason.clone());
                Ok(())
            }
            // Sessions, links and refusals are looked up in the log, not kept here.
            Event::SessionStarted { .. }
            | Event::SessionEnded { .. }
            | Event::SignInRefused { .. }
            | Event::LinkCreated { .. }
            | Event::LinkRedeemed { .. } => Ok(()),
        }
    }

    fn add_person(&mut self, id: &str, at: Timestamp, event: &Event) -> Result<(), String> {
        let Event::PersonCreated {
            email,
            name,
            roles,
            groups,
            scopes,
            attributes,
            password,
        } = event
        else {
            return Err(format!("{} creates no person", event.kind()));
        };
        if self.people.contains_key(id) {
            return Err(format!("{id} was created twice"));
        }
        let person = Person {
            id: id.to_owned(),
            email: email.clone(),
            name: name.clone(),
            roles: roles.clone(),
            groups: groups.clone(),
            scopes: scopes.clone(),
            attributes: attributes.clone(),
            has_password: password.is_some(),
            disabled: None,
            created_at: at,
            updated_at: at,
        };
        self.by_email.insert(text::fold_email(email), id.to_owned());
        let entry = PersonEntry {
            person,
            password: password.clone(),
            version: 1,
        };
        self.people.insert(id.to_owned(), entry);
        Ok(())
    }

    fn add_key(&mut self, id: &str, at: Timestamp, event: &Event) -> Result<(), String> {
        let Event::KeyCreated {
            public,
            hash,
            name,
            kind,
            owner,
            scopes,
            attributes,
            expires_at,
        } = event
        else {
            return Err(format!("{} creates no key", event.kind()));
        };
        if self.keys.contains_key(id) {
            return Err(format!("{id} was created twice"));
        }
        let key = Key {
            id: id.to_owned(),
            public: public.clone(),
            name: name.clone(),
            kind: *kind,
            owner: owner.clone(),
            scopes: scopes.clone(),
            attributes: attributes.clone(),
            expires_at: *expires_at,
            revoked: None,
            created_at: at,
            last_used_at: None,
        };
        self.by_public.insert(public.clone(), id.to_owned());
        let entry = KeyEntry {
            key,
            hash: *hash,
            version: 1,
        };
        self.keys.insert(id.to_owned(), entry);
        Ok(())
    }

    /// Notes that a key was used; unknown ones are passed over.
    pub(super) fn key_used(&mut self, id: &str, at: Timestamp) {
        if let Some(entry) = self.keys.get_mut(id) {
            entry.key.last_used_at = Some(at);
        }
    }

    /// A person as a principal, with what they may do now.
    pub(super) fn principal(&self, entry: &PersonEntry) -> Principal {
        let person = &entry.person;
        Principal {
            id: person.id.clone(),
            name: person.name.clone(),
            kind: PrincipalKind::Person,
            owner: None,
            scopes: person.scopes.clone(),
            groups: person.groups.clone(),
            roles: person.roles.clone(),
            attributes: person.attributes.clone(),
            changed_access_at: self.changed_access.get(&person.id).copied(),
        }
    }

    pub(super) fn person(&self, id: &str) -> Option<&PersonEntry> {
        self.people.get(id)
    }

    pub(super) fn person_by_email(&self, email: &str) -> Option<&PersonEntry> {
        self.by_email
            .get(&text::fold_email(email))
            .and_then(|id| self.people.get(id))
    }

    /// By the time of their creation (to the millisecond).
    pub(super) fn people(&self) -> impl ExactSizeIterator<Item = &Person> {
        self.people.values().map(|entry| &entry.person)
    }

    pub(super) fn key(&self, id: &str) -> Option<&KeyEntry> {
        self.keys.get(id)
    }

    pub(super) fn key_by_public(&self, public: &str) -> Option<&KeyEntry> {
        self.by_public.get(public).and_then(|id| self.keys.get(id))
    }

    /// By the time of their creation (to the millisecond).
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.keys.values().map(|entry| &entry.key)
    }

    /// Whether an enabled person other than `id` is an administrator.
    pub(super) fn has_other_admin(&self, id: &str) -> bool {
        self.people()
            .any(|person| person.id != id && person.is_enabled() && is_admin(person))
    }
}

/// Whether the person has the role of administrator.
pub(super) fn is_admin(person: &Person) -> bool {
    person.roles.contains(&Role::Admin)
}

impl PersonEntry {
    fn change(&mut self, event: &Event) {
        let person = &mut self.person;
        match event {
            Event::PersonChanged {
                name,
                roles,
                groups,
                scopes,
                attributes,
                reason: _,
            } => {
                person.name.clone_from(name);
                person.roles.clone_from(roles);
                person.groups.clone_from(groups);
                person.scopes.clone_from(scopes);
                person.attributes.clone_from(attributes);
            }
            Event::PasswordSet { password } => {
                person.has_password = true;
                self.password = Some(password.clone());
            }
            Event::PersonDisabled { reason } => person.disabled = Some(reason.clone()),
            Event::PersonEnabled { reason: _ } => person.disabled = None,
            Event::PersonCreated { .. }
            | Event::KeyCreated { .. }
            | Event::KeyRevoked { .. }
            | Event::SessionStarted { .. }
            | Event::SessionEnded { .. }
            | Event::SignInRefused { .. }
            | Event::LinkCreated { .. }
            | Event::LinkRedeemed { .. } => {}
        }
    }
}

impl KeyEntry {
    /// The service or agent as a principal: never with a role or a group.
    pub(super) fn principal(&self) -> Principal {
        Principal {
            id: self.key.id.clone(),
            name: self.key.name.clone(),
            kind: self.key.kind,
            owner: Some(self.key.owner.clone()),
            scopes: self.key.scopes.clone(),
            groups: std::collections::BTreeSet::new(),
            roles: std::collections::BTreeSet::new(),
            attributes: self.key.attributes.clone(),
            changed_access_at: None,
        }
    }
}

/// Whether the event gives somebody, or takes from somebody, what they may do, or lets `by` sign in
/// as somebody else. A new password of one's own does neither.
fn changes_access(by: &str, id: &str, event: &Event) -> bool {
    match event {
        Event::PersonCreated { .. }
        | Event::PersonChanged { .. }
        | Event::PersonDisabled { .. }
        | Event::PersonEnabled { .. } => true,
        Event::PasswordSet { .. } => by != id,
        Event::KeyCreated { .. }
        | Event::KeyRevoked { .. }
        | Event::SessionStarted { .. }
        | Event::SessionEnded { .. }
        | Event::SignInRefused { .. }
        | Event::LinkCreated { .. }
        | Event::LinkRedeemed { .. } => false,
    }
}

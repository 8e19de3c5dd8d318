//! Creating and changing people.

use super::directory::{PersonEntry, is_admin};
use super::error::{ChangeError, StoreError};
use super::event::{EndCause, Event};
use super::password::PasswordHash;
use super::person::{NewPerson, Person, PersonChange};
use super::principal::{Principal, Role};
use super::secret::Secret;
use super::store::{Draft, Identity, claim_holder};
use super::{streams, text, token};
use crate::approval::Voter;
use crate::limits;

impl Identity {
    /// Everybody, by the time of their creation (to the millisecond).
    pub fn people(&self) -> Vec<Person> {
        self.directory().people().cloned().collect()
    }

    /// Everybody who can sign in and has the role of approver.
    pub fn approvers(&self) -> Vec<Voter> {
        let people = self.people().into_iter();
        people
            .filter_map(|person| self.principal(&person.id))
            .map(|person| person.voter())
            .filter(|voter| voter.is_approver)
            .collect()
    }

    /// One person, by `per_…`.
    pub fn person(&self, id: &str) -> Option<Person> {
        let directory = self.directory();
        directory.person(id).map(|entry| entry.person.clone())
    }

    /// One person, by an address in any spelling.
    pub fn person_by_email(&self, email: &str) -> Option<Person> {
        let directory = self.directory();
        let entry = directory.person_by_email(email);
        entry.map(|entry| entry.person.clone())
    }

    /// Who acts under an id, `per_…` or `key_…`, with what they may do now; none where there is
    /// nobody, or their credentials do not work any more.
    pub fn principal(&self, id: &str) -> Option<Principal> {
        let now = self.now();
        let directory = self.directory();
        let is_enabled = |id: &str| {
            let found = directory.person(id);
            found.is_some_and(|entry| entry.person.is_enabled())
        };
        if let Some(entry) = directory.person(id) {
            return is_enabled(id).then(|| directory.principal(entry));
        }
        let entry = directory.key(id)?;
        let key = &entry.key;
        let works = key.revoked.is_none()
            && key.expires_at.is_none_or(|end| now < end)
            && is_enabled(&key.owner);
        works.then(|| entry.principal())
    }

    /// Whether somebody acted under this id, and may not any more: disabled, revoked or expired. For
    /// what waits long after its credential was looked at (invariant I18).
    pub fn has_ended(&self, id: &str) -> bool {
        let is_known = {
            let directory = self.directory();
            directory.person(id).is_some() || directory.key(id).is_some()
        };
        is_known && self.principal(id).is_none()
    }

    /// Creates a person. `by` is the id of the one who does it, or `cli`.
    pub async fn create_person(&self, by: &str, new: NewPerson) -> Result<Person, ChangeError> {
        let email = text::email(&new.email)?;
        let name = text::name(&new.name)?;
        let groups = text::labels("groups", new.groups)?;
        let scopes = text::labels("scopes", new.scopes)?;
        let attributes = text::attributes(new.attributes)?;
        let password = match &new.password {
            Some(password) => Some(self.hash_password(password).await?),
            None => None,
        };

        let turn = self.turn().await?;
        let now = self.now();
        let id =
            token::new_id("per_", now, self.inner.entropy.as_ref()).map_err(StoreError::from)?;
        {
            let directory = self.directory();
            if let Some(entry) = directory.person_by_email(&email) {
                let person = entry.person.id.clone();
                return Err(ChangeError::EmailTaken { person });
            }
            if directory.people().len() >= limits::PEOPLE_MAX {
                let (what, max) = ("people", limits::PEOPLE_MAX);
                return Err(ChangeError::TooMany { what, max });
            }
        }
        let mut draft = Draft::new(by, now);
        draft.claim(streams::email_claim(&text::fold_email(&email)), &id);
        draft.put(streams::PEOPLE, id.as_bytes(), Vec::new());
        let created = Event::PersonCreated {
            email,
            name,
            roles: new.roles,
            groups,
            scopes,
            attributes,
            password,
        };
        draft.append(&id, 0, created)?;
        match self.commit(turn, draft).await {
            Ok(_) => self.person_now(&id),
            Err(error) => Err(match claim_holder(&error) {
                Some(person) => ChangeError::EmailTaken { person },
                None => error.into(),
            }),
        }
    }

    /// Changes what a person is called or may do; holds from the next request on. A change that
    /// changes nothing leaves no trace.
    pub async fn change_person(
        &self,
        by: &str,
        id: &str,
        change: PersonChange,
    ) -> Result<Person, ChangeError> {
        let name = change.name.map(|name| text::name(&name)).transpose()?;
        let groups = change.groups.map(|groups| text::labels("groups", groups));
        let scopes = change.scopes.map(|scopes| text::labels("scopes", scopes));
        let attributes = change.attributes.map(text::attributes).transpose()?;
        let (groups, scopes) = (groups.transpose()?, scopes.transpose()?);
        let reason = change.reason.map(|why| text::reason(&why)).transpose()?;

        let turn = self.turn().await?;
        let PersonEntry {
            person, version, ..
        } = self.person_entry(id)?;
        let before = person.clone();
        let after = Person {
            name: name.unwrap_or(person.name),
            roles: change.roles.unwrap_or(person.roles),
            groups: groups.unwrap_or(person.groups),
            scopes: scopes.unwrap_or(person.scopes),
            attributes: attributes.unwrap_or(person.attributes),
            ..before.clone()
        };
        if after == before {
            return Ok(before);
        }
        if !after.roles.contains(&Role::Admin) {
            self.keep_an_admin(&before)?;
        }
        let mut draft = Draft::new(by, self.now());
        let changed = Event::PersonChanged {
            name: after.name,
            roles: after.roles,
            groups: after.groups,
            scopes: after.scopes,
            attributes: after.attributes,
            reason,
        };
        draft.append(id, version, changed)?;
        self.commit(turn, draft).await?;
        self.person_now(id)
    }

    /// Gives a person a new password. Ends all their sessions and voids their sign-in links.
    pub async fn set_password(
        &self,
        by: &str,
        id: &str,
        password: &Secret,
    ) -> Result<(), ChangeError> {
        self.person_entry(id)?;
        let password = self.hash_password(password).await?;
        let turn = self.turn().await?;
        let version = self.person_entry(id)?.version;
        let mut draft = Draft::new(by, self.now());
        draft.append(id, version, Event::PasswordSet { password })?;
        self.draft_end_all(&mut draft, id, EndCause::PasswordSet)?;
        self.draft_void_links(&mut draft, id)?;
        self.commit(turn, draft).await?;
        Ok(())
    }

    /// Disables a person: at once no session, sign-in link or key of theirs works any more. Of a
    /// disabled person nothing changes.
    pub async fn disable_person(
        &self,
        by: &str,
        id: &str,
        reason: &str,
    ) -> Result<Person, ChangeError> {
        let reason = text::reason(reason)?;
        let turn = self.turn().await?;
        let entry = self.person_entry(id)?;
        if !entry.person.is_enabled() {
            return Ok(entry.person);
        }
        self.keep_an_admin(&entry.person)?;
        let mut draft = Draft::new(by, self.now());
        draft.append(id, entry.version, Event::PersonDisabled { reason })?;
        self.draft_end_all(&mut draft, id, EndCause::Disabled)?;
        self.draft_void_links(&mut draft, id)?;
        self.commit(turn, draft).await?;
        self.person_now(id)
    }

    /// Enables a person again; keys that were not revoked work again, sessions stay ended. Of an
    /// enabled person nothing changes.
    pub async fn enable_person(
        &self,
        by: &str,
        id: &str,
        reason: &str,
    ) -> Result<Person, ChangeError> {
        let reason = text::reason(reason)?;
        let turn = self.turn().await?;
        let entry = self.person_entry(id)?;
        if entry.person.is_enabled() {
            return Ok(entry.person);
        }
        let mut draft = Draft::new(by, self.now());
        draft.append(id, entry.version, Event::PersonEnabled { reason })?;
        self.commit(turn, draft).await?;
        self.person_now(id)
    }

    pub(super) fn person_entry(&self, id: &str) -> Result<PersonEntry, ChangeError> {
        let directory = self.directory();
        directory
            .person(id)
            .cloned()
            .ok_or_else(|| ChangeError::NotFound {
                what: "person",
                id: id.to_owned(),
            })
    }

    fn person_now(&self, id: &str) -> Result<Person, ChangeError> {
        self.person_entry(id).map(|entry| entry.person)
    }

    /// Refuses where `person` is the only one left who can manage people.
    fn keep_an_admin(&self, person: &Person) -> Result<(), ChangeError> {
        let matters = person.is_enabled() && is_admin(person);
        if matters && !self.directory().has_other_admin(&person.id) {
            return Err(ChangeError::LastAdministrator {
                id: person.id.clone(),
            });
        }
        Ok(())
    }

    async fn hash_password(&self, password: &Secret) -> Result<PasswordHash, ChangeError> {
        text::check_password(password)?;
        let mut salt = [0; 16];
        let entropy = &self.inner.entropy;
        entropy.fill(&mut salt).map_err(StoreError::from)?;
        let hash = self.hashing(password, move |text| PasswordHash::of(text, salt));
        hash.await?.ok_or_else(|| ChangeError::Invalid {
            field: "password",
            reason: "could not be hashed: the machine has no 19 MiB of memory left".to_owned(),
        })
    }
}

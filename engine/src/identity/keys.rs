//! The keys of services and agents.

use subtle::ConstantTimeEq as _;

use super::directory::KeyEntry;
use super::error::{AuthError, ChangeError, StoreError};
use super::event::{self, Event};
use super::person::{Key, NewKey};
use super::principal::Principal;
use super::secret::Secret;
use super::store::{Draft, Identity};
use super::{streams, text, token};
use crate::action::PrincipalKind;
use crate::canon::Digest;
use crate::limits;
use crate::time::Timestamp;

impl Identity {
    /// Every key, also revoked and expired ones, by the time of creation (to the millisecond).
    pub fn keys(&self) -> Vec<Key> {
        self.directory().keys().cloned().collect()
    }

    /// Creates a key. The text of the key is in this answer and nowhere else: only its SHA-256 is
    /// stored.
    pub async fn create_key(&self, by: &str, new: NewKey) -> Result<(Key, Secret), ChangeError> {
        let name = text::name(&new.name)?;
        let scopes = text::labels("scopes", new.scopes)?;
        let attributes = text::attributes(new.attributes)?;
        if new.kind == PrincipalKind::Person {
            return Err(ChangeError::Invalid {
                field: "kind",
                reason: "must be service or agent; people sign in instead".to_owned(),
            });
        }

        let turn = self.turn().await?;
        let now = self.now();
        if new.expires_at.is_some_and(|end| end <= now) {
            return Err(ChangeError::Invalid {
                field: "expiry",
                reason: "is in the past".to_owned(),
            });
        }
        if !self.person_entry(&new.owner)?.person.is_enabled() {
            return Err(ChangeError::Disabled { id: new.owner });
        }
        if self.directory().keys().len() >= limits::KEYS_MAX {
            let (what, max) = ("keys", limits::KEYS_MAX);
            return Err(ChangeError::TooMany { what, max });
        }
        let entropy = self.inner.entropy.as_ref();
        let id = token::new_id("key_", now, entropy).map_err(StoreError::from)?;
        let (public, secret) = token::new_key(entropy).map_err(StoreError::from)?;
        let mut draft = Draft::new(by, now);
        draft.claim(streams::key_claim(&public), &id);
        draft.put(streams::KEYS, id.as_bytes(), Vec::new());
        let created = Event::KeyCreated {
            public,
            hash: token::hash(secret.expose()),
            name,
            kind: new.kind,
            owner: new.owner,
            scopes,
            attributes,
            expires_at: new.expires_at,
        };
        draft.append(&id, 0, created)?;
        self.commit(turn, draft).await?;
        Ok((self.key_entry(&id)?.key, secret))
    }

    /// Revokes a key: from now on it does not work, for ever. Of a revoked key nothing changes.
    pub async fn revoke_key(&self, by: &str, id: &str, reason: &str) -> Result<Key, ChangeError> {
        let reason = text::reason(reason)?;
        let turn = self.turn().await?;
        let entry = self.key_entry(id)?;
        if entry.key.revoked.is_some() {
            return Ok(entry.key);
        }
        let mut draft = Draft::new(by, self.now());
        draft.append(id, entry.version, Event::KeyRevoked { reason })?;
        self.commit(turn, draft).await?;
        Ok(self.key_entry(id)?.key)
    }

    /// The service or agent behind a key, with what it may do now.
    pub async fn authenticate_key(&self, bearer: &str) -> Result<Principal, AuthError> {
        let now = self.now();
        let (principal, is_stale) = self.check_key(bearer, now)?;
        if is_stale {
            self.note_key_use(&principal.id, now).await;
        }
        Ok(principal)
    }

    fn check_key(&self, bearer: &str, now: Timestamp) -> Result<(Principal, bool), AuthError> {
        let public = token::public_part(bearer).ok_or(AuthError::Malformed)?;
        let directory = self.directory();
        let entry = directory.key_by_public(public);
        // The same work for known and unknown keys.
        let stored = entry.map_or(Digest([0; 32]), |entry| entry.hash);
        let same: bool = token::hash(bearer).0.ct_eq(&stored.0).into();
        let entry = entry.filter(|_| same).ok_or(AuthError::Unknown)?;
        let key = &entry.key;
        if key.revoked.is_some() {
            return Err(AuthError::Revoked);
        }
        if key.expires_at.is_some_and(|end| end <= now) {
            return Err(AuthError::Expired);
        }
        let owner = directory.person(&key.owner);
        if !owner.is_some_and(|owner| owner.person.is_enabled()) {
            return Err(AuthError::Disabled);
        }
        Ok((entry.principal(), is_stale(key.last_used_at, now)))
    }

    /// Keeps when a key was last used, at most once an hour. It is for people who tidy up, so a
    /// failure does not keep the key from working.
    async fn note_key_use(&self, id: &str, now: Timestamp) {
        {
            let mut directory = self.directory_mut();
            let last = directory.key(id).and_then(|entry| entry.key.last_used_at);
            if !is_stale(last, now) {
                return;
            }
            directory.key_used(id, now);
        }
        let mut draft = Draft::new(id, now);
        draft.put(streams::KEY_USE, id.as_bytes(), event::encode(&now));
        let written = async { self.commit(self.turn().await?, draft).await };
        if let Err(error) = written.await {
            tracing::warn!(key.id = id, error = %error, "the last use of {id} was not stored");
        }
    }

    fn key_entry(&self, id: &str) -> Result<KeyEntry, ChangeError> {
        let directory = self.directory();
        directory
            .key(id)
            .cloned()
            .ok_or_else(|| ChangeError::NotFound {
                what: "key",
                id: id.to_owned(),
            })
    }
}

fn is_stale(last_used_at: Option<Timestamp>, now: Timestamp) -> bool {
    last_used_at.is_none_or(|last| last.plus_ms(limits::KEY_USE_EVERY_MS) <= now)
}

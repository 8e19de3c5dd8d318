//! One-time sign-in links.

use std::time::Duration;

use bincode::{Decode, Encode};

use super::error::{ChangeError, LinkError, StoreError};
use super::event::{self, Event, RefusalCause};
use super::person::Person;
use super::principal::Principal;
use super::secret::Secret;
use super::session::{Session, SessionKind, SessionToken, SignInMethod};
use super::store::{Draft, Identity, entries};
use super::{streams, text, token};
use crate::canon::Digest;
use crate::limits;
use crate::time::Timestamp;

/// What is needed to redeem a link.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct OpenLink {
    pub(super) id: String,
    pub(super) person: String,
    pub(super) expires_at: Timestamp,
}

impl Identity {
    /// Makes a token that signs a person in once, within `ttl` (at most 15 minutes). Only its
    /// SHA-256 is stored. A person has at most 8 open links; the oldest go.
    pub async fn create_sign_in_link(
        &self,
        by: &str,
        person: &str,
        ttl: Duration,
    ) -> Result<Secret, ChangeError> {
        if ttl.is_zero() || Duration::from_millis(limits::LINK_MS_MAX) < ttl {
            return Err(ChangeError::Invalid {
                field: "lifetime of the link",
                reason: "must be above zero and at most 15 minutes".to_owned(),
            });
        }
        let turn = self.turn().await?;
        if !self.person_entry(person)?.person.is_enabled() {
            let id = person.to_owned();
            return Err(ChangeError::Disabled { id });
        }
        let now = self.now();
        let entropy = self.inner.entropy.as_ref();
        let token = token::new_link(entropy).map_err(StoreError::from)?;
        let hash = token::hash(token.expose());
        let link = OpenLink {
            id: token::new_id("lnk_", now, entropy).map_err(StoreError::from)?,
            person: person.to_owned(),
            expires_at: now.plus(ttl),
        };
        let mut draft = Draft::new(by, now);
        let open = self.links_of(person)?;
        let surplus = (open.len() + 1).saturating_sub(limits::LINKS_PER_PERSON_MAX);
        for (hash, link) in &open[..surplus] {
            draft_void(&mut draft, hash, link);
        }
        let created = Event::LinkCreated {
            person: person.to_owned(),
            hash,
            expires_at: link.expires_at,
        };
        draft.append(&link.id, 0, created)?;
        draft.put(streams::LINKS, hash.0, event::encode(&link));
        let owned = streams::owned(person, &link.id);
        draft.put(streams::LINKS_OF, owned, hash.0.to_vec());
        self.commit(turn, draft).await?;
        Ok(token)
    }

    /// Whom a link would sign in now; none where it cannot be used. Uses nothing up.
    pub fn person_of_link(&self, token: &str) -> Result<Option<Person>, StoreError> {
        if !token::is_link(token) {
            return Ok(None);
        }
        let link = self.link(&token::hash(token))?;
        let now = self.now();
        Ok(link
            .filter(|link| now < link.expires_at)
            .and_then(|link| self.person(&link.person))
            .filter(Person::is_enabled))
    }

    /// Signs a person in with the token of a link, and starts a browser session. However many try
    /// at once, one of them gets it.
    pub async fn redeem_sign_in_link(
        &self,
        token: &str,
        from: &str,
    ) -> Result<(SessionToken, Session, Principal), LinkError> {
        let from = text::from_address(from);
        let turn = self.turn().await?;
        let now = self.now();
        let hash = token::hash(token);
        let link = if token::is_link(token) {
            self.link(&hash)?
        } else {
            None
        };
        let person = link.as_ref().map(|link| link.person.clone());
        let entry = person
            .as_ref()
            .and_then(|id| self.directory().person(id).cloned())
            .filter(|entry| entry.person.is_enabled());
        let link = link.filter(|link| now < link.expires_at);
        let (Some(link), Some(entry)) = (link, entry) else {
            drop(turn);
            self.record_refusal(person, from, RefusalCause::Link).await;
            return Err(LinkError::Invalid);
        };
        let mut draft = Draft::new(&link.person, now);
        let (kind, method) = (SessionKind::Browser, SignInMethod::Link);
        let (token, session) =
            self.draft_start(&mut draft, &link.person, kind, method, from.clone())?;
        let redeemed = Event::LinkRedeemed {
            session: session.id.clone(),
            from,
        };
        draft.append(&link.id, 1, redeemed)?;
        draft_void(&mut draft, &hash, &link);
        self.commit(turn, draft).await?;
        Ok((token, session, self.directory().principal(&entry)))
    }

    /// Adds to a draft that no open link of a person works any more.
    pub(super) fn draft_void_links(
        &self,
        draft: &mut Draft,
        person: &str,
    ) -> Result<(), StoreError> {
        for (hash, link) in self.links_of(person)? {
            draft_void(draft, &hash, &link);
        }
        Ok(())
    }

    fn link(&self, hash: &Digest) -> Result<Option<OpenLink>, StoreError> {
        let Some(stored) = self.inner.log.get(streams::LINKS, &hash.0)? else {
            return Ok(None);
        };
        event::decode(&stored)
            .map(Some)
            .map_err(|reason| StoreError::Damaged {
                place: "a stored sign-in link".to_owned(),
                reason,
            })
    }

    /// The open links of a person, oldest first.
    fn links_of(&self, person: &str) -> Result<Vec<(Digest, OpenLink)>, StoreError> {
        let prefix = streams::owned(person, "");
        let log = self.inner.log.as_ref();
        let mut found = Vec::new();
        for (_, hash) in entries(
            log,
            streams::LINKS_OF,
            &prefix,
            limits::LINKS_PER_PERSON_MAX,
        )? {
            let hash = streams::stored_hash(&hash)?;
            if let Some(link) = self.link(&hash)? {
                found.push((hash, link));
            }
        }
        Ok(found)
    }
}

fn draft_void(draft: &mut Draft, hash: &Digest, link: &OpenLink) {
    draft.delete(streams::LINKS, hash.0);
    draft.delete(streams::LINKS_OF, streams::owned(&link.person, &link.id));
}

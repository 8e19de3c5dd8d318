//! Starting, checking and ending sessions.

use holdpoint_storage::Version;

use super::error::{AuthError, ChangeError, StoreError};
use super::event::{self, EndCause, Event};
use super::principal::Principal;
use super::session::{Session, SessionKind, SessionToken, SignInMethod};
use super::store::{Draft, Identity, entries};
use super::{streams, token};
use crate::canon::Digest;
use crate::limits;
use crate::seeded::Bug;

/// The version of the stream of a session that has not ended.
const STARTED: Version = 1;

impl Identity {
    /// The person behind a session token, with what they may do now: the session says who, the
    /// directory says what.
    pub async fn authenticate_session(
        &self,
        token: &str,
    ) -> Result<(Session, Principal), AuthError> {
        if !token::is_session(token) {
            return Err(AuthError::Malformed);
        }
        let hash = token::hash(token);
        let session = self.session(&hash)?.ok_or(AuthError::Unknown)?;
        let now = self.now();
        if session.is_expired(now) {
            return Err(AuthError::Expired);
        }
        let mut principal = {
            let directory = self.directory();
            let entry = directory.person(&session.person);
            let entry = entry.ok_or(AuthError::Unknown)?;
            if !entry.person.is_enabled() {
                return Err(AuthError::Disabled);
            }
            directory.principal(entry)
        };
        principal.roles = Bug::RoleFromSession.first(&session.id, principal.roles);
        if session.last_seen_at.plus_ms(limits::SESSION_TOUCH_MS) <= now
            && let Err(error) = self.touch(&hash).await
        {
            // The worst that follows is that the session seems idle for longer than it is.
            let id = &session.id;
            tracing::warn!(session.id = id, error = %error, "the use of {id} was not stored");
        }
        Ok((session, principal))
    }

    /// Who is behind the bearer token of an API request: a key, or a session made for the API.
    pub async fn authenticate_bearer(&self, bearer: &str) -> Result<Principal, AuthError> {
        if !token::is_session(bearer) {
            return self.authenticate_key(bearer).await;
        }
        let (session, principal) = self.authenticate_session(bearer).await?;
        match session.kind {
            SessionKind::Api => Ok(principal),
            // A cookie that was carried off is no API token.
            SessionKind::Browser => Err(AuthError::Unknown),
        }
    }

    /// The sessions of a person that have not ended, by the time of their start.
    pub fn sessions(&self, person: &str) -> Result<Vec<Session>, StoreError> {
        let now = self.now();
        let all = self.sessions_of(person)?.into_iter();
        Ok(all
            .map(|(_, session)| session)
            .filter(|session| !session.is_expired(now))
            .collect())
    }

    /// Signs out: ends the session of this token. Of an unknown or ended one nothing changes.
    pub async fn end_session(&self, token: &str) -> Result<(), StoreError> {
        let turn = self.turn().await?;
        let hash = token::hash(token);
        let Some(session) = self.session(&hash)? else {
            return Ok(());
        };
        let mut draft = Draft::new(&session.person, self.now());
        draft_end(&mut draft, &hash, &session, EndCause::SignedOut)?;
        self.commit(turn, draft).await?;
        Ok(())
    }

    /// Ends all sessions of a person; answers how many there were.
    pub async fn end_all_sessions(&self, by: &str, person: &str) -> Result<usize, ChangeError> {
        let turn = self.turn().await?;
        self.person_entry(person)?;
        let mut draft = Draft::new(by, self.now());
        let ended = self.draft_end_all(&mut draft, person, EndCause::AllEnded)?;
        if ended > 0 {
            self.commit(turn, draft).await?;
        }
        Ok(ended)
    }

    /// Ends all sessions and sign-in links of everybody: this copy of the log does not know which of them
    /// were ended after it was made. Answers how many sessions there were.
    pub(crate) async fn end_everything(&self, by: &str) -> Result<usize, StoreError> {
        let mut ended = 0;
        for person in self.people() {
            let turn = self.turn().await?;
            let mut draft = Draft::new(by, self.now());
            ended += self.draft_end_all(&mut draft, &person.id, EndCause::AllEnded)?;
            self.draft_void_links(&mut draft, &person.id)?;
            if !draft.is_empty() {
                self.commit(turn, draft).await?;
            }
        }
        Ok(ended)
    }

    /// Adds the start of a session to a draft. Ends what is expired of the same person, and the
    /// longest unused ones where there are too many.
    pub(super) fn draft_start(
        &self,
        draft: &mut Draft,
        person: &str,
        kind: SessionKind,
        method: SignInMethod,
        from: String,
    ) -> Result<(SessionToken, Session), StoreError> {
        let now = self.now();
        let (expired, mut open): (Vec<_>, Vec<_>) = self
            .sessions_of(person)?
            .into_iter()
            .partition(|(_, session)| session.is_expired(now));
        for (hash, session) in &expired {
            draft_end(draft, hash, session, EndCause::Expired)?;
        }
        open.sort_by_key(|(_, session)| session.last_seen_at);
        let surplus = (open.len() + 1).saturating_sub(limits::SESSIONS_PER_PERSON_MAX);
        for (hash, session) in &open[..surplus] {
            draft_end(draft, hash, session, EndCause::TooMany)?;
        }

        let entropy = self.inner.entropy.as_ref();
        let token = token::new_session(entropy)?;
        let hash = token::hash(token.expose());
        let session = Session {
            id: token::new_id("ses_", now, entropy)?,
            person: person.to_owned(),
            kind,
            method,
            from,
            started_at: now,
            last_seen_at: now,
            expires_at: now.plus_ms(kind.lifetime_ms()),
        };
        let started = Event::SessionStarted {
            person: person.to_owned(),
            hash,
            kind,
            method,
            from: session.from.clone(),
            expires_at: session.expires_at,
        };
        draft.append(&session.id, 0, started)?;
        draft.put(streams::SESSIONS, hash.0, event::encode(&session));
        let owned = streams::owned(person, &session.id);
        draft.put(streams::SESSIONS_OF, owned, hash.0.to_vec());
        Ok((token, session))
    }

    /// Adds the end of all sessions of a person to a draft; answers how many there were.
    pub(super) fn draft_end_all(
        &self,
        draft: &mut Draft,
        person: &str,
        cause: EndCause,
    ) -> Result<usize, StoreError> {
        let sessions = self.sessions_of(person)?;
        for (hash, session) in &sessions {
            draft_end(draft, hash, session, cause)?;
        }
        Ok(sessions.len())
    }

    /// Moves the last use of a session to now.
    async fn touch(&self, hash: &Digest) -> Result<(), StoreError> {
        let turn = self.turn().await?;
        let now = self.now();
        // It may have been ended, or touched by a neighbour, while we waited for our turn.
        let Some(mut session) = self.session(hash)? else {
            return Ok(());
        };
        if now < session.last_seen_at.plus_ms(limits::SESSION_TOUCH_MS) {
            return Ok(());
        }
        session.last_seen_at = now;
        let mut draft = Draft::new(&session.person, now);
        draft.expect(&session.id, STARTED)?;
        draft.put(streams::SESSIONS, hash.0, event::encode(&session));
        self.commit(turn, draft).await?;
        Ok(())
    }

    fn session(&self, hash: &Digest) -> Result<Option<Session>, StoreError> {
        let Some(stored) = self.inner.log.get(streams::SESSIONS, &hash.0)? else {
            return Ok(None);
        };
        event::decode(&stored)
            .map(Some)
            .map_err(|reason| StoreError::Damaged {
                place: "a stored session".to_owned(),
                reason,
            })
    }

    /// All sessions of a person that have no end yet, expired or not.
    fn sessions_of(&self, person: &str) -> Result<Vec<(Digest, Session)>, StoreError> {
        let prefix = streams::owned(person, "");
        let log = self.inner.log.as_ref();
        let limit = limits::SESSIONS_PER_PERSON_MAX;
        let mut found = Vec::new();
        for (_, hash) in entries(log, streams::SESSIONS_OF, &prefix, limit)? {
            let hash = streams::stored_hash(&hash)?;
            if let Some(session) = self.session(&hash)? {
                found.push((hash, session));
            }
        }
        Ok(found)
    }
}

fn draft_end(
    draft: &mut Draft,
    hash: &Digest,
    session: &Session,
    cause: EndCause,
) -> Result<(), StoreError> {
    let person = session.person.clone();
    draft.append(&session.id, STARTED, Event::SessionEnded { person, cause })?;
    draft.delete(streams::SESSIONS, hash.0);
    let owned = streams::owned(&session.person, &session.id);
    draft.delete(streams::SESSIONS_OF, owned);
    Ok(())
}

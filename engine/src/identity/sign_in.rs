//! Signing in with a password.

use std::sync::Arc;
use std::time::Duration;

use super::error::{SignInError, StoreError};
use super::event::{Event, RefusalCause};
use super::password::PasswordHash;
use super::principal::Principal;
use super::secret::Secret;
use super::session::{Session, SessionKind, SessionToken, SignInMethod};
use super::store::{Draft, Identity};
use super::{streams, text};
use crate::limits;

/// The actor of a refused sign-in: nobody has proved anything.
const NOBODY: &str = "anonymous";

/// How long to stay away when more people sign in than the machine can check.
const BUSY: Duration = Duration::from_secs(1);

impl Identity {
    /// Signs a person in with address and password, and starts a session. `from` is the network
    /// address of the browser or program, as far as the caller can vouch for it.
    ///
    /// An unknown address takes as long as a wrong password.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &Secret,
        from: &str,
        kind: SessionKind,
    ) -> Result<(SessionToken, Session, Principal), SignInError> {
        let waiting = Arc::clone(&self.inner.queue).try_acquire_owned();
        let Ok(_waiting) = waiting else {
            return Err(SignInError::Throttled { retry_after: BUSY });
        };
        let from = text::from_address(from);
        let entry = self.directory().person_by_email(email).cloned();
        let person = entry.as_ref().map(|entry| entry.person.id.clone());
        let charged = self.throttle().attempt(email, &from, self.now());
        if let Err(retry_after) = charged {
            self.record_refusal(person, from, RefusalCause::Throttled)
                .await;
            return Err(SignInError::Throttled { retry_after });
        }
        let hash = entry.as_ref().and_then(|entry| entry.password.clone());
        let is_right = self.verify(password, hash.clone()).await?;
        let (Some(person), true) = (person.clone(), is_right) else {
            self.record_refusal(person, from, RefusalCause::Wrong).await;
            return Err(SignInError::Refused);
        };

        let turn = self.turn().await?;
        // The account may have been disabled, or its password changed, since the check began.
        let now = self.directory().person(&person).cloned();
        let Some(now) = now.filter(|now| now.person.is_enabled() && now.password == hash) else {
            drop(turn);
            self.record_refusal(Some(person), from, RefusalCause::Disabled)
                .await;
            return Err(SignInError::Refused);
        };
        self.throttle().succeeded(email, &from);
        let mut draft = Draft::new(&person, self.now());
        let (token, session) =
            self.draft_start(&mut draft, &person, kind, SignInMethod::Password, from)?;
        self.commit(turn, draft).await?;
        Ok((token, session, self.directory().principal(&now)))
    }

    async fn verify(
        &self,
        password: &Secret,
        hash: Option<PasswordHash>,
    ) -> Result<bool, StoreError> {
        if password.expose().len() > limits::PASSWORD_BYTES_MAX {
            return Ok(false);
        }
        let is_known = hash.is_some();
        let hash = hash.unwrap_or_else(PasswordHash::dummy);
        let matches = self
            .hashing(password, move |text| hash.verify(text))
            .await?;
        Ok(is_known && matches)
    }

    /// Writes down that somebody was not let in, as far as the budget for that goes. The answer to
    /// them is the same whether or not it could be written.
    pub(super) async fn record_refusal(
        &self,
        person: Option<String>,
        from: String,
        cause: RefusalCause,
    ) {
        let now = self.now();
        let Some(unrecorded) = self.throttle().record_refusal(now) else {
            return;
        };
        let refused = Event::SignInRefused {
            person,
            from,
            cause,
            unrecorded,
        };
        let written = async {
            let turn = self.turn().await?;
            let stream = streams::refused()?;
            let version = self.inner.log.stream_version(&stream)?;
            let mut draft = Draft::new(NOBODY, now);
            draft.append_to(stream, version, &refused);
            self.commit(turn, draft).await
        };
        if let Err(error) = written.await {
            tracing::warn!(error = %error, "a refused sign-in was not stored");
        }
    }
}

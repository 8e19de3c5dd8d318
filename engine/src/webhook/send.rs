//! One attempt: sign, send, and say what it came to.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::Record;
use tokio::time::Instant;

use super::decide::{Attempted, Outcome, Seen, after_attempt};
use super::delivery::{Attempt, Delivery, DeliveryState};
use super::endpoint::Endpoint;
use super::message::{self, Message};
use super::schedule::retry_after;
use super::store::{Draft, ENGINE, Webhooks};
use crate::identity::{Identity, StoreError};
use crate::store::Store;
use crate::target::{CallError, Notice, Noticed, Notifier};
use crate::time::Timestamp;

/// How long an endpoint may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How much later than that an attempt is given up, where it has not ended by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Sends messages.
pub(crate) struct Sender {
    pub(crate) hooks: Webhooks,
    pub(crate) store: Arc<Store>,
    pub(crate) identity: Identity,
    pub(crate) notifier: Arc<dyn Notifier>,
    /// The public URL of the server, without a slash at its end; empty where it is not known.
    pub(crate) base: String,
}

/// What there is to tell an endpoint about a record.
pub(super) enum Told {
    /// This.
    Message(Message),
    /// Nothing: it does not ask for it, or its owner may not see it.
    Nothing,
    /// Its owner may see nothing any more.
    OwnerLost,
}

/// What an attempt came to.
pub(super) struct Sent {
    pub(super) seen: Seen,
    pub(super) attempt: Attempt,
    pub(super) ended: Timestamp,
    jitter: u32,
}

/// The secrets of the endpoint cannot be made.
pub(super) struct SecretLost;

impl Sender {
    /// What there is to tell an endpoint about a record. Who its owner is and what they may see is
    /// looked up each time (invariant I18).
    pub(super) fn told(&self, endpoint: &Endpoint, record: &Record) -> Result<Told, StoreError> {
        if !message::wants(endpoint, record) {
            return Ok(Told::Nothing);
        }
        let Some(owner) = self.identity.principal(&endpoint.owner) else {
            return Ok(Told::OwnerLost);
        };
        let id = self.hooks.message_at(endpoint.id, record.position);
        let message = message::about(&self.store, id, endpoint, &owner, record, &self.base)?;
        Ok(message.map_or(Told::Nothing, Told::Message))
    }

    /// Sends a message, once.
    pub(super) async fn send(
        &self,
        endpoint: &Endpoint,
        message: &Message,
        by: Option<&str>,
    ) -> Result<Sent, SecretLost> {
        let at = self.hooks.now();
        let id = message.id.to_string();
        let seconds = at.0.div_euclid(1000);
        let signature = self.signature(endpoint, &id, at, &message.body)?;
        let headers = [
            ("Content-Type", "application/json".to_owned()),
            ("webhook-id", id),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature),
        ];
        let notice = Notice {
            url: endpoint.url.clone(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body: message.body.clone(),
            timeout: TIMEOUT,
        };
        let begun = Instant::now();
        let answer = tokio::time::timeout(TIMEOUT + GRACE, self.notifier.notify(notice)).await;
        let answer = answer
            .unwrap_or_else(|_| Err(CallError::Unknown("there was no answer in time".to_owned())));
        let ended = self.hooks.now();
        let (seen, status, error) = classify(answer, ended);
        let mut random = [0; 4];
        if self.hooks.inner.entropy.fill(&mut random).is_err() {
            // The schedule holds without its jitter.
            random = [0; 4];
        }
        let outcome = match &seen {
            Seen::Taken => "taken",
            Seen::Gone => "gone",
            Seen::Busy(_) => "busy",
            Seen::Failed => "failed",
        };
        metrics::counter!("holdpoint_delivery_attempts_total", "outcome" => outcome).increment(1);
        Ok(Sent {
            seen,
            attempt: Attempt {
                at,
                took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                status,
                error,
                by: by.map(str::to_owned),
            },
            ended,
            jitter: u32::from_be_bytes(random),
        })
    }

    /// One signature for each secret that is valid now.
    fn signature(
        &self,
        endpoint: &Endpoint,
        id: &str,
        at: Timestamp,
        body: &str,
    ) -> Result<String, SecretLost> {
        let key = self.hooks.inner.key.as_ref().map_err(|_| SecretLost)?;
        let mut signatures = Vec::new();
        for generation in endpoint.signing(at) {
            let secret = key.secret(endpoint.id, generation.number);
            if secret.fingerprint() == generation.fingerprint {
                signatures.push(secret.sign(id, at.0.div_euclid(1000), body));
            } else if generation.until.is_none() {
                return Err(SecretLost);
            }
        }
        Ok(signatures.join(" "))
    }

    /// Stores what an attempt of the schedule came to, and answers with what follows.
    pub(super) async fn record(
        &self,
        endpoint: &Endpoint,
        message: &Message,
        sent: &Sent,
    ) -> Result<Outcome, StoreError> {
        let Some((turn, now)) = self.hooks.turn(endpoint.id).await? else {
            return Ok(Outcome::Overtaken);
        };
        let position = message.id.position().unwrap_or_default();
        let attempted = attempted(endpoint, position, sent);
        let decision = after_attempt(&now, &attempted);
        let mut delivery = self.known(message)?;
        delivery.state = match decision.outcome {
            Outcome::Delivered => DeliveryState::Delivered,
            Outcome::Again(next_at) => DeliveryState::Pending { next_at },
            Outcome::Stopped => DeliveryState::Failed,
            Outcome::Overtaken if sent.seen == Seen::Taken => DeliveryState::Delivered,
            Outcome::Overtaken => delivery.state,
        };
        delivery.add(sent.attempt.clone());
        let draft = Draft {
            by: ENGINE.to_owned(),
            at: sent.ended,
            events: decision.events,
            place: Some(decision.place),
            deliveries: vec![delivery],
        };
        self.hooks.commit(turn, endpoint.id, draft).await?;
        Ok(decision.outcome)
    }

    /// What is kept of a message.
    pub(super) fn known(&self, message: &Message) -> Result<Delivery, StoreError> {
        let kept = self.hooks.delivery(message.id)?;
        Ok(kept.unwrap_or_else(|| Delivery::new(message)))
    }
}

/// The attempt as the core sees it.
pub(super) fn attempted(endpoint: &Endpoint, position: u64, sent: &Sent) -> Attempted {
    Attempted {
        epoch: endpoint.place.epoch,
        url: endpoint.url.clone(),
        position,
        seen: sent.seen.clone(),
        words: sent.attempt.error.clone().unwrap_or_default(),
        at: sent.ended,
        jitter: sent.jitter,
    }
}

/// What an answer means: only a success status is a yes.
fn classify(
    answer: Result<Noticed, CallError>,
    now: Timestamp,
) -> (Seen, Option<u16>, Option<String>) {
    let noticed = match answer {
        Ok(noticed) => noticed,
        Err(error) => return (Seen::Failed, None, Some(error.message().to_owned())),
    };
    let status = noticed.status;
    let asked = noticed.retry_after.and_then(|text| retry_after(&text, now));
    let (seen, words) = match status {
        200..=299 => return (Seen::Taken, Some(status), None),
        410 => (Seen::Gone, "answered 410: gone".to_owned()),
        429 | 502 | 503 | 504 => (
            Seen::Busy(asked),
            format!("answered {status}: too much to do"),
        ),
        300..=399 => (
            Seen::Failed,
            format!("answered {status}: redirects are not followed; give the final URL"),
        ),
        _ => (Seen::Failed, format!("answered {status}")),
    };
    (seen, Some(status), Some(words))
}

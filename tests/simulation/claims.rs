//! How workers ask for work, with a key of their own for the claim or without one (I12).
//!
//! A worker that has no answer asks again under the same key, after a crash too. It is given what it was
//! given before for as long as that lease runs, with the same epoch, and never two things at once.

use std::collections::BTreeMap;
use std::time::Duration;

use holdpoint_engine::canon::Digest;
use http::StatusCode;
use serde_json::{Value, json};

use crate::hands::Hand;
use crate::tools::PULLED;
use crate::watch::Watch;
use crate::weather::Fault;
use crate::world::World;

/// A claim under a key, which has no answer yet.
#[derive(Clone)]
pub(crate) struct Asked {
    key: String,
    body: Value,
    /// The lease is over then at the earliest, by true time: counted from the first time it was asked.
    until: u64,
}

/// The keys of claims that were answered, by what the log makes of them.
#[derive(Clone, Default)]
pub(crate) struct Claims(BTreeMap<Digest, String>);

impl World {
    /// A worker asks for work.
    pub(crate) async fn claim(&self) {
        let open = self.dice.pick(&self.people().asked).cloned();
        if let Some(open) = open
            && self.strikes(Fault::ClaimAgain)
        {
            return self.ask(&open).await;
        }
        let lease = *self.dice.pick(&[5_u64, 20, 60]).unwrap_or(&20);
        let wait = *self.dice.pick(&["0s", "5s", "30s"]).unwrap_or(&"0s");
        let body = json!({ "tools": PULLED, "wait": wait, "lease_seconds": lease });
        let until = self.clock.true_ms() + lease * 1000;
        if self.dice.in_thousand(400) {
            let answer = self.send_claim(&body, None).await;
            if let Some((StatusCode::OK, work)) = answer {
                self.is_given(&work, None, until);
            }
            return;
        }
        let asked = {
            let mut people = self.people();
            people.claimed += 1;
            let key = format!("claim-{}", people.claimed);
            let asked = Asked { key, body, until };
            people.asked.push(asked.clone());
            asked
        };
        if self.strikes(Fault::DoubleClick) {
            tokio::join!(self.ask(&asked), self.ask(&asked));
        } else {
            self.ask(&asked).await;
        }
    }

    /// Asks under a key, for the first time or again.
    async fn ask(&self, asked: &Asked) {
        let answer = self.send_claim(&asked.body, Some(&asked.key)).await;
        match answer {
            Some((StatusCode::OK, work)) => self.is_given(&work, Some(&asked.key), asked.until),
            Some((StatusCode::NO_CONTENT, _)) => {
                let now = self.clock.latest();
                let held = self.watch().held_under(&asked.key, now);
                if let Some(held) = held {
                    let key = &asked.key;
                    self.fail(format!("I12: {key} is given nothing, and holds {held}"));
                }
                self.close(&asked.key);
            }
            Some((StatusCode::UNPROCESSABLE_ENTITY, problem)) => {
                let key = &asked.key;
                self.fail(format!("I12: {key} is taken for another claim: {problem}"));
            }
            Some(_) | None => {}
        }
    }

    /// The claim was answered; says whether that was news.
    fn close(&self, key: &str) -> bool {
        let mut people = self.people();
        let before = people.asked.len();
        people.asked.retain(|asked| asked.key != key);
        people.asked.len() < before
    }

    async fn send_claim(&self, body: &Value, key: Option<&str>) -> Option<(StatusCode, Value)> {
        let token = self.people().keys.get("packer").cloned()?;
        let patience = if self.strikes(Fault::HangsUp) {
            Duration::from_millis(self.dice.below(8_000))
        } else {
            Duration::from_hours(1)
        };
        let claim = self.call(&token, "POST", "/v1/work/claim", Some(body), key);
        let answer = tokio::time::timeout(patience, claim).await.ok()??;
        self.pull();
        Some((answer.status, answer.json()))
    }

    fn is_given(&self, work: &Value, key: Option<&str>, until: u64) {
        let Some(hand) = Hand::given(work, until) else {
            return self.fail(format!("work that cannot be read: {work}"));
        };
        self.watch().given(work, hand.epoch, key);
        if self.strikes(Fault::AnswerOfOursLost) {
            return;
        }
        // Once there was an answer, what comes after it is no news.
        if key.is_none_or(|key| self.close(key)) {
            self.people().hands.push(hand);
        }
    }
}

impl Watch {
    /// A worker was given an attempt: it is durable, it is what was approved, and nobody was given it
    /// before, except under the same key.
    pub(crate) fn given(&mut self, work: &Value, epoch: u64, key: Option<&str>) {
        let id = work["action"].as_str().unwrap_or_default();
        let id = id.strip_prefix("act_").unwrap_or(id);
        if let Err(what) = self.give(id, work, epoch, key) {
            self.fail(format!("{what} ({id})"));
        }
    }

    fn give(
        &mut self,
        id: &str,
        work: &Value,
        epoch: u64,
        key: Option<&str>,
    ) -> Result<(), String> {
        let number = work["number"].as_u64().unwrap_or(0);
        let Some(model) = self.models.get_mut(id) else {
            return Err("I1: given out for an action that is not durable".to_owned());
        };
        let place = usize::try_from(number).unwrap_or(0).checked_sub(1);
        let attempt = place.and_then(|place| model.attempts.get(place));
        let Some(attempt) = attempt else {
            return Err(format!(
                "I1: attempt {number} is given out, and not durable"
            ));
        };
        let own = attempt.epoch();
        if own != Some(epoch) {
            return Err(format!("I12: the epoch {epoch} is told, durable: {own:?}"));
        }
        let known = match (attempt.asked, key) {
            (Some(digest), Some(key)) => {
                let before = self
                    .claims
                    .0
                    .entry(digest)
                    .or_insert_with(|| key.to_owned());
                (before == key).then_some(digest)
            }
            (None, _) | (Some(_), None) => None,
        };
        if known != attempt.asked || known.is_some() != key.is_some() {
            return Err(format!(
                "I12: {key:?} is given what belongs to another claim"
            ));
        }
        if attempt.is_sent() && key.is_some() {
            return Ok(());
        }
        model.give(work)
    }

    /// What a claim under this key holds for certain, where it can be no later than `now`.
    fn held_under(&self, key: &str, now: i64) -> Option<String> {
        let digest = self.claims.0.iter().find(|(_, known)| *known == key)?.0;
        let holds = |(id, _): &(&String, _)| self.holds(id, *digest, now);
        self.models.iter().find(holds).map(|(id, _)| id.clone())
    }

    fn holds(&self, id: &str, key: Digest, at: i64) -> bool {
        let last = self.models.get(id).and_then(|model| model.attempts.last());
        last.is_some_and(|last| last.asked == Some(key) && last.is_held(at))
    }

    /// A lease was granted to a claim under a key, which holds nothing else.
    pub(crate) fn must_be_alone(&self, id: &str, key: Digest, at: i64) -> Result<(), String> {
        let mut others = self.models.keys().filter(|other| *other != id);
        match others.find(|other| self.holds(other, key, at)) {
            Some(other) => Err(format!("I12: one claim is given {id} and {other}")),
            None => Ok(()),
        }
    }
}

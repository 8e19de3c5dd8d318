//! Workers: services that pull calls and carry them out themselves (P3, R3).
//!
//! What a worker has in its hands outlives the process that gave it: it pauses for as long as the dice
//! say, and goes on. A worker that keeps to the rules begins nothing once its own lease is over.

use serde_json::{Value, json};

use crate::tools::PULLED;
use crate::weather::Fault;
use crate::world::World;

/// An attempt that a worker was given.
#[derive(Clone)]
pub(crate) struct Hand {
    attempt: String,
    /// Which attempt of the action.
    pub(crate) number: usize,
    pub(crate) epoch: u64,
    pub(crate) key: String,
    pub(crate) order: String,
    pub(crate) amount: i64,
    /// The lease is over then at the earliest, by true time: the worker counts from its request.
    until: u64,
    /// Until when it is told to have it.
    told: String,
    acted: bool,
    /// An older copy has taken the place of the log that gave it.
    pub(crate) is_lost: bool,
}

impl Hand {
    /// What an answer gives to a worker, of whose lease it is sure until then.
    pub(crate) fn given(work: &Value, until: u64) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Some(Self {
            attempt: work["attempt"].as_str()?.to_owned(),
            number: work["number"].as_u64()?.try_into().ok()?,
            epoch: work["epoch"].as_u64()?,
            key: text(&work["idempotency_key"]),
            order: text(&work["args"]["order"]),
            amount: work["args"]["amount"].as_i64().unwrap_or(0),
            until,
            told: text(&work["lease_until"]),
            acted: false,
            is_lost: false,
        })
    }

    /// Whether the worker may still do it, by true time.
    pub(crate) fn may_act(&self, key: &str, now: u64) -> bool {
        self.key == key && !self.acted && now < self.until
    }
}

impl World {
    /// A worker goes on with what it has, or asks for more.
    pub(crate) async fn work(&self) {
        let place = {
            let count = self.people().hands.len();
            (count > 0 && self.dice.in_thousand(650)).then(|| self.dice.place(count))
        };
        let hand = place.and_then(|place| {
            let mut people = self.people();
            (place < people.hands.len()).then(|| people.hands.remove(place))
        });
        match hand {
            Some(hand) => self.go_on(hand).await,
            None => self.claim().await,
        }
    }

    /// Whether there is anything that a worker could go on with or be given.
    pub(crate) fn has_work(&self) -> bool {
        let is_open = self.watch().models.values().any(|model| {
            !model.is_final() && model.status != "staged" && PULLED.contains(&model.tool.as_str())
        });
        is_open || !self.people().hands.is_empty()
    }

    async fn go_on(&self, mut hand: Hand) {
        if hand.until < self.clock.true_ms() {
            self.weather.count(Fault::WorkerPauses);
        }
        if self.strikes(Fault::WorkerDies) {
            self.note(format!("the worker of {} dies", hand.attempt));
            return;
        }
        match (hand.acted, self.dice.below(10)) {
            (_, 0..2) => {
                self.beat(&mut hand).await;
                self.people().hands.push(hand);
            }
            (false, 2..8) if self.clock.true_ms() < hand.until => {
                self.note(format!("{} is carried out", hand.attempt));
                self.bank.carry_out(&hand);
                hand.acted = true;
                self.people().hands.push(hand);
            }
            (false, _) => {
                self.report(&hand, "failed", "reason", &json!("not done"))
                    .await;
            }
            (true, 2..9) if self.bank.books().effects(&hand.key) > 0 => {
                self.report(&hand, "succeeded", "result", &json!({ "id": 7 }))
                    .await;
            }
            (true, _) => {
                self.report(&hand, "unknown", "reason", &json!("no answer"))
                    .await;
            }
        }
    }

    /// Says that it is still at it, and may be for longer if it is told so.
    async fn beat(&self, hand: &mut Hand) {
        let lease = *self.dice.pick(&[5_u64, 20, 60]).unwrap_or(&20);
        let until = self.clock.true_ms() + lease * 1000;
        let body = json!({ "epoch": hand.epoch, "lease_seconds": lease });
        let answer = self.say(hand, "heartbeat", &body).await;
        let told = answer.unwrap_or_default();
        if let Some(told) = told["lease_until"].as_str()
            && *hand.told < *told
        {
            told.clone_into(&mut hand.told);
            hand.until = until.max(hand.until);
        }
    }

    /// Says how it ended, sometimes twice.
    async fn report(&self, hand: &Hand, outcome: &str, name: &str, value: &Value) {
        let body = json!({ "epoch": hand.epoch, "outcome": outcome, name: value });
        self.say(hand, "complete", &body).await;
        if self.strikes(Fault::Repeat) {
            self.say(hand, "complete", &body).await;
        }
    }

    /// Answers with what it is told, if it is told anything.
    async fn say(&self, hand: &Hand, what: &str, body: &Value) -> Option<Value> {
        let path = format!("/v1/work/{}/{what}", hand.attempt);
        let answer = self.worker(&path, body).await?;
        if hand.is_lost && answer.status.is_success() {
            let attempt = &hand.attempt;
            self.fail(format!(
                "I29: {what} of a lease of {attempt} that this log never gave"
            ));
        }
        let done = answer.json();
        if let (Some(action), Some(status), true) = (
            done["action"].as_str(),
            done["status"].as_str(),
            answer.status.is_success(),
        ) {
            self.pull();
            self.watch().told_once(action, status);
        }
        Some(done)
    }

    async fn worker(&self, path: &str, body: &Value) -> Option<crate::client::Answer> {
        let token = self.people().keys.get("packer").cloned()?;
        self.call(&token, "POST", path, Some(body), None).await
    }
}

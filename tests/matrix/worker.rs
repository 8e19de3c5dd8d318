//! The operator with the pause switch, and the worker: another process, which outlives every life of
//! the engine and goes on with what it has.

use std::time::Duration;

use holdpoint_engine::action::{Action, Phase};
use holdpoint_engine::time::Timestamp;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::clients::Asked;
use crate::hooks::{Role, Site, Verdict};
use crate::world::{Life, World, auditor};

/// Longer than the shortest time between two heartbeats that are stored, shorter than a lease.
const AT_IT: Duration = Duration::from_secs(2);

/// What the worker knows.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    hand: Option<Hand>,
    /// How many claims were answered with work: the key of a claim is the same until it is.
    answered: u32,
}

/// What the worker has.
#[derive(Clone, Debug)]
struct Hand {
    attempt: String,
    epoch: u64,
    /// The key of the intent.
    key: String,
    /// Whether it did it.
    done: bool,
}

impl World {
    /// Does what is next for an action that a worker pulls; whether there was anything.
    pub(crate) async fn work_on(&self, life: &Life, action: &Action) -> bool {
        match &action.phase {
            Phase::Approved { run_at, .. } => self.approved(life, *run_at).await,
            Phase::Executing => self.carry_out(life).await,
            _ => return false,
        }
        true
    }

    async fn approved(&self, life: &Life, run_at: Timestamp) {
        let acks = *self.acks();
        if !acks.paused {
            let paused = life.engine.pause(auditor(), "the books are counted").await;
            self.acks().paused |= paused.is_ok();
        } else if life.engine.now() < run_at {
            if self.hooks().at(Site::Scheduled).await == Verdict::Go {
                self.pass(run_at.since(life.engine.now()));
            }
        } else if acks.resumed || !life.engine.is_paused() {
            // Also where the operator was not told that it was resumed.
            self.claim(life, Role::Claim).await;
        } else if self.hooks().at(Site::Paused).await == Verdict::Go {
            self.claim(life, Role::Observer).await;
            assert!(self.bench().hand.is_none(), "i03: given out while paused");
            let resumed = life.engine.resume(auditor(), None).await;
            self.acks().resumed |= resumed.is_ok();
        }
    }

    /// Asks for work. Where the answer is lost, the same is asked again.
    async fn claim(&self, life: &Life, role: Role) {
        let key = format!("claim-{}", self.bench().answered);
        let body = json!({ "tools": ["ship"], "lease_seconds": 10 });
        let asked = Asked {
            key: Some(&key),
            ..Asked::post(role, &self.cast.service, "/v1/work/claim", &body)
        };
        let (status, work) = self.ask(life, asked).await;
        if status == StatusCode::OK {
            let mut bench = self.bench();
            bench.answered += 1;
            bench.hand = Some(Hand {
                attempt: text(&work, "attempt"),
                epoch: work["epoch"].as_u64().expect("an epoch"),
                key: text(&work, "idempotency_key"),
                done: false,
            });
        }
    }

    async fn carry_out(&self, life: &Life) {
        let Some(hand) = self.bench().hand.clone() else {
            // Given to it in an answer that was lost, or the end of the lease was not noticed yet.
            return self.claim(life, Role::Claim).await;
        };
        if hand.done {
            if self.hooks().at(Site::Working).await == Verdict::Go {
                self.report(life, &hand).await;
            }
            return;
        }
        if self.hooks().at(Site::Given).await != Verdict::Go {
            return;
        }
        self.pass(AT_IT);
        let body = json!({ "epoch": hand.epoch, "lease_seconds": 10 });
        let path = format!("/v1/work/{}/heartbeat", hand.attempt);
        let asked = Asked::post(Role::Heartbeat, &self.cast.service, &path, &body);
        let (status, lease) = self.ask(life, asked).await;
        self.heard(status);
        let until = lease["lease_until"].as_str();
        let until = until.and_then(Timestamp::parse_rfc3339);
        // It does nothing that it could not report.
        if until.is_some_and(|until| life.engine.now() < until) {
            let mut bench = self.bench();
            let effects = &mut self.shop.books().effects;
            *effects.entry(hand.key).or_default() += 1;
            bench.hand.as_mut().expect("it has it").done = true;
        }
    }

    async fn report(&self, life: &Life, hand: &Hand) {
        let body = json!({
            "epoch": hand.epoch, "outcome": "succeeded", "result": { "parcel": "P1" },
        });
        let path = format!("/v1/work/{}/complete", hand.attempt);
        let asked = Asked::post(Role::Report, &self.cast.service, &path, &body);
        let (status, _) = self.ask(life, asked).await;
        if status == StatusCode::OK {
            self.bench().hand = None;
        }
        self.heard(status);
    }

    /// Whatever it had is not its any more.
    fn heard(&self, status: StatusCode) {
        if matches!(status, StatusCode::CONFLICT | StatusCode::NOT_FOUND) {
            self.bench().hand = None;
        }
    }
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().expect("a text").to_owned()
}

//! Webhook endpoints: services that answer badly and late, and who looks after them.
//!
//! A third of all seeds has one of them, which hears of everything, or of some of what its owner asked
//! for. Never two: which of two that wait for the log is woken first is not drawn from the seed. What each must be told is in [`crate::ears`].

use std::sync::Weak;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::engine::Engine;
use holdpoint_engine::target::{CallError, Notice, Noticed, Notifier};
use holdpoint_engine::time::Clock as _;
use holdpoint_engine::webhook::{EndpointId, NewEndpoint};
use serde_json::Value;
use standardwebhooks::Webhook;

use crate::ears::Wish;
use crate::weather::Fault;
use crate::world::{Broken, World};

/// The kinds of events that the second endpoint asks for, and their types on the wire.
const KINDS: [(&str, &str); 5] = [
    ("action.vote_recorded", "approval.vote_recorded"),
    ("action.commit_recorded", "action.executing"),
    ("action.attempt_succeeded", "action.succeeded"),
    ("action.attempt_unknown", "action.unknown"),
    ("action.settled", "action.settled"),
];
const KIND_NAMES: [&str; 5] = [KINDS[0].0, KINDS[1].0, KINDS[2].0, KINDS[3].0, KINDS[4].0];

/// The tools that it asks for.
const TOOL_NAMES: [&str; 4] = ["refund", "charge", "charge_again", "deliver"];

/// The network, as the engine sends messages into it.
pub(crate) struct Post(pub(crate) Weak<World>);

#[async_trait]
impl Notifier for Post {
    async fn notify(&self, notice: Notice) -> Result<Noticed, CallError> {
        match self.0.upgrade() {
            Some(world) if world.broken == Broken::Post && world.post.in_thousand(100) => {
                Ok(noticed(200))
            }
            Some(world) if world.broken == Broken::Forged && world.post.in_thousand(100) => {
                let body = format!("{} ", notice.body);
                world.receive(&Notice { body, ..notice }).await
            }
            Some(world) => {
                let answer = world.receive(&notice).await;
                if world.broken == Broken::PostTwice && answer.as_ref().is_ok_and(is_taken) {
                    return world.receive(&notice).await;
                }
                answer
            }
            None => Err(CallError::NotDelivered("there is no world".to_owned())),
        }
    }
}

fn noticed(status: u16) -> Noticed {
    Noticed {
        status,
        retry_after: None,
    }
}

fn is_taken(answer: &Noticed) -> bool {
    (200..300).contains(&answer.status)
}

fn header<'a>(notice: &'a Notice, name: &str) -> &'a str {
    let found = notice.headers.iter().find(|(key, _)| key == name);
    found.map_or("", |(_, value)| value)
}

/// What a message says: the endpoint, the position, and what it tells of it.
fn read(notice: &Notice) -> Option<(String, u64, Value)> {
    let id = header(notice, "webhook-id").strip_prefix("msg_")?;
    let (endpoint, position) = id.split_once('_')?;
    let body: Value = serde_json::from_str(&notice.body).ok()?;
    Some((endpoint.to_owned(), position.parse().ok()?, body))
}

impl World {
    /// Somebody asks for the endpoint.
    pub(crate) async fn wish(&self, engine: &Engine) -> Result<(), String> {
        let (root, program) = {
            let people = self.people();
            (
                people.ids["root"].clone(),
                people.programs["checkout"].clone(),
            )
        };
        let by = engine.identity().principal(&root);
        let by = by.ok_or("there is no administrator")?;
        let is_own = self.post.in_thousand(500);
        let owner = if is_own { &program } else { &root };
        let mut new = NewEndpoint {
            owner: owner.clone(),
            name: "an endpoint".to_owned(),
            url: "https://ears.example/hook".to_owned(),
            ..NewEndpoint::default()
        };
        if is_own {
            new.types = KINDS.iter().map(|(_, name)| (*name).to_owned()).collect();
            new.tools = TOOL_NAMES.iter().map(|name| (*name).to_owned()).collect();
        }
        let created = engine.create_webhook(&by, new).await;
        let (endpoint, secret) = created.map_err(|error| error.to_string())?;
        self.watch().ears.begin(Wish {
            id: endpoint
                .id
                .to_string()
                .trim_start_matches("whk_")
                .to_owned(),
            secret: secret.expose().to_owned(),
            owner: is_own.then(|| program.clone()),
            kinds: if is_own { &KIND_NAMES } else { &[] },
            tools: if is_own { &TOOL_NAMES } else { &[] },
            from: endpoint.place.through,
        });
        Ok(())
    }

    fn strikes_post(&self, fault: Fault) -> bool {
        self.weather.strikes(fault, &self.post)
    }

    async fn receive(&self, notice: &Notice) -> Result<Noticed, CallError> {
        let wait = async |most_ms| {
            let millis = self.post.between(1, most_ms);
            tokio::time::sleep(Duration::from_millis(millis)).await;
        };
        if self.strikes_post(Fault::HookDown) {
            wait(50).await;
            return Err(CallError::NotDelivered("connection refused".to_owned()));
        }
        wait(20).await;
        if self.strikes_post(Fault::HookLost) {
            return Err(CallError::Unknown("connection reset".to_owned()));
        }
        let id = self.heard(notice);
        if self.strikes_post(Fault::HookGone) {
            return Ok(noticed(410));
        }
        if self.strikes_post(Fault::HookBusy) {
            let asks = self
                .post
                .in_thousand(500)
                .then(|| self.post.between(0, 300));
            return Ok(Noticed {
                status: *self.post.pick(&[429, 503]).unwrap_or(&429),
                retry_after: asks.map(|seconds| seconds.to_string()),
            });
        }
        if self.strikes_post(Fault::HookError) {
            let status = self.post.pick(&[302, 400, 404, 500]);
            return Ok(noticed(*status.unwrap_or(&500)));
        }
        if self.strikes_post(Fault::HookSilent) {
            return std::future::pending().await;
        }
        if self.strikes_post(Fault::HookLate) {
            wait(14_000).await;
        }
        if self.strikes_post(Fault::HookAnswerLost) {
            return Err(CallError::Unknown("connection reset".to_owned()));
        }
        let start = self.watch().start;
        self.watch().ears.take(&id, start);
        let status = self.post.pick(&[200, 202, 204]);
        Ok(noticed(*status.unwrap_or(&200)))
    }

    /// A message has come; answers with the endpoint that it is for.
    fn heard(&self, notice: &Notice) -> String {
        self.pull();
        let Some((endpoint, position, body)) = read(notice) else {
            self.fail(format!("a message that cannot be read: {notice:?}"));
            return String::new();
        };
        self.note(format!("message {position} for {endpoint}"));
        let mut watch = self.watch();
        let secret = watch.ears.secret(&endpoint).unwrap_or_default();
        if !is_signed(&secret, notice) {
            watch.fail(format!(
                "I20: message {position} for {endpoint} is not signed"
            ));
        }
        let data = &body["data"];
        let told = (
            data["action_id"].as_str().unwrap_or_default(),
            data["version"].as_u64().unwrap_or(0),
            data["status"].as_str().unwrap_or_default(),
        );
        let start = watch.start;
        if let Err(what) = watch.ears.hear(&endpoint, position, told, start) {
            watch.fail(what);
        }
        endpoint
    }

    /// An administrator enables what is disabled. At the end also what waits for its next attempt.
    pub(crate) async fn mend_ears(&self) {
        let behind = self.watch().ears.behind();
        let Some(engine) = self.engine() else {
            return;
        };
        let root = self.people().ids.get("root").cloned().unwrap_or_default();
        let Some(by) = engine.identity().principal(&root) else {
            return;
        };
        for (id, is_disabled) in behind {
            let Ok(id) = format!("whk_{id}").parse::<EndpointId>() else {
                continue;
            };
            if !is_disabled {
                // At the end nobody has the patience to wait for hours.
                let waits = engine.webhook(&by, id).is_ok_and(|endpoint| {
                    let trying = endpoint.place.trying;
                    trying.is_some_and(|trying| self.clock.now() < trying.next_at)
                });
                if self.weather.rages() || !waits {
                    continue;
                }
                drop(engine.disable_webhook(&by, id, "it hangs").await);
            }
            let enabled = engine.enable_webhook(&by, id, None, "it is back").await;
            self.note(format!("{id} is enabled: {}", enabled.is_ok()));
        }
    }
}

/// Whether the message bears the signature of whoever knows the secret.
fn is_signed(secret: &str, notice: &Notice) -> bool {
    let (Ok(hook), Ok(at)) = (
        Webhook::new(secret),
        header(notice, "webhook-timestamp").parse(),
    ) else {
        return false;
    };
    let expected = hook.sign(header(notice, "webhook-id"), at, notice.body.as_bytes());
    let signatures = header(notice, "webhook-signature");
    expected.is_ok_and(|expected| signatures.split(' ').any(|one| one == expected))
}

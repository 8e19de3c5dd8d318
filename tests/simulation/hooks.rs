//! Webhook endpoints: services that answer badly and late, and who looks after them.
//!
//! A third of all seeds has one or two of them. The first hears of everything, or of some of what its
//! owner asked for; the second of one type, of one tool, or of both. People disable them, and enable them
//! where they stood or at another place. What each must be told is in [`crate::ears`].

use std::sync::Weak;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::engine::Engine;
use holdpoint_engine::target::{CallError, Notice, Noticed, Notifier};
use holdpoint_engine::webhook::{EndpointId, NewEndpoint};
use holdpoint_storage::EventLog as _;
use serde_json::Value;
use standardwebhooks::Webhook;

use crate::ears::{Heard, Wish};
use crate::weather::Fault;
use crate::world::{Broken, World};

/// The kinds of events that somebody asks for, and their types on the wire.
const KINDS: [(&str, &str); 5] = [
    ("action.vote_recorded", "approval.vote_recorded"),
    ("action.commit_recorded", "action.executing"),
    ("action.attempt_succeeded", "action.succeeded"),
    ("action.attempt_unknown", "action.unknown"),
    ("action.settled", "action.settled"),
];

/// The tools that somebody asks for.
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
    let (endpoint, place) = id.split_once('_')?;
    // What was written after a restore says so.
    let (position, _) = place.split_once('_').unwrap_or((place, ""));
    let body: Value = serde_json::from_str(&notice.body).ok()?;
    Some((endpoint.to_owned(), position.parse().ok()?, body))
}

impl World {
    /// Somebody asks for an endpoint, the first of number 0.
    pub(crate) async fn wish(&self, engine: &Engine, number: u64) -> Result<(), String> {
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
        let (kinds, tools) = match (number, is_own) {
            (0, false) => (&[][..], &[][..]),
            (0, true) => (&KINDS[..], &TOOL_NAMES[..]),
            (_, _) => {
                let (kind, tool) = (
                    self.post.place(KINDS.len()),
                    self.post.place(TOOL_NAMES.len()),
                );
                match self.post.below(3) {
                    0 => (&KINDS[kind..=kind], &[][..]),
                    1 => (&[][..], &TOOL_NAMES[tool..=tool]),
                    _ => (&KINDS[kind..=kind], &TOOL_NAMES[tool..=tool]),
                }
            }
        };
        let new = NewEndpoint {
            owner: if is_own { program.clone() } else { root },
            name: "an endpoint".to_owned(),
            url: format!("https://ears.example/hook/{number}"),
            types: kinds.iter().map(|(_, name)| (*name).to_owned()).collect(),
            tools: tools.iter().map(|name| (*name).to_owned()).collect(),
            from: None,
        };
        let created = engine.create_webhook(&by, new).await;
        let (endpoint, secret) = created.map_err(|error| error.to_string())?;
        let id = endpoint.id.to_string();
        self.watch().ears.begin(Wish {
            id: id.trim_start_matches("whk_").to_owned(),
            secret: secret.expose().to_owned(),
            owner: is_own.then_some(program),
            kinds: kinds.iter().map(|(kind, _)| *kind).collect(),
            tools,
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
        let heard = self.heard(notice);
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
        if let Some(heard) = heard {
            self.watch().ears.take(&heard);
        }
        let status = self.post.pick(&[200, 202, 204]);
        Ok(noticed(*status.unwrap_or(&200)))
    }

    /// A message has come; answers with what its endpoint may take.
    fn heard(&self, notice: &Notice) -> Option<Heard> {
        self.pull();
        let Some((endpoint, position, body)) = read(notice) else {
            self.fail(format!("a message that cannot be read: {notice:?}"));
            return None;
        };
        self.note(format!("message {position} for {endpoint}"));
        self.must_not_tell(&notice.body, "a message");
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
        let id = header(notice, "webhook-id");
        if let Err(what) = watch.ears.tell(&endpoint, id, &notice.body) {
            watch.fail(what);
        }
        let heard = watch.ears.hear(&endpoint, position, told, start);
        heard.unwrap_or_else(|what| {
            watch.fail(what);
            None
        })
    }

    /// An administrator looks after the endpoints: enables what is disabled, and sometimes disables
    /// what is not.
    pub(crate) async fn mend_ears(&self) {
        let all = self.watch().ears.list();
        let Some((engine, by)) = self.administered() else {
            return;
        };
        for (name, is_disabled) in all {
            let Ok(id) = format!("whk_{name}").parse::<EndpointId>() else {
                continue;
            };
            if is_disabled {
                let from = self.strikes(Fault::HookMoved).then(|| {
                    let first = self.watch().ears.first(&name);
                    let last = self.disk().durable().stats();
                    let last = last.map_or(first, |stats| stats.last_position);
                    self.dice.between(first, last)
                });
                let enabled = engine.enable_webhook(&by, id, from, "it is back").await;
                self.note(format!("{id} is enabled: {}", enabled.is_ok()));
            } else if self.strikes(Fault::HookStopped) {
                let disabled = engine.disable_webhook(&by, id, "not now").await;
                self.note(format!("{id} is disabled: {}", disabled.is_ok()));
            }
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

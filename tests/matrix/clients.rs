//! The clients: a service that submits until it has an answer, a person who votes, and the time
//! that passes. They go on from whatever is there, so they are the same before and after a fault.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use futures_util::stream;
use holdpoint_engine::action::{Action, Phase};
use http_body_util::BodyExt as _;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::hooks::{Hooks, Role, Site, Verdict, on_behalf_of};
use crate::steps::Plot;
use crate::world::{Life, NOT_BEFORE, World, auditor};

/// Longer than any case needs; what is not at its end by then hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// What waits in vain for the clock is given a second of it after so many looks, in each of which the
/// others had their turn, however slow the machine is.
const NUDGE: u32 = 10;

impl World {
    /// Goes on until the action is at its end; settles a doubt that is a person's by what the books
    /// say. To be dropped when the process dies.
    pub(crate) async fn live(self: Arc<Self>) -> Action {
        let begun = Instant::now();
        let (mut looks, mut last) = (0, None);
        loop {
            if PATIENCE < begun.elapsed() {
                let there = self.life().and_then(|life| self.action(&life));
                let there = there.map(|action| (action.phase, action.attempts));
                panic!("i27: it hangs: {:?} {there:?}", self.acks());
            }
            let life = self.life_that_works().await;
            if self.acks().staged.is_none() {
                self.submit(&life).await;
                continue;
            }
            let action = self
                .action(&life)
                .expect("i05: what was acknowledged is there");
            if self.plot == Plot::Pulled && self.work_on(&life, &action).await {
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            }
            match &action.phase {
                Phase::Staged if life.engine.now() < action.deadline().expect("a deadline") => {
                    self.vote(&life).await;
                    continue;
                }
                Phase::Unknown {
                    next_check: None,
                    next_resend: None,
                    ..
                } => {
                    let happened = !self.shop.books().effects.is_empty();
                    let reason = "it is in the books".to_owned();
                    let id = action.id;
                    // Refused where it was just found out.
                    let _late = life.engine.settle(auditor(), id, happened, reason).await;
                    continue;
                }
                Phase::Unknown {
                    next_check: Some(next),
                    ..
                }
                | Phase::Unknown {
                    next_resend: Some(next),
                    ..
                } if life.engine.now() < *next => {
                    if self.hooks().at(Site::Quiet).await == Verdict::Go {
                        let left = next.since(life.engine.now());
                        self.pass(left);
                        continue;
                    }
                }
                _ if action.status().is_final() => return action,
                _ => {
                    let now = life.engine.now();
                    let due = action.due_at().filter(|due| now < *due);
                    if action.phase != Phase::Executing
                        && let Some(due) = due
                    {
                        self.pass(due.since(now));
                        continue;
                    }
                }
            }
            let seen = Some((action.status(), action.updated_at));
            looks = if last == seen { looks + 1 } else { 0 };
            last = seen;
            if action.phase != Phase::Executing && NUDGE < looks {
                self.pass(Duration::from_secs(1));
                looks = 0;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The life there is; somebody starts the process where it is gone or its store has failed.
    async fn life_that_works(&self) -> Arc<Life> {
        let there = self.life();
        if let Some(life) = &there
            && life.engine.ready().is_ok()
        {
            return Arc::clone(life);
        }
        if there.is_some() {
            self.die();
        }
        self.start().await
    }

    async fn submit(&self, life: &Life) {
        let args = json!({ "order_id": "8812", "amount": 5 });
        let body = match self.plot {
            Plot::Called => json!({ "tool": "issue_refund", "args": args }),
            Plot::Kept => json!({ "tool": "issue_again", "args": args }),
            Plot::Pulled => json!({
                "tool": "ship", "args": args, "not_before": NOT_BEFORE.rfc3339(),
            }),
        };
        let asked = Asked::post(Role::Submit, &self.cast.service, "/v1/actions", &body);
        let (status, answer) = self.ask(life, asked).await;
        match status {
            StatusCode::CREATED | StatusCode::OK => {
                let id = answer["id"].as_str().expect("an id");
                self.acks().staged = Some(id.parse().expect("an id"));
            }
            _ => tokio::task::yield_now().await,
        }
    }

    async fn vote(&self, life: &Life) {
        let Some(id) = self.acks().staged else {
            return;
        };
        let path = format!("/v1/actions/{id}");
        let approver = &self.cast.approver;
        let shown = Asked {
            role: Role::Show,
            token: approver,
            method: "GET",
            path: &path,
            body: None,
            key: None,
        };
        let (status, page) = self.ask(life, shown).await;
        if status != StatusCode::OK || page["status"] != "staged" {
            return;
        }
        if self.hooks().at(Site::Reading).await != Verdict::Go {
            return;
        }
        let body = json!({
            "vote": "approve", "digest": page["digest"], "revision": page["revision"],
            "snapshot_digest": page["snapshot"]["digest"],
        });
        let path = format!("{path}/votes");
        let asked = Asked::post(Role::Vote, approver, &path, &body);
        let voted = self.ask(life, asked).await;
        self.acks().voted |= voted.0 == StatusCode::OK;
    }

    /// The requester takes it back.
    pub(crate) async fn cancel(&self, life: &Life) {
        let id = self.id().expect("there is something to cancel");
        let path = format!("/v1/actions/{id}/cancel");
        let body = json!({ "reason": "changed my mind" });
        let asked = Asked::post(Role::Observer, &self.cast.service, &path, &body);
        let (status, answer) = self.ask(life, asked).await;
        self.acks().cancelled |= status == StatusCode::OK && answer["status"] == "cancelled";
    }

    /// A request through the whole router; where it fails on the way, the answer is null.
    pub(crate) async fn ask(&self, life: &Life, asked: Asked<'_>) -> (StatusCode, Value) {
        let Asked {
            role, token, body, ..
        } = asked;
        let hooks = self.hooks();
        let token = match hooks.at(Site::Arrives(role)).await {
            Verdict::Go => token.to_owned(),
            Verdict::Fail => "hps_of_nobody".to_owned(),
        };
        let mut request = Request::builder()
            .method(asked.method)
            .uri(asked.path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json");
        if let Some(key) = asked.key {
            request = request.header("idempotency-key", key);
        }
        let request =
            request.body(body.map_or_else(Body::empty, |body| slow_body(hooks, role, body)));
        let router = life.router.clone();
        let work = async move {
            let answer = router.oneshot(request.expect("a request")).await;
            let answer = answer.unwrap_or_else(|never: Infallible| match never {});
            let status = answer.status();
            let bytes = answer
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes();
            (
                status,
                serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            )
        };
        on_behalf_of(role, work).await
    }
}

/// A request to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) role: Role,
    pub(crate) token: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
    pub(crate) key: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub(crate) fn post(role: Role, token: &'a str, path: &'a str, body: &'a Value) -> Self {
        Self {
            role,
            token,
            method: "POST",
            path,
            body: Some(body),
            key: None,
        }
    }
}

/// A body in two halves, with a look at the hooks in between and before its end.
fn slow_body(hooks: Hooks, role: Role, body: &Value) -> Body {
    let text = body.to_string();
    let (first, second) = text.split_at(text.len() / 2);
    let halves = [
        Bytes::from(first.to_owned()),
        Bytes::from(second.to_owned()),
    ];
    let pieces = stream::unfold(0, move |number| {
        let (hooks, halves) = (hooks.clone(), halves.clone());
        async move {
            let broken = || Err(std::io::Error::other("the client went away"));
            let site = match number {
                0 => return Some((Ok(halves[0].clone()), 1)),
                1 => Site::HalfBody(role),
                2 => Site::WholeBody(role),
                _ => return None,
            };
            let verdict = hooks.at(site).await;
            match (number, verdict) {
                (_, Verdict::Fail) => Some((broken(), 9)),
                (1, Verdict::Go) => Some((Ok(halves[1].clone()), 2)),
                (_, Verdict::Go) => None,
            }
        }
    });
    Body::from_stream(pieces)
}

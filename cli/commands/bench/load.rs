//! The clients: submissions, whole actions, and the time from approval to call.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdpoint_engine::engine::Submission;
use reqwest::{Method, header};
use serde_json::{Value, json};

use super::Bounds;
use super::figures::{Rate, Times};
use super::world::World;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::field;

/// How many submit at once while the queue is filled.
const FILLERS: usize = 64;

/// How long one action may take before the run is given up.
const ACTION_TIME: Duration = Duration::from_mins(1);

/// Submissions over HTTP that are durable and wait for people.
pub(super) async fn stage(world: &World, clients: usize, bounds: Bounds) -> Outcome<Rate> {
    let http = Arc::new(http()?);
    repeat(clients, bounds.time, bounds.count, || {
        let http = Arc::clone(&http);
        async move { submit(&http, world, "parked").await.map(|_| ()) }
    })
    .await
}

/// Whole actions: submitted, approved, read again, called, recorded, and seen to be so.
pub(super) async fn complete(world: &World, clients: usize, bounds: Bounds) -> Outcome<Rate> {
    let http = Arc::new(http()?);
    repeat(clients, bounds.time, bounds.count, || {
        let http = Arc::clone(&http);
        async move {
            let action = submit(&http, world, "refund").await?;
            approve(&http, world, &action).await?;
            succeeded(&http, world, &action).await
        }
    })
    .await
}

/// Puts actions into the queue until so many wait; answers how many do.
pub(super) async fn fill(world: &World, waiting: u64, bounds: Bounds) -> Outcome<u64> {
    let counts = world.engine.counts().by_status;
    let there = counts
        .iter()
        .find(|(status, _)| status.name() == "staged")
        .map_or(0, |(_, count)| *count);
    let missing = waiting.saturating_sub(there);
    let added = repeat(FILLERS, bounds.fill, missing, || async move {
        let number = world.next_action();
        let submission = Submission {
            tool: "parked".to_owned(),
            args: args(number),
            reason: None,
            labels: BTreeMap::new(),
            expires_in: None,
            request_key: None,
        };
        let submitted = world.engine.submit(&world.caller, submission).await;
        submitted
            .map(|_| ())
            .map_err(|error| Failure::because("an action could not be put into the queue", &error))
    })
    .await?;
    Ok(there + added.count)
}

/// The time from sending the last approval to the arrival of the call at the shop, one at a time.
pub(super) async fn approve_to_call(world: &World, bounds: Bounds) -> Outcome<Times> {
    let http = http()?;
    let mut times = Vec::with_capacity(bounds.probes);
    for _ in 0..bounds.probes {
        let action = submit(&http, world, "refund").await?;
        let called = world.shop.watch(&field(&action, "/args/order"));
        let sent = Instant::now();
        approve(&http, world, &action).await?;
        let called = tokio::time::timeout(ACTION_TIME, called).await;
        let Ok(Ok(called)) = called else {
            return Err(Failure::failed("an approved action was not called in time"));
        };
        times.push(called.saturating_duration_since(sent));
        succeeded(&http, world, &action).await?;
    }
    Ok(Times::of(times))
}

/// Does something over and over, so many at once, until the time is over or it was done so often.
async fn repeat<F, Fut>(clients: usize, time: Duration, count: u64, once: F) -> Outcome<Rate>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Outcome<()>>,
{
    let start = Instant::now();
    let left = std::sync::atomic::AtomicU64::new(count);
    let take = || {
        let order = std::sync::atomic::Ordering::Relaxed;
        left.fetch_update(order, order, |left| left.checked_sub(1))
            .is_ok()
    };
    let client = || async {
        let mut done = 0_u64;
        while start.elapsed() < time && take() {
            once().await?;
            done += 1;
        }
        Ok::<u64, Failure>(done)
    };
    let done = futures_util::future::try_join_all((0..clients).map(|_| client())).await?;
    Ok(Rate {
        count: done.into_iter().sum(),
        time: start.elapsed(),
    })
}

fn args(number: u64) -> Value {
    json!({ "order": format!("order-{number}"), "amount": 100 })
}

async fn submit(http: &reqwest::Client, world: &World, tool: &str) -> Outcome<Value> {
    let number = world.next_action();
    let body = json!({ "tool": tool, "args": args(number) });
    let request = http
        .post(format!("{}/v1/actions", world.url))
        .header("Idempotency-Key", format!("\"bench-{number}\""));
    send(request, &world.key, Some(&body)).await
}

async fn approve(http: &reqwest::Client, world: &World, action: &Value) -> Outcome<()> {
    let body = json!({
        "vote": "approve",
        "digest": action.get("digest"),
        "revision": action.get("revision"),
        "snapshot_digest": action.pointer("/snapshot/digest"),
    });
    let url = format!("{}/v1/actions/{}/votes", world.url, field(action, "/id"));
    send(http.post(url), &world.session, Some(&body))
        .await
        .map(|_| ())
}

/// Waits until the action has succeeded; anything else ends the run.
async fn succeeded(http: &reqwest::Client, world: &World, action: &Value) -> Outcome<()> {
    let url = format!("{}/v1/actions/{}?wait=1s", world.url, field(action, "/id"));
    let start = Instant::now();
    while start.elapsed() < ACTION_TIME {
        let now = send(http.request(Method::GET, &url), &world.key, None).await?;
        let status = field(&now, "/status");
        match ExitCode::of_status(&status) {
            ExitCode::Ok if status == "succeeded" => return Ok(()),
            ExitCode::Ok | ExitCode::Pending => {}
            _ => return Err(Failure::failed(format!("an action ended as {status}"))),
        }
    }
    Err(Failure::failed("an action did not end in time"))
}

async fn send(
    request: reqwest::RequestBuilder,
    token: &str,
    body: Option<&Value>,
) -> Outcome<Value> {
    let failed = |error: reqwest::Error| Failure::because("a request failed", &error);
    let mut request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    if let Some(body) = body {
        request = request
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
    }
    let response = request.send().await.map_err(failed)?;
    let status = response.status();
    let bytes = response.bytes().await.map_err(failed)?;
    if !status.is_success() {
        return Err(crate::problem::failure(status.as_u16(), &bytes, true));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::because("the server did not answer with JSON", &error))
}

fn http() -> Outcome<reqwest::Client> {
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(|error| Failure::because("cannot start the HTTP client", &error))
}

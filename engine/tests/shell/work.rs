//! Workers that pull: one at a time, through stops and starts, with all that a call is held to.

mod again;
mod held;
mod lease;
mod queue;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{ActionId, Status};
use holdpoint_engine::engine::{Assignment, ClaimWish, Engine, WorkError, WorkOutcome};
use holdpoint_engine::identity::Principal;
use holdpoint_storage::MemoryLog;
use serde_json::{Value, json};

use crate::world::{ManualClock, Scene, Shop, auditor, open, service};

/// Tools that workers pull, with the shop as their source of truth.
fn tools(shop: &Shop) -> Value {
    let base = format!("http://{}", shop.address);
    let execute = json!({
        "worker": {}, "timeout": "10s", "retry": { "attempts": 3, "backoff": "1ms..5ms" },
        "result": { "type": "object", "required": ["id"] },
    });
    let check = json!({
        "http": { "get": format!("{base}/refunds?key={{idempotency_key}}") },
        "happened": "size(body.refunds) > 0",
    });
    let state = json!({
        "http": { "get": format!("{base}/orders/{{order_id}}") }, "watch": ["/refundable_minor"],
    });
    json!({ "tools": {
        "ship": {
            "safetyClass": "write-once-checkable", "execute": execute, "check": check,
            "requestLifetime": "0s", "concurrency": 100,
        },
        "one_by_one": {
            "safetyClass": "irreversible", "execute": execute, "concurrency": 1,
        },
        "unchecked": { "safetyClass": "irreversible", "execute": execute },
        "refund": {
            "safetyClass": "approval-bound", "execute": execute, "state": state,
            "requestLifetime": "0s", "approval": { "expiresIn": "1h" },
        },
        "held": {
            "safetyClass": "approval-bound", "execute": execute,
            "approval": { "hold": "30s", "expiresIn": "1h" },
        },
        "called": {
            "safetyClass": "write-once-checkable",
            "execute": { "http": { "post": format!("{base}/refunds") } },
        },
    } })
}

async fn scene() -> Scene {
    let shop = Shop::open().await;
    let log = Arc::new(MemoryLog::new());
    let clock = ManualClock::new();
    let engine = open(log.clone(), &tools(&shop), Some(clock.clone())).await;
    Scene {
        shop,
        engine,
        log,
        clock: Some(clock),
    }
}

fn worker(name: &str) -> Principal {
    Principal {
        id: format!("key_{name}"),
        name: name.to_owned(),
        scopes: BTreeSet::from(["work:*".to_owned()]),
        ..service()
    }
}

fn wish(tools: &[&str], wait: Duration) -> ClaimWish {
    ClaimWish {
        tools: tools.iter().map(ToString::to_string).collect(),
        wait,
        lease: None,
        request_key: None,
    }
}

const AT_ONCE: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_mins(1);

async fn claim(engine: &Engine, by: &Principal, tool: &str) -> Option<Assignment> {
    let claimed = engine.claim(by, wish(&[tool], AT_ONCE)).await;
    claimed.expect("a claim that is allowed")
}

async fn claimed(scene: &Scene, by: &str, tool: &str) -> Assignment {
    let given = claim(&scene.engine, &worker(by), tool).await;
    given.expect("there is work")
}

async fn complete(
    engine: &Engine,
    by: &str,
    given: &Assignment,
    outcome: WorkOutcome,
) -> Result<Status, WorkError> {
    let done = engine
        .complete(&worker(by), given.id, given.epoch, outcome)
        .await;
    done.map(|view| view.action.status())
}

fn shipped() -> WorkOutcome {
    WorkOutcome::Succeeded(json!({ "id": "sh_1" }))
}

fn kinds(scene: &Scene, id: ActionId) -> Vec<String> {
    let history = scene.engine.history(&auditor(), id, 0, 100);
    let entries = history.expect("visible").into_iter();
    entries.map(|entry| entry.kind).collect()
}

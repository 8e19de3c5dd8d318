//! The tools of the simulation: every class, with and without a check, a state, a key that the
//! target keeps.

use std::sync::{Arc, LazyLock};

use holdpoint_engine::tool::{Format, Registry, ToolsFile};
use serde_json::{Value, json};

/// How far the source of truth may lag behind, in milliseconds: `settle` of every tool.
pub(crate) const SETTLE_MS: u64 = 2_000;

/// How long a request may be on its way, in milliseconds: `requestLifetime` of every tool.
pub(crate) const LIFETIME_MS: u64 = 60_000;

/// How long the target keeps a key that is sent to this part of it, in milliseconds; none where it
/// keeps none. A little longer than `keyRetention` says, as `docs/TOOLS.md` asks for.
pub(crate) fn kept_ms(part: &str) -> Option<u64> {
    let minute = 60_000;
    match part {
        "kept" => Some(24 * 60 * minute + minute),
        "brief" => Some(75_000 + minute),
        _ => None,
    }
}

/// The file in which the secret of some tools stands.
const SECRET: &str = "bank.key";

/// The tools whose calls workers carry out.
pub(crate) const PULLED: [&str; 2] = ["deliver", "deliver_blind"];

/// Every tool that is recorded, with how often it is asked for.
pub(crate) const TOOLS: [(&str, u64); 14] = [
    ("refund", 6),
    ("refund_closed", 3),
    ("refund_blind", 2),
    ("charge", 5),
    ("charge_kept", 3),
    ("charge_again", 4),
    ("refund_again", 3),
    ("refund_secret", 3),
    ("charge_secret", 3),
    ("wipe", 3),
    ("wipe_blind", 2),
    ("wipe_again", 1),
    ("deliver", 4),
    ("deliver_blind", 2),
];

/// The tool that is called at once, however often.
pub(crate) const LOOK: &str = "look";

/// How many tools files there are: the first, one with other descriptions, one with other places to
/// call, and one that asks for other people (K1).
pub(crate) const VERSIONS: usize = 4;

/// The tools of one of the files.
pub(crate) fn registry(version: usize) -> Arc<Registry> {
    static ALL: LazyLock<[Arc<Registry>; VERSIONS]> = LazyLock::new(|| std::array::from_fn(load));
    Arc::clone(&ALL[version])
}

fn load(version: usize) -> Arc<Registry> {
    let mut file = first();
    change(&mut file["tools"], version);
    let text = file.to_string();
    let file = ToolsFile::from_str(&text, Format::Json).expect("a valid tools file");
    Arc::new(file.registry)
}

fn change(tools: &mut Value, version: usize) {
    match version {
        1 => {
            for tool in ["refund", "wipe", "deliver"] {
                tools[tool]["description"] = json!("the new one");
            }
        }
        2 => {
            for tool in ["charge", "refund_closed"] {
                tools[tool]["execute"]["http"]["post"] =
                    json!("https://bank.example/moved/{order}");
            }
        }
        3 => {
            tools["refund_blind"]["approval"]["required"] = json!(2);
            tools["wipe_blind"]["safetyClass"] = json!("approval-bound");
            tools["wipe_blind"]["approval"] = json!({ "expiresIn": "30m" });
        }
        _ => {}
    }
}

fn execute(kind: &str) -> Value {
    json!({
        "http": {
            "post": format!("https://bank.example/{kind}/{{order}}"),
            "json": { "amount": "{amount}" },
        },
        "timeout": "10s",
        "retry": { "attempts": 4, "backoff": "1s..1m" },
    })
}

/// The same, sent with a credential.
fn signed(mut part: Value) -> Value {
    part["http"]["auth"] = json!({ "bearer": { "file": SECRET } });
    part
}

fn first() -> Value {
    let state = json!({
        "http": { "get": "https://bank.example/orders/{order}" },
        "watch": ["/status", "/left"],
    });
    let mut restaging = state.clone();
    restaging["onMismatch"] = json!("restage");
    let check = json!({
        "http": { "get": "https://bank.example/find?key={idempotency_key}" },
        "happened": "size(body.found) > 0",
        "settle": "2s",
    });
    let mut closed = execute("plain");
    closed["http"]["headers"] = json!({ "If-Match": "{state_etag}" });
    let enough = json!([{ "rule": "state.left >= args.amount", "message": "more than is left" }]);
    let input = json!({
        "type": "object", "required": ["order", "amount"],
        "properties": {
            "order": { "type": "string" }, "amount": { "type": "integer" },
            "reference": { "type": "string" },
        },
    });
    json!({ "tools": {
        "refund": {
            "description": "the old one", "safetyClass": "approval-bound", "input": input,
            "idempotencyKey": "refund:{order}:{reference}", "preconditions": enough,
            "state": state, "execute": execute("plain"), "check": check, "requestLifetime": "60s",
            "approval": { "required": 2, "groups": ["finance"], "expiresIn": "1h", "hold": "20s" },
        },
        "refund_closed": {
            "safetyClass": "approval-bound", "input": input,
            "idempotencyKey": "closed:{order}:{reference}", "preconditions": enough,
            "state": restaging, "execute": closed, "check": check, "requestLifetime": "60s",
            "approval": { "expiresIn": "2h", "rules": [
                { "when": "args.amount > 500", "required": 2, "reason": "above 5.00" },
            ] },
        },
        "refund_blind": {
            "safetyClass": "approval-bound", "input": input, "execute": execute("plain"),
            "requestLifetime": "60s", "approval": { "expiresIn": "30m" },
        },
        "charge": {
            "safetyClass": "write-once-checkable", "input": input,
            "idempotencyKey": "charge:{order}:{reference}", "execute": execute("plain"),
            "check": check, "requestLifetime": "60s",
        },
        "charge_kept": {
            "safetyClass": "write-once-checkable", "input": input,
            "idempotencyKey": "kept:{order}:{reference}", "execute": execute("kept"),
            "check": check, "requestLifetime": "60s", "keyRetention": "24h",
        },
        "charge_again": {
            "safetyClass": "write-once-checkable", "input": input,
            "idempotencyKey": "again:{order}:{reference}", "execute": execute("brief"),
            "requestLifetime": "60s", "keyRetention": "75s",
        },
        "refund_again": {
            "safetyClass": "approval-bound", "input": input, "state": state,
            "idempotencyKey": "refund-again:{order}:{reference}", "execute": execute("kept"),
            "requestLifetime": "60s", "keyRetention": "24h", "approval": { "expiresIn": "1h" },
        },
        "refund_secret": {
            "safetyClass": "approval-bound", "input": input, "preconditions": enough,
            "idempotencyKey": "refund-secret:{order}:{reference}", "state": signed(state.clone()),
            "execute": signed(execute("plain")), "check": signed(check.clone()),
            "requestLifetime": "60s", "approval": { "expiresIn": "1h" },
        },
        "charge_secret": {
            "safetyClass": "write-once-checkable", "input": input,
            "idempotencyKey": "charge-secret:{order}:{reference}",
            "execute": signed(execute("kept")), "requestLifetime": "60s", "keyRetention": "24h",
        },
        "wipe_again": {
            "safetyClass": "irreversible", "input": input,
            "idempotencyKey": "wipe-again:{order}:{reference}", "execute": execute("brief"),
            "requestLifetime": "60s", "keyRetention": "75s",
        },
        "wipe": {
            "description": "the old one", "safetyClass": "irreversible", "input": input,
            "idempotencyKey": "wipe:{order}:{reference}", "state": state,
            "execute": execute("plain"), "check": check, "requestLifetime": "60s",
        },
        "wipe_blind": {
            "safetyClass": "irreversible", "input": input, "execute": execute("plain"),
            "requestLifetime": "60s",
        },
        "deliver": {
            "safetyClass": "approval-bound", "input": input,
            "idempotencyKey": "deliver:{order}:{reference}", "preconditions": enough,
            "state": state, "check": check, "requestLifetime": "60s",
            "approval": { "expiresIn": "1h" },
        },
        "deliver_blind": {
            "safetyClass": "write-once-checkable", "input": input, "requestLifetime": "60s",
        },
        "look": {
            "safetyClass": "idempotent", "input": input,
            "execute": { "http": { "get": "https://bank.example/look/{order}" } },
        },
    } })
}

//! The world outside: tools that are closures that count what they did, and a target that knows of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::target::{
    Answer, Body, CallError, LocalCall, LocalError, Locals, Outgoing, Target,
};
use holdpoint_engine::time::{Clock, SystemClock, Timestamp};
use serde_json::{Value, json};

/// Something that was done.
struct Deed {
    name: String,
    key: String,
    answer: Value,
}

/// The world outside: what was done in it, in order.
#[derive(Default)]
pub(crate) struct World {
    done: Mutex<Vec<Deed>>,
    /// What an approver looks at; moves when told.
    version: AtomicU64,
    /// How far its clock is before the machine's, in milliseconds.
    ahead: AtomicI64,
}

impl World {
    /// What was done, each with how often.
    pub(crate) fn counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for deed in self.done.lock().expect("no panic").iter() {
            let entry = (deed.name.clone(), deed.key.clone());
            *counts.entry(entry).or_default() += 1;
        }
        counts
    }

    fn does(&self, name: &str, key: &str, answer: &Value) {
        let deed = Deed {
            name: name.to_owned(),
            key: key.to_owned(),
            answer: answer.clone(),
        };
        self.done.lock().expect("no panic").push(deed);
    }

    /// How much was done, reads among it.
    pub(crate) fn count(&self) -> usize {
        self.done.lock().expect("no panic").len()
    }

    pub(crate) fn moves(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Sets its clock forward; nobody says so.
    pub(crate) fn passes(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).expect("a short time");
        self.ahead.fetch_add(millis, Ordering::SeqCst);
    }

    fn ahead(&self) -> i64 {
        self.ahead.load(Ordering::SeqCst)
    }
}

/// A clock that goes on by itself and can be set forward.
pub(crate) struct OwnClock(pub(crate) Arc<World>);

impl Clock for OwnClock {
    fn now(&self) -> Timestamp {
        Timestamp(SystemClock.now().0 + self.0.ahead())
    }

    fn steady(&self) -> Option<Duration> {
        let ahead = Duration::from_millis(self.0.ahead().unsigned_abs());
        Some(SystemClock.steady()? + ahead)
    }
}

/// Answers what was done under a key, and what version the world has.
pub(crate) struct Books(pub(crate) Arc<World>);

#[async_trait]
impl Target for Books {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        if outgoing.method == "POST" {
            // Written in another way than the log writes JSON, and longer than it keeps.
            let pad = "x".repeat(70_000);
            let text = format!("{{ \"path\": \"/said\",  \"pad\": \"{pad}\", \"z\": 7 }}");
            let key = outgoing.url.split_once("key=").map_or("", |(_, key)| key);
            let key = key.replace("%3A", ":").replace("%2F", "/");
            self.0.does("say", &key, &json!(true));
            return Ok(Answer {
                status: 200,
                etag: None,
                body: Body::Whole(text.into_bytes()),
            });
        }
        let key = outgoing.url.split_once("key=").map(|(_, key)| key);
        let body = match key {
            Some(key) => {
                let done = self.0.done.lock().expect("no panic");
                let key = key.replace("%3A", ":").replace("%2F", "/");
                let deed = done.iter().find(|deed| deed.key == key);
                deed.map_or(Value::Null, |deed| deed.answer.clone())
            }
            None => json!({ "version": self.0.version.load(Ordering::SeqCst) }),
        };
        Ok(Answer {
            status: 200,
            etag: None,
            body: Body::Whole(body.to_string().into_bytes()),
        })
    }
}

pub(crate) fn locals(world: &Arc<World>) -> Locals {
    let named = |name: &'static str, answer: fn(&Value) -> Result<Value, LocalError>| {
        let world = Arc::clone(world);
        move |call: LocalCall| {
            let answer = answer(&call.args);
            let told = answer.clone().unwrap_or_default();
            world.does(name, &call.idempotency_key, &told);
            async move { answer }
        }
    };
    let no = |_: &Value| Err(LocalError::Refused("no".to_owned()));
    let doubt = |_: &Value| Err(LocalError::Unknown("the line broke".to_owned()));
    Locals::default()
        .with(
            "read",
            named("read", |_| Ok(json!({ "version": "1.2.3", "size": 5 }))),
        )
        .with("label", named("label", |args| Ok(args.clone())))
        .with(
            "remove",
            named("remove", |_| Ok(json!({ "removed": true }))),
        )
        .with("no", named("no", no))
        .with("doubt", named("doubt", doubt))
}

pub(crate) fn tools() -> Value {
    let check = json!({
        "http": { "get": "http://books.example/done?key={idempotency_key}" },
        "happened": "body != null",
    });
    let write = |local: &str, class: &str| {
        json!({ "execute": { "local": local }, "safetyClass": class, "check": check,
                "requestLifetime": "1s" })
    };
    let keyed = |local: &str, class: &str| {
        let order = json!({ "order": { "type": "string" } });
        let input = json!({ "type": "object", "required": ["order"], "properties": order });
        json!({ "execute": { "local": local }, "safetyClass": class, "input": input,
                "idempotencyKey": "pay:{order}" })
    };
    let state = json!({ "http": { "get": "http://books.example/state" }, "watch": ["/version"] });
    json!({ "tools": {
        "get_version": { "execute": { "local": "read" }, "safetyClass": "idempotent" },
        "read_size": { "execute": { "local": "read" }, "safetyClass": "idempotent",
                       "input": { "type": "object", "properties": { "size": { "type": "integer" } } } },
        "set_label": write("label", "write-once-checkable"),
        "remove_label": write("remove", "write-once-checkable"),
        "delete_all": write("remove", "approval-bound"),
        "set_words": { "execute": { "http": { "post": "http://books.example/say?key={idempotency_key}" } },
                       "safetyClass": "write-once-checkable", "check": check, "requestLifetime": "1s" },
        "pay_out": keyed("remove", "approval-bound"),
        "refuse_out": keyed("no", "write-once-checkable"),
        "move_all": { "execute": { "local": "remove" }, "safetyClass": "approval-bound", "state": state },
        "read_nothing": { "execute": { "local": "no" }, "safetyClass": "idempotent" },
        "fail": { "execute": { "local": "no" }, "safetyClass": "write-once-checkable" },
        "doubt": { "execute": { "local": "doubt" }, "safetyClass": "irreversible" },
        "forbidden": { "execute": { "local": "label" }, "safetyClass": "irreversible",
                       "requiredScopes": ["nobody:has"] },
    } })
}

//! The same call of a step once more, with the secrets of its run: the same bytes, or none.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_engine::action::{ActionId, Event, Phase, Status};
use holdpoint_engine::engine::Resumption;
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, RunId, RunStatus};
use holdpoint_engine::target::{LocalCall, LocalError, Locals};
use serde_json::{Value, json};

use crate::house::{House, approver, waiting_in};

const FILE: &str = r#"---
name: tell
description: Say it
inputs: {"token": {"type": "string", "secret": true}}
---

### Step 1 — Say it
- intent: Say it
- action: tell {"label": "{{token}}"}
"#;

/// What the target was sent: it answers everything but the first call.
type Heard = Arc<Mutex<Vec<Value>>>;

fn locals(heard: &Heard) -> Locals {
    let heard = Arc::clone(heard);
    Locals::default().with("tell", move |call: LocalCall| {
        let mut heard = heard.lock().expect("no panic");
        heard.push(json!([call.idempotency_key, call.args]));
        let answer = match heard.len() {
            1 => Err(LocalError::Unknown("the line broke".to_owned())),
            _ => Ok(json!({ "told": true })),
        };
        async move { answer }
    })
}

fn tools() -> Value {
    json!({ "tools": { "tell": {
        "execute": { "local": "tell", "retry": { "backoff": "1h..1h" } },
        "safetyClass": "irreversible", "keyRetention": "24h", "requestLifetime": "1s",
    } } })
}

/// A run whose call may have happened, and the action of it.
async fn in_doubt(heard: &Heard) -> (House, RunId, ActionId) {
    let house = House::open().await;
    let house = house
        .die_and_start_with(&tools(), locals(heard), Workflows::default())
        .await;
    let what = NewOrigin::Skill {
        text: FILE.to_owned(),
        inputs: Inputs::Texts(vec![("token".to_owned(), "t0ken-1".to_owned())]),
        ignore_manifest: false,
    };
    let flags = Flags {
        allow_writes: true,
        yes: true,
        stage: false,
    };
    let id = house.begin(what, flags).await.expect("it starts");
    let run = house
        .until(id, |run| {
            waiting_in(run).is_some_and(|(_, why)| why == Waiting::Settlement)
        })
        .await;
    let (action, _) = waiting_in(&run).expect("it waits");
    (house, id, action)
}

async fn give(house: &House, id: RunId, value: &str) {
    let how = Resumption {
        secrets: vec![("token".to_owned(), value.to_owned())],
        ..Resumption::default()
    };
    let run = house.engine.resume_run(&house.by, id, how).await;
    run.expect("it is taken");
}

/// Why it was not sent again, once that is decided.
async fn until_dropped(house: &House, action: ActionId) -> String {
    house.pass(Duration::from_hours(2));
    loop {
        let view = house.engine.get(&approver(), action).expect("the action");
        let is_planned = match view.action.phase {
            Phase::Unknown { next_resend, .. } => next_resend.is_some(),
            _ => panic!("{:?}", view.action.status()),
        };
        if !is_planned {
            break;
        }
        tokio::task::yield_now().await;
    }
    let history = house.engine.history(&approver(), action, 0, 100);
    let mut events = history.expect("a history").into_iter();
    events
        .find_map(|entry| match entry.event {
            Some(Event::ResendDropped { message, .. }) => Some(message),
            _ => None,
        })
        .expect("it was dropped")
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_a_resend_of_a_step_has_the_secret_that_it_was_sent_with() {
    let heard = Heard::default();
    let (house, id, _) = in_doubt(&heard).await;
    give(&house, id, "t0ken-1").await;
    house.pass(Duration::from_hours(2));
    house.until_status(id, RunStatus::Passed).await;
    let heard = heard.lock().expect("no panic");
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0], heard[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_another_secret_never_goes_out_under_the_key_of_a_call_in_doubt() {
    for (dies, value, words) in [
        (false, "t0ken-2", "was given another value since"),
        (true, "t0ken-2", "by a process that has ended"),
        (true, "t0ken-1", "by a process that has ended"),
    ] {
        let heard = Heard::default();
        let (mut house, id, action) = in_doubt(&heard).await;
        if dies {
            house = house
                .die_and_start_with(&tools(), locals(&heard), Workflows::default())
                .await;
        }
        give(&house, id, value).await;
        let why = until_dropped(&house, action).await;
        assert!(
            why.contains("secret input token") && why.contains(words),
            "{why}"
        );
        assert!(!why.contains("t0ken"), "{why}");
        assert_eq!(heard.lock().expect("no panic").len(), 1, "{words}");
        let settled = house
            .engine
            .settle(&approver(), action, true, "looked it up".to_owned())
            .await;
        assert_eq!(settled.expect("settled").action.status(), Status::Succeeded);
        house.until_status(id, RunStatus::Passed).await;
    }
}

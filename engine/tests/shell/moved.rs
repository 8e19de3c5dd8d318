//! Everything that is kept beside the log comes back from the log alone (invariant I6): after an
//! export and an import, which carry no index, and after every index was deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{PrincipalKind, Status};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::engine::{
    Assignment, ClaimWish, Engine, Options, RequestKey, Submission, Submitted, WebhookOptions,
};
use holdpoint_engine::identity::{NewKey, NewPerson, Role, Secret};
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::webhook::{NewEndpoint, SigningKey};
use holdpoint_storage::transfer::{LogFile, export, import};
use holdpoint_storage::{Batch, Direction, EventLog, MemoryLog, ScanRange};
use serde_json::json;

use crate::world::{Scene, auditor, open_with, operator, refund_of, service, submission, taken};

/// What must be the same: views, what is open, what can be pulled, who is reminded, and the lists of
/// people, keys and endpoints.
const KEPT: [u8; 7] = [1, 2, 10, 20, 21, 40, 60];

const HOUR: Duration = Duration::from_hours(1);

type Dump = Vec<Vec<(Vec<u8>, Vec<u8>)>>;

fn dump(log: &dyn EventLog, indexes: impl IntoIterator<Item = u8>) -> Dump {
    let range = ScanRange::default;
    indexes
        .into_iter()
        .map(|index| {
            let entries = log.scan(index, range(), 10_000, Direction::Forward);
            entries.expect("scans")
        })
        .collect()
}

fn webhooks(key: &SigningKey) -> Options {
    Options {
        webhooks: WebhookOptions {
            key: Ok(key.clone()),
            public_url: Some("https://holdpoint.example".to_owned()),
            notifier: None,
        },
        ..Options::default()
    }
}

/// What was left behind before the move.
struct Left {
    bearer: Secret,
    work: Assignment,
    request: Submission,
    scheduled: holdpoint_engine::action::ActionId,
}

/// Leaves something of every kind behind.
async fn live(scene: &Scene) -> Left {
    let engine = &scene.engine;
    let people = engine.identity();
    let person = |email: &str, role| NewPerson {
        email: email.to_owned(),
        name: "Ana".to_owned(),
        roles: BTreeSet::from([role]),
        ..NewPerson::default()
    };
    let admin = person("ana@example.com", Role::Admin);
    let admin = people.create_person("test", admin).await.expect("a person");
    let key = NewKey {
        name: "packer".to_owned(),
        kind: PrincipalKind::Service,
        owner: admin.id.clone(),
        scopes: BTreeSet::from(["work:*".to_owned()]),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (_, bearer) = people.create_key("test", key).await.expect("a key");
    let by = people.principal(&admin.id).expect("enabled");
    let endpoint = NewEndpoint {
        name: "orders".to_owned(),
        url: "https://example.com/hook".to_owned(),
        types: BTreeSet::from(["action.late_answer".to_owned()]),
        ..NewEndpoint::default()
    };
    engine.create_webhook(&by, endpoint).await.expect("created");

    let request = Submission {
        request_key: Some(RequestKey {
            key: "order-8812".to_owned(),
            fingerprint: Digest([7; 32]),
        }),
        ..submission("issue_refund", refund_of(300, "r2"))
    };
    // Staged: it has reminders.
    taken(engine.submit(&service(), request.clone()).await);
    let later = Submission {
        not_before: Some(engine.now().plus(HOUR)),
        ..submission("write_once", refund_of(100, "r3"))
    };
    let scheduled = taken(engine.submit(&service(), later).await).action.id;
    for number in 0..2 {
        scene.submit("pulled", json!({ "a": number })).await;
    }
    let packer = people.authenticate_key(bearer.expose()).await;
    let wish = ClaimWish {
        tools: vec!["pulled".to_owned()],
        wait: Duration::ZERO,
        lease: Some(HOUR / 4),
        request_key: None,
    };
    let work = engine.claim(&packer.expect("it works"), wish).await;
    let work = work.expect("a claim").expect("work");
    engine
        .pause(&operator(), "a move")
        .await
        .expect("an operator may");
    Left {
        bearer,
        work,
        request,
        scheduled,
    }
}

/// Everything is there and goes on.
async fn check(engine: &Engine, left: &Left) {
    let paused = engine.paused().expect("still paused");
    assert_eq!(paused.reason, "a move");
    let people = engine.identity();
    let packer = people.authenticate_key(left.bearer.expose()).await;
    let packer = packer.expect("the key works");
    let endpoints = engine.webhooks(&auditor());
    assert_eq!(endpoints.len(), 1);
    assert!(endpoints[0].is_enabled());
    let again = NewPerson {
        email: "Ana@Example.com".to_owned(),
        name: "Another".to_owned(),
        ..NewPerson::default()
    };
    let again = people.create_person("test", again).await;
    assert!(again.is_err(), "the address is held");
    match engine.submit(&service(), left.request.clone()).await {
        Ok(Submitted::Action { replayed, .. }) => assert!(replayed, "the key is held"),
        other => panic!("{other:?}"),
    }
    let scheduled = engine.get(&auditor(), left.scheduled).expect("visible");
    assert_eq!(scheduled.action.status(), Status::Accepted);
    assert!(scheduled.action.not_before.is_some());
    let (id, epoch) = (left.work.id, left.work.epoch);
    let until = engine.heartbeat(&packer, id, epoch, None).await;
    assert!(left.work.lease_until <= until.expect("the lease is held"));
    let wish = || ClaimWish {
        tools: vec!["pulled".to_owned()],
        wait: Duration::ZERO,
        lease: None,
        request_key: None,
    };
    let none = engine.claim(&packer, wish()).await.expect("a claim");
    assert!(none.is_none(), "paused");
    engine.resume(&operator(), None).await.expect("resumed");
    let more = engine.claim(&packer, wish()).await.expect("a claim");
    assert!(more.is_some_and(|more| more.id != id), "the other one");
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_everything_comes_back_from_an_exported_log_and_from_one_without_indexes() {
    let mut scene = Scene::open().await;
    let key = SigningKey::random(&SystemEntropy).expect("random bytes");
    let tools = scene.shop.tools();
    let log = Arc::new(scene.log.reopen());
    scene.log = log.clone();
    scene.engine = open_with(log, &tools, None, webhooks(&key)).await;
    let left = live(&scene).await;
    let before = dump(scene.log.as_ref(), KEPT);
    assert!(before.iter().all(|index| !index.is_empty()), "{before:?}");

    let mut bytes = Vec::new();
    let written = export(scene.log.as_ref(), 1, None, 1, &mut bytes, &mut |_| {});
    written.expect("is written");
    let imported = Arc::new(MemoryLog::new());
    let mut file = LogFile::open(bytes.as_slice()).expect("reads");
    let taken = import(&mut file, imported.as_ref(), &mut |_, _| {}).await;
    taken.expect("is taken");

    let bare = Arc::new(scene.log.reopen());
    for (index, entries) in (1..=69).zip(dump(bare.as_ref(), 1..=69)) {
        let batch = Batch {
            deletes: entries.into_iter().map(|(key, _)| (index, key)).collect(),
            ..Batch::default()
        };
        bare.append(batch).await.expect("deleted");
    }
    for log in [imported, bare] {
        let engine = open_with(log.clone(), &tools, None, webhooks(&key)).await;
        assert_eq!(dump(log.as_ref(), KEPT), before);
        check(&engine, &left).await;
    }
}

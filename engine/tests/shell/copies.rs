//! A copy of the log knows nothing of what the other one has sent since (invariant I29).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{AttemptResult, Status};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::engine::{Engine, OpenError, Options, RequestKey, Submission, Submitted};
use holdpoint_engine::full::is_full;
use holdpoint_engine::identity::NewPerson;
use holdpoint_engine::incarnation::{self, Underway};
use holdpoint_engine::tool::{Format, Registry, ToolsFile};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::transfer::{LogFile, export, import};
use holdpoint_storage::{
    Batch, Direction, EventLog, MemoryLog, NewRecord, Origin, ScanRange, SledLog, SledOptions,
    StreamAppend, StreamId,
};
use serde_json::Value;

use crate::world::{
    Mood, Scene, Shop, auditor, open, open_with, refund_of, service, submission, taken,
};

fn registry(tools: &Value) -> Arc<Registry> {
    let file = ToolsFile::from_str(&tools.to_string(), Format::Json);
    Arc::new(file.expect("valid").registry)
}

fn open_log(path: &Path) -> Arc<SledLog> {
    let options = SledOptions {
        reserve_bytes: 0,
        ..SledOptions::default()
    };
    Arc::new(SledLog::open(path, &options).expect("opens"))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("creates");
    for entry in std::fs::read_dir(from).expect("lists") {
        let entry = entry.expect("lists");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copies");
        }
    }
}

/// Waits until nobody else holds the log, and closes it.
async fn let_go(log: Arc<SledLog>) {
    while 1 < Arc::strong_count(&log) {
        tokio::task::yield_now().await;
    }
    drop(log);
}

#[tokio::test(flavor = "multi_thread")]
async fn i29_a_copy_sends_nothing_before_it_was_confirmed() {
    let folder = tempfile::tempdir().expect("a folder");
    let [used, copied] = ["used", "copied"].map(|name| folder.path().join(name));
    let shop = Shop::open().await;
    let tools = shop.tools();
    let log = open_log(&used);
    let engine = open(log.clone(), &tools, None).await;
    shop.feels(Mood::DoneThenSilent);
    let args = refund_of(100, "r1");
    let sent = taken(
        engine
            .submit(&service(), submission("write_once", args))
            .await,
    );
    shop.was_asked().await;
    while shop.posts() == 0 {
        tokio::task::yield_now().await;
    }
    drop(engine);
    let_go(log).await;
    copy(&used, &copied);

    let log = open_log(&copied);
    assert_eq!(log.origin(), Origin::Copied);
    let before = log.stats().expect("figures").last_position;
    let opened = Engine::open(log.clone(), registry(&tools), Options::default()).await;
    match opened.err() {
        Some(OpenError::Unconfirmed {
            origin: Origin::Copied,
            underway: Some(underway),
        }) => assert_eq!((underway.waiting, underway.in_flight), (0, 1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(log.stats().expect("figures").last_position, before);
    assert_eq!(shop.posts(), 1);

    // Confirmed: what was on its way is unknown, keeps its key, and is asked for, not sent again.
    shop.feels(Mood::Kind);
    let options = Options {
        confirm_restore: true,
        ..Options::default()
    };
    let engine = open_with(log.clone(), &tools, None, options).await;
    assert_eq!(log.origin(), Origin::Own);
    assert_eq!(incarnation::number(log.as_ref()).expect("reads"), 2);
    let id = sent.action.id;
    let history = engine.history(&auditor(), id, 0, 100).expect("visible");
    let unknown = history
        .iter()
        .find(|entry| entry.kind == "action.attempt_unknown");
    let data = &unknown.expect("it is unknown").data;
    assert!(data.to_string().contains("restored from a copy"), "{data}");
    let first = engine.events(&auditor(), before, 1).expect("visible");
    assert_eq!(first[0].kind, "incarnation.confirmed");
    assert_eq!(first[0].data["in_flight"], 1);
    let mut known = 0;
    let done = loop {
        let patience = Duration::from_secs(20);
        let view = engine.wait(&auditor(), id, known, patience).await;
        let view = view.expect("visible");
        if view.action.status().is_final() {
            break view;
        }
        known = view.version;
    };
    assert_eq!(done.action.status(), Status::Succeeded);
    assert_eq!(done.action.attempts[0].result, Some(AttemptResult::Done));
    assert_eq!(
        done.action.proposal.idempotency_key,
        sent.action.proposal.idempotency_key
    );
    assert_eq!((shop.posts(), shop.done()), (1, 1));
    drop(engine);
    let_go(log).await;
    drop(open(open_log(&copied), &tools, None).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn i29_a_copy_is_started_only_once_all_that_was_on_its_way_is_unknown() {
    let scene = Scene::open().await;
    let id = scene.on_its_way().await;
    let mut refused = 0;
    for number in 0..4 {
        let full = Arc::new(FaultyLog::new(Arc::new(scene.log.copy())));
        full.fail_for(number, 1, Fault::Full);
        let options = Options {
            confirm_restore: true,
            ..Options::default()
        };
        let registry = registry(&scene.shop.tools());
        match Engine::open(full, registry, options).await {
            Ok(engine) => {
                let view = engine.get(&auditor(), id).expect("visible");
                assert_ne!(view.action.status(), Status::Executing, "{number}");
            }
            Err(error) => {
                assert!(is_full(&error), "{error}");
                refused += 1;
            }
        }
    }
    assert_eq!(
        refused, 2,
        "the confirmation needs room, and what follows it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i29_in_a_copy_everybody_signs_in_anew() {
    let scene = Scene::open().await;
    let identity = scene.engine.identity();
    let new = NewPerson {
        email: "ann@example.com".to_owned(),
        name: "Ann".to_owned(),
        ..NewPerson::default()
    };
    let ann = identity.create_person("cli", new).await;
    let ann = ann.expect("a person");
    let ttl = Duration::from_mins(10);
    let link = || identity.create_sign_in_link("cli", &ann.id, ttl);
    let (first, second) = (link().await.expect("a link"), link().await.expect("a link"));
    let (token, ..) = identity
        .redeem_sign_in_link(first.expose(), "here")
        .await
        .expect("signed in");

    for confirm_restore in [false, true] {
        let options = Options {
            confirm_restore,
            ..Options::default()
        };
        let log = Arc::new(scene.log.copy());
        let engine = open_with(log, &scene.shop.tools(), None, options).await;
        let identity = engine.identity();
        let session = identity.authenticate_session(token.expose()).await;
        assert_eq!(session.is_err(), confirm_restore);
        let whose = identity.person_of_link(second.expose()).expect("reads");
        assert_eq!(whose.is_none(), confirm_restore);
        assert!(identity.person(&ann.id).is_some());
    }
}

/// Everything in the indexes of actions.
fn indexes(log: &dyn EventLog) -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
    [1, 2]
        .map(|index| {
            log.scan(index, ScanRange::default(), 10_000, Direction::Forward)
                .expect("scans")
        })
        .to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_i15_an_imported_log_gives_the_same_state_and_keeps_every_key() {
    let scene = Scene::open().await;
    let request = || Submission {
        request_key: Some(RequestKey {
            key: "order-8812".to_owned(),
            fingerprint: Digest([7; 32]),
        }),
        ..submission("issue_refund", refund_of(300, "r2"))
    };
    let first = taken(scene.engine.submit(&service(), request()).await);
    let other = scene.submit("write_once", refund_of(100, "r1")).await;
    scene.until(other.action.id, Status::Succeeded).await;
    let mut bytes = Vec::new();
    let written = export(scene.log.as_ref(), 1, None, 1, &mut bytes, &mut |_| {});
    let claims = written.expect("is written").claims;
    assert_eq!(claims.map(|claims| claims.count), Some(2));

    let log = Arc::new(MemoryLog::new());
    let mut file = LogFile::open(bytes.as_slice()).expect("reads");
    import(&mut file, log.as_ref(), &mut |_, _| {})
        .await
        .expect("is taken");
    assert_eq!(incarnation::underway(log.as_ref()).expect("reads"), None);
    let engine = open(log.clone(), &scene.shop.tools(), None).await;
    assert_eq!(indexes(log.as_ref()), indexes(scene.log.as_ref()));
    assert_eq!(engine.counts(), scene.engine.counts());
    let underway = incarnation::underway(log.as_ref()).expect("reads");
    let none = Underway {
        waiting: 0,
        in_flight: 0,
    };
    assert_eq!(underway, Some(none));
    match engine.submit(&service(), request()).await {
        Ok(Submitted::Action { action, replayed }) => {
            assert!(replayed, "the key of the request is held");
            assert_eq!(action.action, first.action);
        }
        other => panic!("{other:?}"),
    }
    let again = submission("issue_refund", refund_of(300, "r2"));
    let again = taken(engine.submit(&service(), again).await);
    assert_eq!(
        again.action.id, first.action.id,
        "so is the key of the intent"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i26_a_record_of_an_unknown_kind_stops_the_start() {
    let scene = Scene::open().await;
    let record = NewRecord {
        time_ms: 1,
        actor: "engine".to_owned(),
        kind: "approval.taken_back".to_owned(),
        body: vec![9],
    };
    let append = StreamAppend {
        stream: StreamId::new("approval/1").expect("a name"),
        expected: 0,
        records: vec![record],
    };
    let batch = Batch {
        streams: vec![append],
        ..Batch::default()
    };
    scene.log.append(batch).await.expect("appends");
    let position = scene.log.stats().expect("figures").last_position;
    // A version that knew the kind would have noted that it does; this one looks for itself.
    let log = Arc::new(scene.log.reopen());
    let tools = scene.shop.tools();
    let opened = Engine::open(log, registry(&tools), Options::default()).await;
    match opened.err() {
        Some(OpenError::Unreadable {
            position: found,
            reason,
        }) => {
            assert_eq!(found, position);
            assert!(reason.contains("approval.taken_back"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

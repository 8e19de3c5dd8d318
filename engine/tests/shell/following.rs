//! Waiting and following: nobody misses a change, nobody sees what is not theirs.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{Status, describe};
use holdpoint_engine::engine::{ActError, Options};
use holdpoint_engine::target::{LocalError, Locals};
use holdpoint_storage::MemoryLog;
use serde_json::json;

use crate::world::{Scene, Shop, alice, auditor, open_with, refund_of, service, submission, taken};

#[tokio::test(flavor = "multi_thread")]
async fn incident_76_a_change_before_the_wait_is_not_missed() {
    let scene = Scene::open().await;
    let staged = scene.staged("held_refund", 100).await;
    scene.approve(&alice(), &staged).await;
    let far = Duration::from_hours(1);
    let view = scene
        .engine
        .wait(&auditor(), staged.action.id, staged.version, far)
        .await;
    assert!(staged.version < view.expect("visible").version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_is_woken_by_its_own_action_and_by_the_stop() {
    let scene = Arc::new(Scene::open().await);
    let staged = scene.staged("held_refund", 100).await;
    let waiting = {
        let (scene, staged) = (Arc::clone(&scene), staged.clone());
        tokio::spawn(async move {
            let far = Duration::from_hours(1);
            let view = scene
                .engine
                .wait(&auditor(), staged.action.id, staged.version, far)
                .await;
            let known = view.expect("visible").version;
            scene
                .engine
                .wait(&auditor(), staged.action.id, known, far)
                .await
        })
    };
    scene.approve(&alice(), &staged).await;
    scene.engine.shutdown(Duration::from_secs(5)).await;
    let last = waiting.await.expect("no panic").expect("visible");
    assert_eq!(last.action.status(), Status::Staged);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_59_who_follows_sees_only_the_own_actions() {
    let scene = Scene::open().await;
    let mut stranger = service();
    stranger.id = "key_other".to_owned();
    stranger.owner = None;
    let mine = scene.staged("issue_refund", 100).await;
    let wish = submission("issue_refund", refund_of(200, "theirs"));
    let theirs = taken(scene.engine.submit(&stranger, wish).await);
    let mut all = scene.engine.subscribe(&auditor(), 0);
    let mut own = scene.engine.subscribe(&stranger, 0);
    let everything = all.next().await.expect("open").expect("readable");
    assert_eq!(everything.len(), 2);
    let theirs_only = own.next().await.expect("open").expect("readable");
    assert_eq!(theirs_only.len(), 1);
    assert!(
        theirs_only[0]
            .stream
            .ends_with(&theirs.action.id.to_string()[4..])
    );
    assert_eq!(
        theirs_only[0].event.as_ref().map(describe).as_ref(),
        Some(&theirs_only[0].data)
    );
    let seen = scene.engine.history(&stranger, mine.action.id, 0, 10);
    assert!(matches!(seen, Err(ActError::NotFound)));
    assert!(matches!(
        scene.engine.events(&stranger, 0, 10),
        Err(ActError::Forbidden(_))
    ));
    scene.engine.shutdown(Duration::from_secs(5)).await;
    assert!(own.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closure_can_be_a_tool() {
    let file = json!({ "tools": {
        "greet": { "safetyClass": "write-once-checkable", "execute": { "local": "greet" } },
        "fail": { "safetyClass": "irreversible", "execute": { "local": "fail" } },
        "panic": { "safetyClass": "irreversible", "execute": { "local": "panic" } },
    } });
    let locals = Locals::default()
        .with("greet", |call| async move {
            Ok(json!({ "hello": call.args["name"] }))
        })
        .with("fail", |_| async {
            Err(LocalError::Refused("no".to_owned()))
        })
        .with("panic", |_| async { panic!("on purpose") });
    let options = Options {
        locals,
        ..Options::default()
    };
    let log = Arc::new(MemoryLog::new());
    let engine = open_with(log.clone(), &file, None, options).await;
    let scene = Scene {
        shop: Shop::open().await,
        engine,
        log,
        clock: None,
    };
    for (tool, status) in [
        ("greet", Status::Succeeded),
        ("fail", Status::Failed),
        ("panic", Status::Unknown),
    ] {
        let view = scene.submit(tool, json!({ "name": "Ada" })).await;
        scene.until(view.action.id, status).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_pulls_waits_and_is_not_called_by_the_engine() {
    let scene = Scene::open().await;
    let view = scene.submit("pulled", json!({ "a": 1 })).await;
    let other = scene.submit("write_once", refund_of(1, "x")).await;
    scene.until(other.action.id, Status::Succeeded).await;
    let still = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible");
    assert_eq!(still.action.status(), Status::Accepted);
}

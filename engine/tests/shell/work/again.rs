//! The same claim again: an answer that was lost costs no lease.

use std::time::Duration;

use holdpoint_engine::action::Status;
use holdpoint_engine::canon::Digest;
use holdpoint_engine::engine::{Assignment, ClaimWish, Engine, RequestKey, WorkError};

use super::{AT_ONCE, LONG, complete, scene, shipped, tools, wish, worker};
use crate::world::{Scene, alice, refund_of};

/// A claim of the tool under a key, of which this is the body.
fn keyed(tool: &str, key: &str, body: &str, wait: Duration) -> ClaimWish {
    ClaimWish {
        request_key: Some(RequestKey {
            key: key.to_owned(),
            fingerprint: Digest::of(body.as_bytes()),
        }),
        ..wish(&[tool], wait)
    }
}

async fn claim(engine: &Engine, by: &str, tool: &str, key: &str) -> Option<Assignment> {
    let wish = keyed(tool, key, tool, AT_ONCE);
    let claimed = engine.claim(&worker(by), wish).await;
    claimed.expect("a claim that is allowed")
}

fn same(first: &Assignment, again: &Assignment) {
    assert_eq!(
        (again.id, again.epoch, again.lease_until),
        (first.id, first.epoch, first.lease_until)
    );
    assert_eq!(again.action, first.action);
    assert_eq!(again.state, first.state);
}

async fn with_work(count: u32) -> Scene {
    let scene = scene().await;
    for number in 0..count {
        let reference = format!("r{number}");
        scene.submit("ship", refund_of(1, &reference)).await;
    }
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_the_same_claim_again_has_the_same_lease_while_it_runs() {
    let mut scene = with_work(4).await;
    let first = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("work");
    let again = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("it");
    same(&first, &again);
    // Another key, another worker with the same key: other work.
    let second = claim(&scene.engine, "anton", "ship", "k2")
        .await
        .expect("work");
    let third = claim(&scene.engine, "berta", "ship", "k1")
        .await
        .expect("work");
    assert!(first.id != second.id && second.id != third.id && first.id != third.id);
    // It is in the log, not in memory.
    let tools = tools(&scene.shop);
    scene.restart_with(&tools).await;
    let again = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("it");
    same(&first, &again);
    let other = keyed("ship", "k1", "another body", AT_ONCE);
    let refused = scene.engine.claim(&worker("anton"), other).await;
    assert!(
        matches!(refused, Err(WorkError::KeyReused { first: id }) if id == first.id),
        "{refused:?}"
    );
    // What ended is not given again.
    complete(&scene.engine, "anton", &again, shipped())
        .await
        .expect("it counts");
    let next = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("work");
    assert_ne!(next.id.action, first.id.action);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_lease_that_ran_out_is_not_given_again() {
    let scene = with_work(1).await;
    let first = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("work");
    let clock = scene.clock.as_ref().expect("a clock");
    clock.advance(Duration::from_secs(11));
    // Noticed or not: nothing that the worker says of it counts.
    assert!(claim(&scene.engine, "anton", "ship", "k1").await.is_none());
    scene.engine.wake();
    scene.until(first.id.action, Status::Unknown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_comes_with_the_same_claim_again() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    let first = claim(&scene.engine, "anton", "refund", "k1")
        .await
        .expect("work");
    assert!(first.state.is_some());
    scene.shop.moves();
    let again = claim(&scene.engine, "anton", "refund", "k1")
        .await
        .expect("it");
    same(&first, &again);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_is_given_again_though_its_tool_is_gone() {
    let mut scene = with_work(1).await;
    let first = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("work");
    let mut tools = tools(&scene.shop);
    let all = tools["tools"].as_object_mut().expect("tools");
    all.remove("ship").expect("it was there");
    scene.restart_with(&tools).await;
    let again = claim(&scene.engine, "anton", "ship", "k1")
        .await
        .expect("it");
    same(&first, &again);
    let new = keyed("ship", "k2", "ship", AT_ONCE);
    let new = scene.engine.claim(&worker("anton"), new).await;
    assert!(matches!(new, Err(WorkError::UnknownTool { .. })), "{new:?}");
    // Only for whoever may still work on it.
    let mut other = worker("anton");
    other.scopes = ["work:held".to_owned()].into();
    let refused = keyed("ship", "k1", "ship", AT_ONCE);
    let refused = scene.engine.claim(&other, refused).await;
    assert!(
        matches!(refused, Err(WorkError::Forbidden(_))),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_twenty_of_the_same_claim_at_once_have_one_lease() {
    let scene = with_work(5).await;
    let crowd: Vec<_> = (0..20)
        .map(|_| {
            let engine = scene.engine.clone();
            tokio::spawn(async move {
                let wish = keyed("ship", "k1", "ship", AT_ONCE);
                engine.claim(&worker("anton"), wish).await
            })
        })
        .collect();
    let mut given = Vec::new();
    for one in crowd {
        match one.await.expect("no panic") {
            Ok(assignment) => given.push(assignment.expect("there is work").id),
            Err(error) => assert!(matches!(error, WorkError::InProgress), "{error:?}"),
        }
    }
    given.dedup();
    assert_eq!(given.len(), 1, "{given:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_was_given_up_leaves_its_key_free() {
    let scene = scene().await;
    let anton = worker("anton");
    let waiting = keyed("ship", "k1", "ship", LONG);
    tokio::select! {
        biased;
        given = Box::pin(scene.engine.claim(&anton, waiting)) => panic!("{given:?}"),
        () = tokio::task::yield_now() => {}
    }
    scene.submit("ship", refund_of(1, "r1")).await;
    // What it was doing when it was given up may still be on its way.
    loop {
        let wish = keyed("ship", "k1", "ship", LONG);
        match scene.engine.claim(&anton, wish).await {
            Ok(given) => break assert!(given.is_some()),
            Err(WorkError::InProgress) => tokio::task::yield_now().await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

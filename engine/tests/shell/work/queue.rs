//! Who gets work, in which order, and how much of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{AttemptResult, PrincipalKind, Status};
use holdpoint_engine::engine::{ClaimWish, WorkError, WorkId};

use serde_json::json;

use super::{AT_ONCE, LONG, claim, claimed, complete, scene, shipped, tools, wish, worker};
use crate::world::{Scene, alice, auditor, open, refund_of, service, submission, taken};

#[tokio::test(flavor = "multi_thread")]
async fn i12_workers_that_claim_at_once_never_get_the_same() {
    let scene = Arc::new(scene().await);
    for number in 0..30 {
        scene
            .submit("ship", refund_of(1, &format!("r{number}")))
            .await;
    }
    let crowd: Vec<_> = (0..8)
        .map(|number| {
            let scene = Arc::clone(&scene);
            tokio::spawn(async move {
                let by = worker(&format!("w{number}"));
                let mut ids = Vec::new();
                while let Some(given) = claim(&scene.engine, &by, "ship").await {
                    ids.push(given.id);
                }
                ids
            })
        })
        .collect();
    let mut all = Vec::new();
    for one in crowd {
        all.extend(one.await.expect("no panic"));
    }
    let different: std::collections::HashSet<WorkId> = all.iter().copied().collect();
    assert_eq!((all.len(), different.len()), (30, 30));
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_a_tool_whose_state_cannot_be_read_keeps_nobody_from_the_others() {
    let scene = scene().await;
    for number in 0..5 {
        let refund = refund_of(1, &format!("r{number}"));
        let staged = scene.submit("refund", refund).await;
        scene.approve(&alice(), &staged).await;
    }
    let shipped = scene.submit("ship", refund_of(1, "s")).await.action.id;
    let reads = || scene.shop.books().state_reads;
    let before = reads();
    scene.shop.books().state_mood = Some(500);
    // One state is waited for, since the refund was there first.
    let by = worker("w");
    let both = || scene.engine.claim(&by, wish(&["refund", "ship"], AT_ONCE));
    let given = both().await.expect("allowed").expect("there is work");
    assert_eq!((given.id.action, reads() - before), (shipped, 1));
    // A claim that may not wait does not wait for one state after the other.
    assert!(both().await.expect("allowed").is_none());
    assert_eq!(reads() - before, 2);
    scene.shop.books().state_mood = None;
    let given = both().await.expect("allowed").expect("there is work");
    assert_eq!(given.action.proposal.tool, "refund");
}

#[tokio::test]
async fn i27_a_claim_waits_for_no_state_longer_than_its_worker_waits_for_it() {
    let scene = scene().await;
    let mut tools = tools(&scene.shop);
    tools["tools"]["refund"]["execute"]["timeout"] = json!("1h");
    let engine = open(scene.log.clone(), &tools, scene.clock.clone()).await;
    let scene = Scene { engine, ..scene };
    let staged = scene.submit("refund", refund_of(1, "r")).await;
    scene.approve(&alice(), &staged).await;
    scene.shop.books().state_silent = true;
    tokio::time::pause();
    assert!(claim(&scene.engine, &worker("w"), "refund").await.is_none());
    let history = scene.engine.history(&auditor(), staged.action.id, 0, 100);
    let last = history.expect("visible").pop().expect("an event");
    assert_eq!(last.kind, "action.deferred");
    let told = format!("{last:?}");
    assert!(told.contains("a claim of a worker waits"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_waits_gets_what_comes_and_whoever_came_first_gets_it_first() {
    let scene = Arc::new(scene().await);
    let mut waiting = Vec::new();
    for number in 0..3 {
        let scene = Arc::clone(&scene);
        waiting.push(tokio::spawn(async move {
            let by = worker(&format!("w{number}"));
            let given = scene
                .engine
                .claim(&by, wish(&["ship", "refund"], LONG))
                .await;
            given.expect("allowed").expect("work").action.id
        }));
    }
    let mut submitted = BTreeSet::new();
    for number in 0..3 {
        let view = scene
            .submit("ship", refund_of(1, &format!("r{number}")))
            .await;
        submitted.insert(view.action.id);
    }
    let mut got = BTreeSet::new();
    for one in waiting {
        got.insert(one.await.expect("no panic"));
    }
    assert_eq!(got, submitted);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_workers_are_at_a_tool_than_it_allows_also_after_a_restart() {
    let mut scene = scene().await;
    for number in 0..2 {
        scene
            .submit("one_by_one", refund_of(1, &format!("r{number}")))
            .await;
    }
    let first = claimed(&scene, "anton", "one_by_one").await;
    assert!(
        claim(&scene.engine, &worker("berta"), "one_by_one")
            .await
            .is_none()
    );
    let tools = tools(&scene.shop);
    scene.restart_with(&tools).await;
    let waiting = {
        let engine = scene.engine.clone();
        tokio::spawn(async move {
            engine
                .claim(&worker("berta"), wish(&["one_by_one"], LONG))
                .await
        })
    };
    tokio::task::yield_now().await;
    complete(&scene.engine, "anton", &first, shipped())
        .await
        .expect("it counts");
    let second = waiting
        .await
        .expect("no panic")
        .expect("allowed")
        .expect("its turn");
    assert_ne!(second.id, first.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_waits_ends_with_the_engine() {
    let scene = Arc::new(scene().await);
    let waiting = {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move {
            scene
                .engine
                .claim(&worker("w"), wish(&["ship"], LONG))
                .await
        })
    };
    tokio::task::yield_now().await;
    scene.engine.shutdown(Duration::from_secs(5)).await;
    let ended = waiting.await.expect("no panic");
    assert!(matches!(ended, Ok(None) | Err(WorkError::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_goes_away_before_the_answer_is_not_taken_to_have_it() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let id = view.action.id;
    let anton = worker("anton");
    let claiming = Box::pin(scene.engine.claim(&anton, wish(&["ship"], LONG)));
    let gone = tokio::select! {
        biased;
        given = claiming => given.expect("allowed"),
        () = std::future::ready(()) => None,
    };
    if gone.is_some() {
        return; // It was answered before it could go away.
    }
    let back = scene
        .until_that(id, |view| {
            let last = view.action.attempts.last();
            last.is_some_and(|last| last.result == Some(AttemptResult::NotDone))
        })
        .await;
    assert_eq!(back.action.status(), Status::Accepted);
    scene.pass(Duration::from_secs(1));
    assert_eq!(claimed(&scene, "berta", "ship").await.id.attempt, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_work_is_given_only_to_keys_with_a_scope_for_it() {
    let scene = scene().await;
    scene.submit("ship", refund_of(7, "r1")).await;
    let mut person = alice();
    person.scopes = BTreeSet::from(["work:*".to_owned()]);
    assert_eq!(person.kind, PrincipalKind::Person);
    let mut other = worker("other");
    other.scopes = BTreeSet::from(["work:refund".to_owned()]);
    for by in [person, service(), other.clone()] {
        let refused = scene.engine.claim(&by, wish(&["ship"], AT_ONCE)).await;
        assert!(
            matches!(refused, Err(WorkError::Forbidden(_))),
            "{}",
            by.name
        );
    }
    let given = claimed(&scene, "anton", "ship").await;
    let unseen = scene
        .engine
        .heartbeat(&other, given.id, given.epoch, None)
        .await;
    assert!(matches!(unseen, Err(WorkError::NotFound)));
    let mut own = service();
    own.scopes.insert("work:ship".to_owned());
    let wanted = submission("ship", refund_of(8, "r2"));
    let second = taken(scene.engine.submit(&own, wanted).await);
    let given = claim(&scene.engine, &own, "ship").await.expect("its own");
    assert_eq!(given.id.action, second.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_a_claim_names_tools_that_are_pulled_and_a_lease_within_bounds() {
    let scene = scene().await;
    let by = worker("anton");
    let refused = |tools: Vec<String>, lease: Option<Duration>| {
        let wish = ClaimWish {
            tools,
            wait: AT_ONCE,
            lease,
            request_key: None,
        };
        let (engine, by) = (scene.engine.clone(), by.clone());
        async move { engine.claim(&by, wish).await.expect_err("out of bounds") }
    };
    let named = |name: &str| vec![name.to_owned()];
    assert!(matches!(
        refused(Vec::new(), None).await,
        WorkError::Invalid(_)
    ));
    assert!(matches!(
        refused(named("called"), None).await,
        WorkError::Invalid(_)
    ));
    let typo = refused(named("shipp"), None).await;
    let WorkError::UnknownTool { suggestion, .. } = typo else {
        panic!("{typo:?}")
    };
    assert_eq!(suggestion.as_deref(), Some("ship"));
    for seconds in [1, 4000] {
        let lease = Some(Duration::from_secs(seconds));
        assert!(matches!(
            refused(named("ship"), lease).await,
            WorkError::Invalid(_)
        ));
    }
}

//! Many at once: one outcome, one action, and nobody waits behind a crowd.

use std::sync::Arc;

use holdpoint_engine::action::{ActionId, Refusal, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::Digest;
use holdpoint_engine::engine::{
    ActError, ListOrder, ListQuery, RequestKey, SubmitError, Submitted,
};
use serde_json::json;

use crate::world::{Mood, Scene, alice, approver, auditor, ballot, refund_of, service, submission};

#[tokio::test(flavor = "multi_thread")]
async fn i04_a_hundred_votes_of_all_kinds_have_one_outcome() {
    let scene = Arc::new(Scene::open().await);
    let staged = scene.staged("issue_refund", 1200).await;
    let id = staged.action.id;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (scene, staged) = (Arc::clone(&scene), staged.clone());
        tasks.spawn(async move {
            let by = approver(&format!("p{number}"));
            let vote = if number % 2 == 0 {
                Vote::Approve
            } else {
                Vote::Reject
            };
            match number % 5 {
                4 => scene
                    .engine
                    .cancel(&service(), id, None)
                    .await
                    .map(|_| None),
                _ => scene
                    .engine
                    .vote(&by, id, ballot(&staged, vote))
                    .await
                    .map(|_| Some(vote)),
            }
        });
    }
    let mut winners = Vec::new();
    while let Some(outcome) = tasks.join_next().await {
        match outcome.expect("no panic") {
            Ok(winner) => winners.push(winner),
            Err(ActError::Refused(Refusal::AlreadyDecided { .. } | Refusal::TooLate { .. })) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    let ended = scene
        .until_that(id, |view| view.action.status().is_final())
        .await;
    let outcomes = scene
        .engine
        .history(&auditor(), id, 0, 1000)
        .expect("a history")
        .into_iter()
        .filter(|entry| {
            ["action.approved", "action.rejected", "action.cancelled"]
                .contains(&entry.kind.as_str())
        })
        .count();
    assert!(
        (1..=2).contains(&outcomes),
        "approved may be followed by cancelled only"
    );
    match ended.action.status() {
        Status::Succeeded => assert_eq!((outcomes, scene.shop.done()), (1, 1)),
        Status::Rejected => assert_eq!((outcomes, scene.shop.posts()), (1, 0)),
        Status::Cancelled => assert_eq!(scene.shop.posts(), 0),
        other => panic!("{other:?}"),
    }
    assert!(!winners.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_98_the_same_submission_fifty_times_at_once_is_one_action() {
    let mut scene = Scene::open().await;
    let mut file = scene.shop.tools();
    // However busy the machine is.
    file["tools"]["issue_refund"]["execute"]["timeout"] = json!("60s");
    scene.restart_with(&file).await;
    let scene = Arc::new(scene);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let scene = Arc::clone(&scene);
        tasks.spawn(async move {
            let wish = submission("issue_refund", refund_of(1200, "r1"));
            scene.engine.submit(&service(), wish).await
        });
    }
    let mut ids = std::collections::BTreeSet::new();
    let mut firsts = 0;
    while let Some(outcome) = tasks.join_next().await {
        match outcome.expect("no panic").expect("taken") {
            Submitted::Action { action, replayed } => {
                ids.insert(action.action.id);
                firsts += usize::from(!replayed);
            }
            Submitted::Answered(_) => panic!("not an idempotent tool"),
        }
    }
    assert_eq!((ids.len(), firsts), (1, 1));
    assert_eq!(
        scene.engine.counts().by_status.get(&Status::Staged),
        Some(&1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_100_the_same_key_with_other_arguments_is_a_conflict() {
    let scene = Scene::open().await;
    let first = scene.staged("issue_refund", 1200).await;
    let wish = submission("issue_refund", refund_of(1300, "r1"));
    let second = scene.engine.submit(&service(), wish.clone()).await;
    let Err(SubmitError::KeyReused {
        first: named,
        request_key,
        differs,
    }) = second
    else {
        panic!("{second:?}");
    };
    assert_eq!((named, request_key), (Some(first.action.id), false));
    assert_eq!(differs, ["/args"]);
    let mut stranger = service();
    stranger.id = "key_other".to_owned();
    stranger.owner = None;
    let third = scene.engine.submit(&stranger, wish).await;
    assert!(
        matches!(third, Err(SubmitError::KeyReused { first: None, .. })),
        "{third:?}"
    );
    let same = submission("issue_refund", refund_of(1200, "r1"));
    let fourth = scene.engine.submit(&stranger, same).await;
    assert!(
        matches!(fourth, Err(SubmitError::AskedByAnother)),
        "the arguments are equal, and it says so: {fourth:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_key_stands_for_one_request() {
    let scene = Scene::open().await;
    let with = |amount: i64, reference: &str, key: &str| {
        let mut wish = submission("issue_refund", refund_of(amount, reference));
        let fingerprint = Digest::of(format!("{amount} {reference}").as_bytes());
        wish.request_key = Some(RequestKey {
            key: key.to_owned(),
            fingerprint,
        });
        wish
    };
    let id = |outcome: Result<Submitted, SubmitError>| match outcome {
        Ok(Submitted::Action { action, replayed }) => (action.action.id, replayed),
        other => panic!("{other:?}"),
    };
    let submit = async |wish| scene.engine.submit(&service(), wish).await;
    let (first, replayed) = id(submit(with(100, "a", "k1")).await);
    assert!(!replayed);
    assert_eq!(id(submit(with(100, "a", "k1")).await), (first, true));
    // The same intent under another request key binds that key too.
    assert_eq!(id(submit(with(100, "a", "k2")).await), (first, true));
    for key in ["k1", "k2"] {
        let other = submit(with(200, "b", key)).await;
        assert!(
            matches!(other, Err(SubmitError::KeyReused { request_key: true, first: Some(named), .. })
                if named == first),
            "{other:?}"
        );
    }
    // Keys of one principal are nothing to another.
    let mut other = service();
    other.id = "key_other".to_owned();
    let outcome = scene.engine.submit(&other, with(300, "c", "k1")).await;
    assert_ne!(id(outcome).0, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_does_not_wait_behind_five_thousand_submissions() {
    let scene = Arc::new(Scene::open().await);
    let staged = scene.staged("issue_refund", 1200).await;
    scene.shop.feels(Mood::DoneThenSilent);
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..20 {
        let scene = Arc::clone(&scene);
        tasks.spawn(async move {
            for number in 0..250 {
                let reference = format!("{worker}-{number}");
                // Of nothing, so that the approved state does not move.
                scene.submit("write_once", refund_of(0, &reference)).await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    scene.shop.feels(Mood::Kind);
    let before = scene.shop.posts();
    scene.shop.books().refundable = 5000;
    scene.approve(&alice(), &staged).await;
    scene.until(staged.action.id, Status::Succeeded).await;
    let open = scene.engine.counts().by_status;
    let waiting = open.get(&Status::Accepted).copied().unwrap_or(0);
    assert!(
        1000 < waiting,
        "the crowd is still there: {open:?}, {before}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_show_what_may_be_seen_in_either_order_page_by_page() {
    let scene = Scene::open().await;
    let mut ids: Vec<ActionId> = Vec::new();
    for number in 0..7 {
        let view = scene
            .submit("issue_refund", refund_of(100, &format!("r{number}")))
            .await;
        ids.push(view.action.id);
    }
    scene.submit("pulled", json!({ "a": 1 })).await;
    for (order, tool) in [
        (ListOrder::NewestFirst, Some("issue_refund")),
        (ListOrder::DueFirst, Some("issue_refund")),
    ] {
        let mut query = ListQuery {
            limit: 3,
            order,
            tool: tool.map(str::to_owned),
            ..ListQuery::default()
        };
        let mut seen = Vec::new();
        loop {
            let page = scene.engine.list(&auditor(), &query).expect("a page");
            assert!(page.actions.len() <= 3);
            seen.extend(page.actions.iter().map(|view| view.action.id));
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => break,
            }
        }
        let mut sorted = seen.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 7, "each once: {order:?}");
        let mut expected = ids.clone();
        if order == ListOrder::NewestFirst {
            expected.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(seen, expected);
        }
    }
    let mut stranger = service();
    stranger.id = "key_other".to_owned();
    stranger.owner = None;
    let page = scene.engine.list(
        &stranger,
        &ListQuery {
            limit: 50,
            ..ListQuery::default()
        },
    );
    assert!(page.expect("a page").actions.is_empty());
    assert!(matches!(
        scene.engine.get(&stranger, ids[0]),
        Err(ActError::NotFound)
    ));
    let bad = ListQuery {
        cursor: Some("x".to_owned()),
        ..ListQuery::default()
    };
    assert!(scene.engine.list(&auditor(), &bad).is_err());
}

//! Workers that pull: one at a time, through stops and starts, with all that a call is held to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{ActionId, AttemptResult, FailReason, Phase, PrincipalKind, Status};
use holdpoint_engine::engine::{Assignment, ClaimWish, Engine, WorkError, WorkId, WorkOutcome};
use holdpoint_engine::identity::Principal;
use holdpoint_storage::MemoryLog;
use serde_json::{Value, json};

use crate::world::{
    ManualClock, Scene, Shop, alice, auditor, open, operator, refund_of, service, submission, taken,
};

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
async fn a_worker_is_given_the_exact_call_and_ends_it_once() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "ship").await;
    assert_eq!(given.action.proposal.args, view.action.proposal.args);
    assert_eq!(given.id.action, view.action.id);
    let done = complete(&scene.engine, "anton", &given, shipped()).await;
    assert_eq!(done.expect("it counts"), Status::Succeeded);
    let version = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible")
        .version;
    let again = complete(&scene.engine, "anton", &given, shipped()).await;
    assert_eq!(again.expect("the first answer"), Status::Succeeded);
    let other = WorkOutcome::Failed("no".to_owned());
    let other = complete(&scene.engine, "anton", &given, other).await;
    assert!(matches!(other, Err(WorkError::AlreadyReported)));
    let now = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible");
    assert_eq!(now.version, version, "nothing was added");
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_97_a_worker_that_is_certain_of_a_no_ends_the_action() {
    let scene = scene().await;
    scene.submit("unchecked", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "unchecked").await;
    let no = WorkOutcome::Failed("the account is closed".to_owned());
    let done = complete(&scene.engine, "anton", &given, no).await;
    assert_eq!(done.expect("it counts"), Status::Failed);
    let view = scene
        .engine
        .get(&auditor(), given.id.action)
        .expect("visible");
    assert!(matches!(
        view.action.phase,
        Phase::Failed(FailReason::WorkerFailed { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_result_that_does_not_fit_is_unknown_and_kept() {
    let scene = scene().await;
    scene.submit("unchecked", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "unchecked").await;
    let odd = WorkOutcome::Succeeded(json!({ "what": "canary-result" }));
    let done = complete(&scene.engine, "anton", &given, odd.clone()).await;
    assert_eq!(done.expect("it counts"), Status::Unknown);
    let again = complete(&scene.engine, "anton", &given, odd).await;
    assert_eq!(again.expect("the first answer"), Status::Unknown);
    let history = scene
        .engine
        .history(&auditor(), given.id.action, 0, 100)
        .expect("visible");
    let kept = history
        .iter()
        .filter(|entry| entry.kind == "action.late_answer");
    let kept: Vec<String> = kept.map(|entry| entry.data.to_string()).collect();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].contains("canary-result"));
    let settled = scene
        .engine
        .settle(
            &operator(),
            given.id.action,
            true,
            "the parcel is there".to_owned(),
        )
        .await;
    assert_eq!(settled.expect("settled").action.status(), Status::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_paused_worker_whose_lease_ran_out_changes_nothing() {
    let scene = scene().await;
    let view = scene.submit("unchecked", refund_of(7, "r1")).await;
    let id = view.action.id;
    let given = claimed(&scene, "anton", "unchecked").await;
    scene.pass(Duration::from_secs(11));
    // By itself, without anybody asking.
    scene.until(id, Status::Unknown).await;
    assert!(
        claim(&scene.engine, &worker("berta"), "unchecked")
            .await
            .is_none()
    );
    let beat = scene
        .engine
        .heartbeat(&worker("anton"), given.id, given.epoch, None)
        .await;
    assert!(matches!(beat, Err(WorkError::LeaseLost)));
    for _ in 0..3 {
        let late = complete(&scene.engine, "anton", &given, shipped()).await;
        assert!(matches!(late, Err(WorkError::LeaseLost)));
    }
    let late = kinds(&scene, id)
        .iter()
        .filter(|kind| *kind == "action.late_answer")
        .count();
    assert_eq!(late, 1, "kept as evidence, once");
    let now = scene.engine.get(&auditor(), id).expect("visible");
    assert_eq!(now.action.status(), Status::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_heartbeat_keeps_the_lease_and_a_stranger_does_not() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "ship").await;
    for _ in 0..4 {
        scene.pass(Duration::from_secs(8));
        let until = scene
            .engine
            .heartbeat(&worker("anton"), given.id, given.epoch, None)
            .await;
        assert!(given.lease_until < until.expect("live"));
    }
    let other = scene
        .engine
        .heartbeat(&worker("berta"), given.id, given.epoch, None)
        .await;
    assert!(matches!(other, Err(WorkError::NotHolder)));
    let old = scene
        .engine
        .heartbeat(&worker("anton"), given.id, given.epoch - 1, None)
        .await;
    assert!(matches!(old, Err(WorkError::LeaseLost)));
    let stolen = complete(&scene.engine, "berta", &given, shipped()).await;
    assert!(matches!(stolen, Err(WorkError::NotHolder)));
    let now = scene
        .engine
        .get(&auditor(), view.action.id)
        .expect("visible");
    assert_eq!(now.action.status(), Status::Executing);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_94_a_live_lease_outlives_a_restart_and_a_dead_one_does_not() {
    let mut scene = scene().await;
    let tools = tools(&scene.shop);
    scene.submit("ship", refund_of(7, "r1")).await;
    scene.submit("unchecked", refund_of(7, "r2")).await;
    let live = claimed(&scene, "anton", "ship").await;
    let lost = claimed(&scene, "anton", "unchecked").await;
    scene.restart_with(&tools).await;
    let still = scene
        .engine
        .get(&auditor(), live.id.action)
        .expect("visible");
    assert_eq!(
        still.action.status(),
        Status::Executing,
        "the worker is another process"
    );
    let done = complete(&scene.engine, "anton", &live, shipped()).await;
    assert_eq!(done.expect("it counts"), Status::Succeeded);
    scene
        .clock
        .as_ref()
        .expect("a clock")
        .advance(Duration::from_secs(11));
    scene.restart_with(&tools).await;
    let dead = scene
        .engine
        .get(&auditor(), lost.id.action)
        .expect("visible");
    assert_eq!(dead.action.status(), Status::Unknown);
    let late = complete(&scene.engine, "anton", &lost, shipped()).await;
    assert!(matches!(late, Err(WorkError::LeaseLost)));
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_after_a_proof_that_it_did_not_happen_another_worker_has_the_same_key() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let first = claimed(&scene, "anton", "ship").await;
    scene.pass(Duration::from_secs(11));
    // The shop knows nothing of it, and quiet time has passed.
    scene
        .until_that(view.action.id, |view| {
            !matches!(view.action.phase, Phase::Unknown { .. } | Phase::Executing)
        })
        .await;
    scene.pass(Duration::from_secs(1));
    let second = claimed(&scene, "berta", "ship").await;
    assert_eq!(second.id.attempt, 2);
    assert!(first.epoch < second.epoch);
    assert_eq!(
        first.action.proposal.idempotency_key,
        second.action.proposal.idempotency_key
    );
    let late = complete(&scene.engine, "anton", &first, shipped()).await;
    assert!(matches!(late, Err(WorkError::LeaseLost)));
    let done = complete(&scene.engine, "berta", &second, shipped()).await;
    assert_eq!(done.expect("it counts"), Status::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_96_what_the_source_of_truth_finds_ends_a_lost_attempt() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let given = claimed(&scene, "anton", "ship").await;
    let key = given.action.proposal.idempotency_key.clone();
    scene.shop.books().refunds.push((key, 7));
    scene.pass(Duration::from_secs(11));
    scene.until(view.action.id, Status::Succeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_of_a_world_that_moved() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    scene.approve(&alice(), &staged).await;
    scene.shop.moves();
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    let now = scene
        .engine
        .get(&auditor(), staged.action.id)
        .expect("visible");
    assert_eq!(now.action.status(), Status::ReplanRequired);
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_while_the_state_cannot_be_read() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    scene.shop.books().state_mood = Some(503);
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    scene.shop.books().state_mood = None;
    scene.pass(Duration::from_secs(1));
    let given = claimed(&scene, "anton", "refund").await;
    assert!(
        given.state.is_some(),
        "with the state that was read right before"
    );
    let view = scene
        .engine
        .get(&auditor(), staged.action.id)
        .expect("visible");
    let approvers: Vec<_> = kinds(&scene, view.action.id);
    assert!(approvers.contains(&"action.deferred".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_in_the_hold_window_and_everything_after_it() {
    let scene = Arc::new(scene().await);
    let staged = scene.submit("held", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    assert!(
        claim(&scene.engine, &worker("anton"), "held")
            .await
            .is_none()
    );
    let waiting = {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move {
            scene
                .engine
                .claim(&worker("anton"), wish(&["held"], LONG))
                .await
        })
    };
    tokio::task::yield_now().await;
    scene.pass(Duration::from_secs(31));
    let given = waiting.await.expect("no panic").expect("allowed");
    assert_eq!(given.expect("work").id.action, staged.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_worker_gets_nothing_while_paused_and_everything_afterwards() {
    let scene = scene().await;
    let view = scene.submit("ship", refund_of(100, "r1")).await;
    let paused = scene
        .engine
        .pause(&operator(), "the books are counted")
        .await;
    paused.expect("an operator may");
    assert!(
        claim(&scene.engine, &worker("anton"), "ship")
            .await
            .is_none()
    );
    let waiting = {
        let engine = scene.engine.clone();
        tokio::spawn(async move { engine.claim(&worker("anton"), wish(&["ship"], LONG)).await })
    };
    tokio::task::yield_now().await;
    let resumed = scene.engine.resume(&operator(), None).await;
    resumed.expect("an operator may");
    let given = waiting.await.expect("no panic").expect("allowed");
    assert_eq!(given.expect("work").id.action, view.action.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn i09_an_approval_that_ended_is_not_given_out() {
    let scene = scene().await;
    let staged = scene.submit("refund", refund_of(100, "r1")).await;
    scene.approve(&alice(), &staged).await;
    scene
        .clock
        .as_ref()
        .expect("a clock")
        .advance(Duration::from_hours(1));
    assert!(
        claim(&scene.engine, &worker("anton"), "refund")
            .await
            .is_none()
    );
    scene.until(staged.action.id, Status::Expired).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_what_nobody_could_ever_pull_again_is_ended_at_the_start() {
    let mut scene = scene().await;
    let view = scene.submit("ship", refund_of(7, "r1")).await;
    let mut others = tools(&scene.shop);
    others["tools"]
        .as_object_mut()
        .expect("tools")
        .remove("ship");
    scene.restart_with(&others).await;
    scene.until(view.action.id, Status::ReplanRequired).await;
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

//! Runs of code that are called off.

use std::time::Duration;

use holdpoint_engine::action::{ActionId, Status};
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::{RunId, RunStatus};
use serde_json::{Value, json};

use crate::house::{House, approver};

fn workflows() -> Workflows {
    Workflows::default()
        .with("waits", 1, async |ctx: Context, (): ()| {
            Ok::<_, Failure>(ctx.wait_for("go").await)
        })
        .with("sleeps", 1, async |ctx: Context, (): ()| {
            ctx.sleep(Duration::from_hours(1)).await;
            Ok::<_, Failure>(())
        })
        .with("asks", 1, async |ctx: Context, (): ()| {
            let removed = ctx.call("delete_all", json!({})).await;
            // Whatever became of it, nothing more is begun.
            ctx.call("set_label", json!({ "label": "after" })).await?;
            removed.map_err(Failure::from)
        })
        .with("survives", 1, async |ctx: Context, turn: u32| {
            // Whatever became of it, the code says that all is well, or goes on.
            drop(ctx.call("delete_all", json!({ "turn": turn })).await);
            match turn {
                0 => Ok(()),
                _ => Err(Failure::continue_as_new(turn + 1)),
            }
        })
        .with("asks_beside_a_wait", 1, async |ctx: Context, (): ()| {
            let (a, b) = (ctx.branch("a"), ctx.branch("b"));
            let (removed, _) = tokio::join!(a.call("delete_all", json!({})), b.wait_for("go"));
            removed.map_err(Failure::from)
        })
}

async fn is_asked(house: &House, id: RunId) -> ActionId {
    house
        .until(id, |run| crate::house::waiting_in(run).is_some())
        .await;
    house.waiting(id)
}

async fn cancel(house: &House, id: RunId) {
    let why = Some("not needed".to_owned());
    let cancelled = house.engine.cancel_run(&house.by, id, why).await;
    cancelled.expect("it is called off");
    house.until_status(id, RunStatus::Cancelled).await;
    assert_eq!(house.message(id), "not needed");
    let again = house.engine.cancel_run(&house.by, id, None).await;
    again.expect_err("it is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_waits_or_sleeps_is_called_off_at_once() {
    let house = House::with(workflows()).await;
    for name in ["waits", "sleeps"] {
        let id = house.call(name, Value::Null).await;
        house.until_status(id, RunStatus::Waiting).await;
        cancel(&house, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_waits_for_people_is_called_off_with_its_run() {
    for name in ["asks", "asks_beside_a_wait"] {
        let house = House::with(workflows()).await;
        let id = house.call(name, Value::Null).await;
        house
            .until(id, |run| crate::house::waiting_in(run).is_some())
            .await;
        let action = house.waiting(id);
        cancel(&house, id).await;
        let view = house.engine.get(&approver(), action).expect("the action");
        assert_eq!(view.action.status(), Status::Cancelled);
        assert_eq!((house.done("remove"), house.done("label")), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_is_called_off_also_by_the_process_that_comes_after() {
    let house = House::with(workflows()).await;
    let id = house.call("asks", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let action = house.waiting(id);
    // The program does not even have the code any more.
    let house = house.die_and_start(Workflows::default()).await;
    house.until_forgotten().await;
    cancel(&house, id).await;
    let view = house.engine.get(&approver(), action).expect("the action");
    assert_eq!(view.action.status(), Status::Cancelled);
    let house = House::with(workflows()).await;
    let id = house.call("asks", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let action = house.waiting(id);
    let house = house.die_and_start(workflows()).await;
    cancel(&house, id).await;
    let view = house.engine.get(&approver(), action).expect("the action");
    assert_eq!(view.action.status(), Status::Cancelled);
    assert_eq!(house.done("label"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_called_off_ends_so_whatever_its_code_says() {
    let house = House::with(workflows()).await;
    for turn in [0, 1] {
        let id = house.call("survives", json!(turn)).await;
        is_asked(&house, id).await;
        cancel(&house, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_somebody_who_has_left_is_called_off_with_its_action() {
    let house = House::with(workflows()).await;
    let id = house.call("asks", Value::Null).await;
    let action = is_asked(&house, id).await;
    let identity = house.engine.identity();
    let left = identity.disable_person("test", &house.by.id, "left").await;
    left.expect("they have left");
    let by = approver();
    let cancelled = house.engine.cancel_run(&by, id, None).await;
    let mut run = cancelled.expect("it is called off");
    while run.ended.is_none() {
        let soon = Duration::from_secs(1);
        let moved = house.engine.wait_run(&by, id, run.events, soon).await;
        run = moved.expect("the run");
    }
    assert_eq!(run.status(), RunStatus::Cancelled);
    let view = house.engine.get(&approver(), action).expect("the action");
    assert_eq!(view.action.status(), Status::Cancelled);
}

//! What a run of code leaves open when it ends: nothing that could take effect later.

use std::sync::Arc;

use holdpoint_engine::action::Status;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::event::{StepOutcome, Waiting};
use holdpoint_engine::run::{Run, RunId, RunStatus};
use holdpoint_engine::target::LocalCall;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::house::{House, approver, waiting_in};
use crate::world::{World, locals, tools};

fn workflows() -> Workflows {
    Workflows::default()
        .with("try_join", 1, async |ctx: Context, (): ()| {
            let (a, b) = (ctx.branch("a"), ctx.branch("b"));
            let a = async {
                a.wait_for("go").await;
                a.call("fail", json!({})).await
            };
            let b = async { b.call("delete_all", json!({})).await };
            tokio::try_join!(a, b)?;
            Ok::<_, Failure>(())
        })
        .with("panics", 1, async |ctx: Context, (): ()| {
            let (a, b) = (ctx.branch("a"), ctx.branch("b"));
            let a = async {
                let go = a.wait_for("go").await;
                assert!(go.is_number(), "no number");
            };
            let b = async { b.call("delete_all", json!({})).await };
            let ((), b) = tokio::join!(a, b);
            b.map(drop).map_err(Failure::from)
        })
        .with("goes_on", 1, async |ctx: Context, turn: Option<u32>| {
            if turn.is_some() {
                return Ok(ctx.wait_for("never").await);
            }
            let (a, b) = (ctx.branch("a"), ctx.branch("b"));
            let again = async {
                a.wait_for("go").await;
                Err::<Value, _>(Failure::continue_as_new(1))
            };
            let call = async { b.call("delete_all", json!({})).await.map_err(Failure::from) };
            tokio::try_join!(again, call).map(|(a, _)| a)
        })
        .with("slow_beside", 1, async |ctx: Context, (): ()| {
            let (a, b) = (ctx.branch("a"), ctx.branch("b"));
            let left = async { a.call("slow", json!({})).await };
            let right = async {
                b.wait_for("go").await;
                b.call("fail", json!({})).await
            };
            tokio::try_join!(left, right)?;
            Ok::<_, Failure>(())
        })
        .with("reads", 1, async |ctx: Context, (): ()| {
            ctx.call("get_version", json!({}))
                .await
                .map_err(Failure::from)
        })
}

fn open_steps(run: &Run) -> usize {
    run.steps
        .iter()
        .filter(|step| step.open().is_some())
        .count()
}

fn is_asked(run: &Run) -> bool {
    waiting_in(run).is_some_and(|(_, why)| why == Waiting::Approval)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_people_is_taken_back_before_its_run_ends() {
    for (name, status) in [
        ("try_join", RunStatus::Failed),
        ("panics", RunStatus::Failed),
        ("goes_on", RunStatus::Continued),
    ] {
        let house = House::with(workflows()).await;
        let id = house.call(name, Value::Null).await;
        house.until(id, is_asked).await;
        let action = house.waiting(id);
        house.send(id, "go", json!("x")).await.expect("it is sent");
        let run = house.until_status(id, status).await;
        let view = house.engine.get(&approver(), action).expect("the action");
        assert_eq!(view.action.status(), Status::Cancelled, "{name}");
        assert_eq!((open_steps(&run), house.done("remove")), (0, 0), "{name}");
    }
}

/// A house with a call that ends when a permit is there.
async fn house_with_slow_call() -> (House, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let world = Arc::new(World::default());
    let held = gate.clone();
    let locals = locals(&world).with("slow", move |_: LocalCall| {
        let held = held.clone();
        async move {
            let _permit = held.acquire().await.expect("it stays open");
            Ok(json!({ "done": true }))
        }
    });
    let mut tools = tools();
    tools["tools"]["slow"] =
        json!({ "execute": { "local": "slow" }, "safetyClass": "irreversible" });
    let house = House::with(workflows()).await;
    let house = house.die_and_start_with(&tools, locals, workflows()).await;
    (house, gate)
}

async fn until_the_call_is_on_its_way(house: &House, id: RunId) {
    let run = house
        .until(id, |run| run.steps.len() == 1 && !run.notes.is_empty())
        .await;
    let made = run.steps[0].made().expect("it began");
    let attempt = run.try_of(&run.steps[0].path).expect("a try");
    let action = attempt.action_id(made.started_at);
    let mut view = house.engine.get(&approver(), action);
    while !view.is_ok_and(|view| view.action.status() == Status::Executing) {
        tokio::task::yield_now().await;
        view = house.engine.get(&approver(), action);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_on_its_way_is_followed_to_its_end_before_its_run_ends() {
    for (is_called_off, status) in [(true, RunStatus::Cancelled), (false, RunStatus::Failed)] {
        let (house, gate) = house_with_slow_call().await;
        let id = house.call("slow_beside", Value::Null).await;
        until_the_call_is_on_its_way(&house, id).await;
        if is_called_off {
            let cancelled = house.engine.cancel_run(&house.by, id, None).await;
            cancelled.expect("it is called off");
        } else {
            house.send(id, "go", Value::Null).await.expect("it is sent");
            house.until(id, |run| run.steps.len() == 2).await;
        }
        gate.add_permits(1);
        let run = house.until_status(id, status).await;
        assert_eq!(open_steps(&run), 0);
        let made = run.steps[0].made().expect("it began");
        let report = made.settled().expect("it ended");
        assert_eq!(report.outcome, StepOutcome::Passed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_could_not_begin_ends_with_its_run() {
    let house = House::with(workflows()).await;
    let paused = house.engine.pause(&approver(), "a fire drill").await;
    paused.expect("it is paused");
    let id = house.call("reads", Value::Null).await;
    house.until(id, |run| run.steps.len() == 1).await;
    let cancelled = house.engine.cancel_run(&house.by, id, None).await;
    cancelled.expect("it is called off");
    let run = house.until_status(id, RunStatus::Cancelled).await;
    assert_eq!(open_steps(&run), 0);
}

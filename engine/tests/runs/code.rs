//! Workflows in code.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_engine::approval::Vote;
use holdpoint_engine::limits::JSON_BYTES_MAX;
use holdpoint_engine::run::RunStatus;
use holdpoint_engine::run::code::{CallError, Context, Failure, Workflows};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::house::House;

const TOO_MANY: usize = JSON_BYTES_MAX + 1;

async fn label_twice(ctx: Context, input: Value) -> Result<Value, Failure> {
    let found = ctx.call("get_version", json!({})).await?;
    let at = ctx.now().await;
    ctx.call(
        "set_label",
        json!({ "label": found["version"], "at": at.0 }),
    )
    .await?;
    let go = ctx.wait_for("go").await;
    let (left, right) = (ctx.branch("left"), ctx.branch("right"));
    let (a, b) = tokio::join!(
        left.call("set_label", json!({ "label": "left" })),
        right.call("set_label", json!({ "label": "right" })),
    );
    ctx.sleep(Duration::from_millis(5)).await;
    Ok(json!({ "input": input, "go": go, "both": [a?, b?] }))
}

#[tokio::test(flavor = "multi_thread")]
async fn code_goes_on_after_a_death_and_makes_no_call_twice() {
    let workflows = || Workflows::default().with("label_twice", 1, label_twice);
    let house = House::with(workflows()).await;
    let id = house.call("label_twice", json!(7)).await;
    house.until_status(id, RunStatus::Waiting).await;
    let house = house.die_and_start(workflows()).await;
    house
        .send(id, "go", json!("now"))
        .await
        .expect("it is sent");
    let run = house.until_status(id, RunStatus::Passed).await;
    let output = run.ended.as_ref().expect("an end").output.value();
    assert_eq!(
        output,
        json!({ "input": 7, "go": "now", "both": [{ "label": "left" }, { "label": "right" }] })
    );
    assert_eq!((house.done("read"), house.done("label")), (1, 3));
}

#[derive(Deserialize)]
struct Order {
    id: String,
    amounts: Vec<u64>,
}

#[derive(Serialize)]
struct Sum {
    of: String,
    sum: u64,
}

async fn add(_: Context, order: Order) -> Result<Sum, Failure> {
    let sum = order.amounts.iter().sum();
    Ok(Sum { of: order.id, sum })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_workflow_takes_and_answers_has_a_type() {
    let house = House::with(Workflows::default().with("add", 1, add)).await;
    let order = json!({ "id": "8812", "amounts": [1, 2, 3] });
    let id = house.call("add", order).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), json!({ "of": "8812", "sum": 6 }));
    let wrong = json!({ "id": "8812", "amounts": [1, "2"] });
    let refused = house.try_call("add", wrong).await;
    let words = refused.expect_err("refused before there is a run");
    assert!(
        words.to_string().starts_with("the input, at amounts[1]: "),
        "{words}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_or_version_that_is_not_registered_is_refused_with_a_way_on() {
    let house = House::with(Workflows::default().with("add", 1, add)).await;
    let refused = house.try_call("ad", Value::Null).await;
    let words = refused.expect_err("no such workflow").to_string();
    assert!(words.contains("did you mean add?"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_code_ends_its_run_and_nothing_else() {
    let panics = async |_: Context, by: u64| -> Result<u64, Failure> {
        Ok(7_u64.checked_div(by).expect("no division by zero"))
    };
    let house = House::with(Workflows::default().with("divide", 1, panics)).await;
    let id = house.call("divide", json!(0)).await;
    house.until_status(id, RunStatus::Failed).await;
    let words = house.message(id);
    assert!(words.contains("panicked: no division by zero"), "{words}");
    let id = house.call("divide", json!(1)).await;
    house.until_status(id, RunStatus::Passed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_or_a_call_that_is_too_large_ends_the_run_in_words() {
    let workflows = Workflows::default()
        .with("answers", 1, async |_: Context, (): ()| {
            Ok("x".repeat(TOO_MANY))
        })
        .with("calls", 1, async |ctx: Context, (): ()| {
            ctx.call("set_label", json!({ "label": "x".repeat(TOO_MANY) }))
                .await
                .map_err(Failure::from)
        })
        .with("fails", 1, async |_: Context, (): ()| {
            Err::<(), _>(Failure::message("x".repeat(5 * TOO_MANY)))
        });
    let house = House::with(workflows).await;
    for (name, words) in [
        ("answers", "what the code answers is longer than"),
        ("calls", "the arguments of set_label are longer than"),
        ("fails", "more characters"),
    ] {
        let id = house.call(name, Value::Null).await;
        house.until_status(id, RunStatus::Failed).await;
        let message = house.message(id);
        assert!(message.contains(words), "{message}");
        assert!(message.len() < 5000);
    }
    assert_eq!(house.done("label"), 0);
}

async fn read_twice(ctx: Context, (): ()) -> Result<(), Failure> {
    ctx.call("get_version", json!({}))
        .title("Look")
        .intent("To know")
        .timeout(Duration::from_secs(3))
        .await?;
    let refused = ctx.call("read_nothing", json!({})).retries(0).await;
    assert!(matches!(refused, Err(CallError::Failed { .. })));
    ctx.call("set_label", json!({ "label": "a" }))
        .needs_approval()
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_says_what_it_is_for_and_may_ask_for_people() {
    let house = House::with(Workflows::default().with("w", 1, read_twice)).await;
    let id = house.call("w", Value::Null).await;
    let run = house.until_status(id, RunStatus::Waiting).await;
    let first = run.steps[0].made().expect("made");
    assert_eq!(
        (first.call.title.as_str(), house.done("label")),
        ("Look", 0)
    );
    assert_eq!(first.call.intent.as_deref(), Some("To know"));
    house.vote(house.waiting(id), Vote::Approve).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.done("label"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_are_over_are_not_in_memory() {
    let quick = async |ctx: Context, n: u64| {
        ctx.call("get_version", json!({ "n": n })).await?;
        Ok(n)
    };
    let house = House::with(Workflows::default().with("quick", 1, quick)).await;
    for n in 0..40 {
        let id = house.call("quick", json!(n)).await;
        house.until_status(id, RunStatus::Passed).await;
    }
    house.until_forgotten().await;
    assert_eq!(house.engine.runs_in_memory(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_dropped_stops_although_code_holds_its_context() {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let tell = Mutex::new(Some(tell));
    let waits = move |ctx: Context, (): ()| {
        // Dropped with the code.
        let tell = tell.lock().expect("no panic").take();
        async move {
            let _tell = tell;
            let _kept = ctx.clone();
            Ok::<_, Failure>(ctx.wait_for("never").await)
        }
    };
    let house = House::with(Workflows::default().with("waits", 1, waits)).await;
    let id = house.call("waits", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let log = Arc::downgrade(&house.log);
    drop(house);
    told.await.expect_err("the code is gone");
    while log.strong_count() != 0 {
        tokio::task::yield_now().await;
    }
}

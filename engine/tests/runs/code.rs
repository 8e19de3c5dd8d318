//! Workflows in code.

use std::time::Duration;

use holdpoint_engine::run::RunStatus;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use serde_json::{Value, json};

use crate::house::House;

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
    let now = json!("now");
    let sent = house.engine.signal_run(&house.by, id, "go", &now).await;
    sent.expect("it is sent");
    let run = house.until_status(id, RunStatus::Passed).await;
    let output = run.ended.as_ref().expect("an end").output.value();
    assert_eq!(
        output,
        json!({ "input": 7, "go": "now", "both": [{ "label": "left" }, { "label": "right" }] })
    );
    assert_eq!((house.done("read"), house.done("label")), (1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_differs_from_its_history_stops_and_says_where() {
    let first = Workflows::default().with("w", 1, async |ctx: Context, _| {
        ctx.call("set_label", json!({ "label": "a" })).await?;
        Ok(ctx.wait_for("go").await)
    });
    let other = Workflows::default().with("w", 1, async |ctx: Context, _| {
        ctx.call("set_label", json!({ "label": "b" })).await?;
        Ok(ctx.wait_for("go").await)
    });
    let house = House::with(first).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let house = house.die_and_start(other).await;
    let run = house.until_status(id, RunStatus::Diverged).await;
    let message = run.ended.as_ref().and_then(|end| end.message.clone());
    let message = message.expect("why");
    assert!(message.contains("at 1 "), "{message}");
    assert!(message.contains(r#"{"label":"a"}"#) && message.contains(r#"{"label":"b"}"#));
    assert_eq!(house.done("label"), 1);
}

//! What goes into a run and comes out of it stays what it is, or is refused.

use holdpoint_engine::run::RunStatus;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use serde_json::{Value, json};

use crate::house::House;

/// Not a double: it would become the one before it.
const BIG: u64 = 9_007_199_254_740_993;

fn nested() -> Value {
    (0..150).fold(json!("leaf"), |inner, _| json!([inner]))
}

fn workflows() -> Workflows {
    Workflows::default()
        .with("sends", 1, async |ctx: Context, is_deep: bool| {
            let value = if is_deep { nested() } else { json!(BIG) };
            let sent = ctx.call("set_label", json!({ "order": value })).await;
            sent.map_err(Failure::from)
        })
        .with("answers", 1, async |_: Context, is_deep: bool| {
            let value = if is_deep { nested() } else { json!(BIG) };
            Ok::<_, Failure>(json!({ "order": value }))
        })
        .with(
            "takes",
            1,
            async |_: Context, _: Value| Ok::<_, Failure>(()),
        )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_would_become_another_one_is_refused_in_words() {
    let house = House::with(workflows()).await;
    for (is_deep, words) in [(false, "send it as a string"), (true, "deep")] {
        for name in ["sends", "answers"] {
            let id = house.call(name, json!(is_deep)).await;
            house.until_status(id, RunStatus::Failed).await;
            let message = house.message(id);
            assert!(message.contains(words), "{name}: {message}");
        }
        let value = if is_deep { nested() } else { json!(BIG) };
        let refused = house.try_call("takes", value).await;
        let message = refused.expect_err("refused").to_string();
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(house.done("label"), 0, "nothing was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_of_an_event_stays_what_it_is_or_is_refused() {
    let waits = Workflows::default().with("w", 1, async |ctx: Context, (): ()| {
        Ok::<_, Failure>(ctx.wait_for("go").await)
    });
    let house = House::with(waits).await;
    let id = house.call("w", Value::Null).await;
    for value in [json!(BIG), nested()] {
        let refused = house.send(id, "go", value).await;
        let message = refused.expect_err("refused").to_string();
        assert!(message.contains("the data of the event"), "{message}");
    }
    let kept = json!({ "order": BIG - 1 });
    house
        .send(id, "go", kept.clone())
        .await
        .expect("it is sent");
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), kept);
}

//! Code that sleeps, and code that waits for events.

use std::collections::BTreeSet;
use std::time::Duration;

use holdpoint_engine::identity::Principal;
use holdpoint_engine::limits::RUNS_PER_CALLER_MAX;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::{RunError, RunStatus};
use serde_json::{Value, json};

use crate::house::House;

const DAY: Duration = Duration::from_hours(24);

fn sleeps() -> Workflows {
    Workflows::default().with("sleeps", 1, async |ctx: Context, (): ()| {
        let before = ctx.now().await;
        ctx.sleep(30 * DAY).await;
        let after = ctx.now().await;
        Ok::<_, Failure>(30 * DAY <= after.since(before))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sleep_ends_when_its_time_has_come_over_restarts() {
    let house = House::with(sleeps()).await;
    let id = house.call("sleeps", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    house.pass(10 * DAY);
    let house = house.die_and_start(sleeps()).await;
    house.pass(19 * DAY);
    assert_eq!(house.run(id).status(), RunStatus::Waiting);
    let house = house.die_and_start(sleeps()).await;
    assert_eq!(house.run(id).status(), RunStatus::Waiting);
    house.pass(DAY);
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), json!(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sleep_whose_time_came_while_nobody_was_there_ends_at_once() {
    let house = House::with(sleeps()).await;
    let id = house.call("sleeps", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    house.pass(31 * DAY);
    let house = house.die_and_start(sleeps()).await;
    house.until_status(id, RunStatus::Passed).await;
}

fn waits() -> Workflows {
    Workflows::default()
        .with("in_turn", 1, async |ctx: Context, (): ()| {
            let first = ctx.wait_for("go").await;
            let other = ctx.wait_for("other").await;
            let second = ctx.wait_for("go").await;
            Ok::<_, Failure>(json!([first, other, second]))
        })
        .with("at_once", 1, async |ctx: Context, (): ()| {
            let (a, b) = (ctx.branch("a"), ctx.branch("b"));
            let (a, b) = tokio::join!(a.wait_for("go"), b.wait_for("go"));
            Ok::<_, Failure>(json!([a, b]))
        })
        .with("in_time", 1, async |ctx: Context, (): ()| {
            let first = ctx.wait_for_at_most("go", DAY).await;
            let second = ctx.wait_for_at_most("go", DAY).await;
            Ok::<_, Failure>(json!([first, second]))
        })
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_taken_in_order_also_those_that_came_before_anybody_waited() {
    let house = House::with(waits()).await;
    let id = house.call("in_turn", Value::Null).await;
    for (name, data) in [("go", 1), ("go", 2)] {
        house.send(id, name, json!(data)).await.expect("it is sent");
    }
    let house = house.die_and_start(waits()).await;
    house.until_status(id, RunStatus::Waiting).await;
    house
        .send(id, "other", json!("o"))
        .await
        .expect("it is sent");
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), json!([1, "o", 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_wait_for_one_name_each_gets_an_event_of_its_own() {
    let house = House::with(waits()).await;
    let id = house.call("at_once", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    house.send(id, "go", json!(1)).await.expect("it is sent");
    let house = house.die_and_start(waits()).await;
    house.send(id, "go", json!(2)).await.expect("it is sent");
    house.until_status(id, RunStatus::Passed).await;
    let output = house.output(id);
    assert!(
        output == json!([1, 2]) || output == json!([2, 1]),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_with_a_limit_ends_without_an_event_when_the_time_has_come() {
    let house = House::with(waits()).await;
    let id = house.call("in_time", Value::Null).await;
    house
        .send(id, "go", json!("in time"))
        .await
        .expect("it is sent");
    house
        .until(id, |run| {
            run.notes.len() == 2 && run.status() == RunStatus::Waiting
        })
        .await;
    let house = house.die_and_start(waits()).await;
    house.pass(2 * DAY);
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), json!(["in time", null]));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_a_run_that_is_over_or_under_a_name_that_is_too_long() {
    let house = House::with(sleeps()).await;
    let id = house.call("sleeps", Value::Null).await;
    let long = "x".repeat(1000);
    for name in ["", long.as_str()] {
        let refused = house.send(id, name, Value::Null).await;
        refused.expect_err("no such name");
    }
    house.until_status(id, RunStatus::Waiting).await;
    house.pass(31 * DAY);
    house.until_status(id, RunStatus::Passed).await;
    let late = house.send(id, "go", Value::Null).await;
    let words = late.expect_err("it is over").to_string();
    assert_eq!(words, "the run is over");
}

#[tokio::test(start_paused = true)]
async fn a_sleep_ends_also_where_nobody_says_that_the_clock_was_set() {
    let house = House::with(sleeps()).await;
    let id = house.call("sleeps", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    house.world.passes(30 * DAY);
    // Within a minute or two of the runtime's time, which jumps where everybody waits.
    for _ in 0..3 {
        let soon = Duration::from_mins(1);
        drop(
            house
                .engine
                .wait_run(&house.by, id, house.run(id).events, soon)
                .await,
        );
    }
    house.until_status(id, RunStatus::Passed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_one_caller_never_takes_the_room_of_all() {
    let code = Workflows::default().with("waits", 1, async |ctx: Context, _: Value| {
        Ok(ctx.wait_for("go").await)
    });
    let mut house = House::with(code).await;
    let mut last = house.call("waits", Value::Null).await;
    for _ in 1..RUNS_PER_CALLER_MAX {
        last = house.call("waits", Value::Null).await;
    }
    let refused = house.try_call("waits", Value::Null).await;
    assert!(matches!(refused, Err(RunError::TooManyOwn)), "{refused:?}");

    let own = house.by.clone();
    house.by = Principal::local("somebody else", BTreeSet::new());
    house.call("waits", Value::Null).await;
    house.by = own;
    house
        .send(last, "go", Value::Null)
        .await
        .expect("it is sent");
    house.until_status(last, RunStatus::Passed).await;
    // Its task ends a moment after it.
    let room = async {
        while house.try_call("waits", Value::Null).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), room)
        .await
        .expect("there is room again");
}

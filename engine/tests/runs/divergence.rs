//! Code that is not the one that the history was made by, and versions of code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdpoint_engine::engine::Resumption;
use holdpoint_engine::run::RunStatus;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::house::House;

const SHORT: Duration = Duration::from_millis(1);

/// What a version of the code does before it waits.
#[derive(Clone, Copy, Debug)]
enum Does {
    Label(&'static str),
    Remove,
    Sleeps,
    Time,
    Random,
    Event(&'static str),
    EventInTime(&'static str),
    Nothing,
    EndsEarly,
}

async fn carry_out(ctx: Context, does: Does) -> Result<Value, Failure> {
    match does {
        Does::Label(label) => drop(ctx.call("set_label", json!({ "label": label })).await?),
        Does::Remove => drop(ctx.call("remove_label", json!({ "label": "a" })).await?),
        Does::Sleeps => ctx.sleep(SHORT).await,
        Does::Time => drop(ctx.now().await),
        Does::Random => drop(ctx.random().await),
        Does::Event(name) => drop(ctx.wait_for(name).await),
        Does::EventInTime(name) => {
            drop(ctx.wait_for_at_most(name, Duration::from_hours(1)).await);
        }
        Does::Nothing => {}
        Does::EndsEarly => return Ok(json!("early")),
    }
    Ok(ctx.wait_for("go").await)
}

fn version(number: u32, does: Does) -> Workflows {
    Workflows::default().with("w", number, move |ctx, (): ()| carry_out(ctx, does))
}

/// Begins a run with the first code, goes on with the second, and answers how it stopped.
async fn changed(first: Does, second: Does) -> String {
    let house = House::with(version(1, first)).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    house
        .until(id, |run| run.notes.len() + run.steps.len() != 0)
        .await;
    let writes = house.done("label") + house.done("remove");
    let house = house.die_and_start(version(1, second)).await;
    house.until_status(id, RunStatus::Diverged).await;
    let after = house.done("label") + house.done("remove");
    assert_eq!(
        after, writes,
        "nothing is made that the history does not have"
    );
    house.message(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_differs_from_its_history_stops_and_shows_the_place_and_both() {
    let label = r#"set_label with {"label":"a"}"#;
    for (first, second, was, is) in [
        (
            Does::Label("a"),
            Does::Label("b"),
            label,
            r#"set_label with {"label":"b"}; they differ at /label"#,
        ),
        (
            Does::Label("a"),
            Does::Remove,
            label,
            r#"remove_label with {"label":"a"}"#,
        ),
        (Does::Label("a"), Does::Sleeps, label, "a sleep"),
        (Does::Label("a"), Does::Time, label, "the time"),
        (
            Does::Label("a"),
            Does::Nothing,
            label,
            r#"a wait for the event "go""#,
        ),
        (
            Does::Label("a"),
            Does::EndsEarly,
            label,
            "nothing: it ended",
        ),
        (Does::Sleeps, Does::Label("a"), "a sleep", label),
        (Does::Time, Does::Random, "the time", "random bytes"),
        (Does::Random, Does::Time, "random bytes", "the time"),
        (
            Does::Event("x"),
            Does::Event("y"),
            r#"a wait for the event "x""#,
            r#"a wait for the event "y""#,
        ),
        (
            Does::EventInTime("x"),
            Does::Event("x"),
            r#"a wait for the event "x""#,
            r#"a wait for the event "x""#,
        ),
    ] {
        let words = changed(first, second).await;
        let wanted = format!("at 1 the history has {was}, and the code wants {is}");
        assert!(words.contains(&wanted), "{words}\n{wanted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_may_want_more_than_a_history_has_that_ends_there() {
    let house = House::with(version(1, Does::Nothing)).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let more = Workflows::default().with("w", 1, async |ctx: Context, (): ()| {
        let go = ctx.wait_for("go").await;
        ctx.call("set_label", json!({ "label": "more" })).await?;
        Ok(go)
    });
    let house = house.die_and_start(more).await;
    send(&house, id).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.done("label"), 1);
}

async fn send(house: &House, id: holdpoint_engine::run::RunId) {
    house.send(id, "go", json!(1)).await.expect("it is sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_diverged_goes_on_when_the_code_is_put_right() {
    let house = House::with(version(1, Does::Label("a"))).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let house = house.die_and_start(version(1, Does::Remove)).await;
    house.until_status(id, RunStatus::Diverged).await;
    let house = house.die_and_start(version(1, Does::Label("a"))).await;
    let again = Resumption::default();
    let resumed = house.engine.resume_run(&house.by, id, again).await;
    resumed.expect("it goes on");
    send(&house, id).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!((house.done("label"), house.done("remove")), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_are_finished_by_old_code_and_new_ones_take_the_new() {
    let house = House::with(version(1, Does::Label("old"))).await;
    let old = house.call("w", Value::Null).await;
    house.until_status(old, RunStatus::Waiting).await;
    let both =
        version(1, Does::Label("old")).with("w", 2, |ctx, (): ()| carry_out(ctx, Does::Remove));
    let house = house.die_and_start(both).await;
    let new = house.call("w", Value::Null).await;
    for id in [old, new] {
        house.until_status(id, RunStatus::Waiting).await;
        send(&house, id).await;
        house.until_status(id, RunStatus::Passed).await;
    }
    assert_eq!((house.done("label"), house.done("remove")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_version_is_gone_stays_open_and_says_so() {
    let house = House::with(version(1, Does::Label("a"))).await;
    let id = house.call("w", Value::Null).await;
    let other = house.call("w", Value::Null).await;
    for id in [id, other] {
        house.until_status(id, RunStatus::Waiting).await;
    }
    let house = house.die_and_start(version(2, Does::Label("a"))).await;
    let again = Resumption::default();
    let refused = house.engine.resume_run(&house.by, id, again).await;
    let words = refused.expect_err("it cannot go on").to_string();
    assert!(words.contains("version 1 of w"), "{words}");
    assert!(words.contains("has the versions 2"), "{words}");
    house.until_forgotten().await;
    assert_eq!(house.run(id).status(), RunStatus::Waiting);
    assert!(!house.engine.is_run_carried_on(id));
    let cancelled = house.engine.cancel_run(&house.by, other, None).await;
    cancelled.expect("it can be called off");
    house.until_status(other, RunStatus::Cancelled).await;
    let house = house.die_and_start(version(1, Does::Label("a"))).await;
    send(&house, id).await;
    house.until_status(id, RunStatus::Passed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_reads_another_input_than_the_run_has_diverges() {
    let house = House::with(version(1, Does::Nothing)).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let other = Workflows::default().with("w", 1, async |_: Context, n: u64| Ok(n));
    let house = house.die_and_start(other).await;
    house.until_status(id, RunStatus::Diverged).await;
    let words = house.message(id);
    assert!(
        words.contains("at start the history has an input with null"),
        "{words}"
    );
}

static IS_BROKEN: AtomicBool = AtomicBool::new(false);

/// An input at whose reading new code panics.
struct Touchy;

impl<'de> Deserialize<'de> for Touchy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer)?;
        assert!(!IS_BROKEN.load(Ordering::SeqCst), "broken");
        Ok(Self)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_panics_while_it_reads_its_input_again_stops_and_says_so() {
    let workflows = || {
        Workflows::default().with("w", 1, async |ctx: Context, _: Touchy| {
            Ok::<_, Failure>(ctx.wait_for("go").await)
        })
    };
    let house = House::with(workflows()).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    IS_BROKEN.store(true, Ordering::SeqCst);
    let house = house.die_and_start(workflows()).await;
    house.until_status(id, RunStatus::Diverged).await;
    let words = house.message(id);
    assert!(words.contains("the code panicked: broken"), "{words}");
    IS_BROKEN.store(false, Ordering::SeqCst);
    let resumed = house
        .engine
        .resume_run(&house.by, id, Resumption::default())
        .await;
    resumed.expect("it goes on");
    send(&house, id).await;
    house.until_status(id, RunStatus::Passed).await;
}

fn labels_in(branch: &'static str) -> Workflows {
    Workflows::default().with("w", 1, move |ctx: Context, (): ()| async move {
        let side = ctx.branch(branch);
        side.call("set_label", json!({ "label": "a" })).await?;
        Ok::<_, Failure>(ctx.wait_for("go").await)
    })
}

fn undoes(is_changed: bool) -> Workflows {
    Workflows::default().with("w", 1, move |ctx: Context, (): ()| async move {
        if !is_changed {
            ctx.call("set_label", json!({ "label": "a" })).await?;
            return Ok(ctx.wait_for("go").await);
        }
        // The call is gone; what makes up for it is not.
        let undo = ctx.branch("undo");
        let undone = undo.call("remove_label", json!({ "label": "a" })).await;
        undone.map_err(Failure::from)
    })
}

// The time of these is that of the runtime, which jumps where everybody waits.
#[tokio::test(start_paused = true)]
async fn code_that_goes_elsewhere_than_its_history_makes_nothing_there() {
    for (first, second, at, instead) in [
        (labels_in("left"), labels_in("right"), "left/1", "right/1"),
        (undoes(false), undoes(true), "1", "undo/1"),
    ] {
        let house = House::with(first).await;
        let id = house.call("w", Value::Null).await;
        house.until_status(id, RunStatus::Waiting).await;
        let house = house.die_and_start(second).await;
        house.until_status(id, RunStatus::Diverged).await;
        assert_eq!((house.done("label"), house.done("remove")), (1, 0));
        let words = house.message(id);
        let wanted = format!("at {at} the history has set_label");
        assert!(words.contains(&wanted), "{words}");
        assert!(
            words.contains(&format!("it is at {instead} instead")),
            "{words}"
        );
    }
}

async fn two_branches(ctx: Context, (): ()) -> Result<Value, Failure> {
    let (left, right) = (ctx.branch("side"), ctx.branch("side"));
    let (a, b) = tokio::join!(
        async {
            let got = left.wait_for("left").await;
            left.call("set_label", json!({ "label": "left" })).await?;
            Ok::<_, Failure>(got)
        },
        async {
            let got = right.wait_for("right").await;
            right
                .call("remove_label", json!({ "label": "right" }))
                .await?;
            Ok::<_, Failure>(got)
        },
    );
    let both = json!([a?, b?]);
    ctx.wait_for("go").await;
    Ok(both)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_in_which_branches_end_does_not_matter() {
    let workflows = || Workflows::default().with("w", 1, two_branches);
    for order in [["left", "right"], ["right", "left"]] {
        let mut house = House::with(workflows()).await;
        let id = house.call("w", Value::Null).await;
        for (count, name) in order.into_iter().enumerate() {
            let sent = house.send(id, name, json!(name)).await;
            sent.expect("it is sent");
            let ended = |run: &holdpoint_engine::run::Run| {
                let ended = run.steps.iter().filter(|step| step.open().is_none());
                ended.count() == count + 1
            };
            house.until(id, ended).await;
            house = house.die_and_start(workflows()).await;
        }
        let run = house.run(id);
        let mut paths: Vec<_> = run.steps.iter().map(|step| step.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["side.2/2", "side/2"]);
        send(&house, id).await;
        house.until_status(id, RunStatus::Passed).await;
        assert_eq!(house.output(id), json!(["left", "right"]));
        assert_eq!((house.done("label"), house.done("remove")), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i27_a_run_is_called_off_while_its_code_stands_before_a_history_that_it_does_not_meet() {
    let house = House::with(version(1, Does::Label("a"))).await;
    let id = house.call("w", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let stands = std::sync::Arc::new(tokio::sync::Notify::new());
    let says = std::sync::Arc::clone(&stands);
    let changed = Workflows::default().with("w", 1, move |ctx: Context, (): ()| {
        let says = std::sync::Arc::clone(&says);
        async move {
            let call = ctx.branch("b").call("remove_label", json!({}));
            says.notify_one();
            Ok::<_, Failure>(call.await?)
        }
    });
    let house = house.die_and_start(changed).await;
    stands.notified().await;
    let cancelled = house.engine.cancel_run(&house.by, id, None).await;
    cancelled.expect("it is called off");
    house.until_status(id, RunStatus::Cancelled).await;
    assert_eq!(house.done("remove"), 0);
}

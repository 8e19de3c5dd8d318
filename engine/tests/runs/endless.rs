//! What has no end goes on as a new run.

use holdpoint_engine::limits::JSON_BYTES_MAX;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::{End, RunId, RunStatus};
use serde_json::{Value, json};

use crate::house::House;

async fn count_down(ctx: Context, left: u32) -> Result<u32, Failure> {
    ctx.call("set_label", json!({ "left": left })).await?;
    if left == 0 {
        return Ok(0);
    }
    Err(Failure::continue_as_new(left - 1))
}

/// Takes one event, and goes on as a new run with what it has.
async fn gather(ctx: Context, mut have: Vec<Value>) -> Result<Vec<Value>, Failure> {
    have.push(ctx.wait_for("next").await);
    if have.len() == 6 {
        return Ok(have);
    }
    Err(Failure::continue_as_new(have))
}

fn workflows() -> Workflows {
    Workflows::default()
        .with("count_down", 1, count_down)
        .with("gather", 1, gather)
}

/// The run that it goes on as, and so on until one that is not over or has another end.
async fn chain(house: &House, first: RunId) -> Vec<RunId> {
    let mut all = vec![first];
    loop {
        let last = all[all.len() - 1];
        let run = house.until(last, |run| run.ended.is_some()).await;
        let end = run.ended.as_ref().map(|ended| ended.end.clone());
        let Some(End::Continued(next)) = end else {
            return all;
        };
        assert_eq!(house.run(next).start.continues, Some(last));
        all.push(next);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_chain_of_runs_does_each_of_its_writes_once() {
    let house = House::with(workflows()).await;
    let first = house.call("count_down", json!(20)).await;
    let all = chain(&house, first).await;
    assert_eq!((all.len(), house.done("label")), (21, 21));
    for id in &all[..20] {
        assert_eq!(house.run(*id).status(), RunStatus::Continued);
        assert!(house.run(*id).events < 10, "each history is its own");
    }
    house.until_status(all[20], RunStatus::Passed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_were_not_taken_go_along() {
    let house = House::with(workflows()).await;
    let first = house.call("gather", json!([])).await;
    for n in 0..6 {
        // The runs go on beside this: whoever is the last one gets it.
        loop {
            let all = newest(&house);
            if house.send(all, "next", json!(n)).await.is_ok() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    let all = chain(&house, first).await;
    let last = all[all.len() - 1];
    house.until_status(last, RunStatus::Passed).await;
    assert_eq!(house.output(last), json!([0, 1, 2, 3, 4, 5]));
}

fn newest(house: &House) -> RunId {
    let query = holdpoint_engine::engine::RunQuery {
        limit: 1,
        ..Default::default()
    };
    let page = house.engine.runs(&house.by, &query).expect("the runs");
    page.runs[0].id
}

#[tokio::test(flavor = "multi_thread")]
async fn code_knows_how_much_it_has_asked_for_the_same_at_every_replay() {
    let asks = || {
        Workflows::default().with("asks", 1, async |ctx: Context, (): ()| {
            let mut seen = Vec::new();
            for _ in 0..3 {
                let side = ctx.branch("side");
                tokio::join!(side.now(), ctx.now());
                seen.push(ctx.asked());
            }
            ctx.wait_for("go").await;
            Ok::<_, Failure>(seen)
        })
    };
    let house = House::with(asks()).await;
    let id = house.call("asks", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    let house = house.die_and_start(asks()).await;
    house.send(id, "go", json!(1)).await.expect("it is sent");
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), json!([2, 4, 6]));
}

fn forwards() -> Workflows {
    Workflows::default().with("forwards", 1, async |ctx: Context, turn: u32| {
        ctx.wait_for("go").await;
        if turn == 0 {
            return Err(Failure::continue_as_new(1));
        }
        Ok(ctx.wait_for("data").await.to_string().len())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn large_events_that_were_not_taken_go_along_as_many_as_were_accepted() {
    let house = House::with(forwards()).await;
    let id = house.call("forwards", json!(0)).await;
    let large = json!("x".repeat(JSON_BYTES_MAX - 100));
    let mut accepted = 0;
    while house.send(id, "data", large.clone()).await.is_ok() {
        accepted += 1;
    }
    assert_eq!(accepted, 8);
    let refused = house.send(id, "go", large.clone()).await;
    let words = refused.expect_err("there is no room").to_string();
    assert!(words.contains("not taken"), "{words}");
    house.send(id, "go", Value::Null).await.expect("it is sent");
    let run = house.until_status(id, RunStatus::Continued).await;
    let End::Continued(next) = run.ended.as_ref().expect("an end").end else {
        panic!("it goes on");
    };
    assert_eq!(house.run(next).signals["data"].len(), accepted);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_something_of_a_run_that_went_on_learns_where() {
    let house = House::with(forwards()).await;
    let id = house.call("forwards", json!(0)).await;
    house.send(id, "go", Value::Null).await.expect("it is sent");
    let run = house.until_status(id, RunStatus::Continued).await;
    let End::Continued(next) = run.ended.as_ref().expect("an end").end else {
        panic!("it goes on");
    };
    let sent = house.send(id, "go", Value::Null).await;
    let cancelled = house.engine.cancel_run(&house.by, id, None).await;
    for refused in [
        sent.expect_err("over"),
        cancelled.map(drop).expect_err("over"),
    ] {
        assert!(refused.to_string().contains(&next.to_string()), "{refused}");
    }
}

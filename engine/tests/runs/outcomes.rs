//! What code learns of a call that did not take effect, each by a real action.

use std::time::Duration;

use holdpoint_engine::approval::Vote;
use holdpoint_engine::run::code::{CallError, Context, Failure, Workflows};
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Run, RunStatus};
use serde_json::{Value, json};

use crate::house::{House, approver, waiting_in};
use crate::world::{locals, tools};

/// Calls a tool, and answers what it learned.
async fn learns(ctx: Context, tool: String) -> Result<Value, Failure> {
    Ok(match ctx.call(&tool, json!({})).await {
        Ok(answer) => json!({ "ok": answer }),
        Err(CallError::Rejected(why)) => json!({ "rejected": why }),
        Err(CallError::Expired) => json!("expired"),
        Err(CallError::ReplanRequired(what)) => json!({ "replan": what }),
        Err(CallError::Refused(why)) => json!({ "refused": why }),
        Err(CallError::Cancelled(why)) => json!({ "cancelled": why }),
        Err(CallError::SettledNotDone(why)) => json!({ "settled": why }),
        Err(CallError::Failed {
            message, answer, ..
        }) => json!({ "failed": message, "answer": answer }),
    })
}

/// Calls a tool, and ends as it ended.
async fn gives_up(ctx: Context, tool: String) -> Result<Value, Failure> {
    Ok(ctx.call(&tool, json!({})).await?)
}

fn workflows() -> Workflows {
    Workflows::default()
        .with("learns", 1, learns)
        .with("gives_up", 1, gives_up)
}

/// What code learns of a tool, and how a run ends whose code makes nothing of it, while somebody does
/// what `meanwhile` says to the action.
async fn of(tool: &str, meanwhile: impl AsyncFn(&House)) -> (String, RunStatus) {
    let house = House::with(workflows()).await;
    let id = house.call("learns", json!(tool)).await;
    meanwhile(&house).await;
    house.until_status(id, RunStatus::Passed).await;
    let learned = house.output(id).to_string();
    let house = House::with(workflows()).await;
    let id = house.call("gives_up", json!(tool)).await;
    meanwhile(&house).await;
    let run = house.until(id, |run| run.ended.is_some()).await;
    assert_eq!(house.done("remove") + house.done("label"), 0);
    assert!(run.status() == RunStatus::Passed || !house.message(id).is_empty());
    (learned, run.status())
}

/// The action that the only run waits for.
async fn waiting(house: &House, why: Waiting) -> holdpoint_engine::action::ActionId {
    let query = holdpoint_engine::engine::RunQuery {
        limit: 1,
        ..Default::default()
    };
    let page = house.engine.runs(&house.by, &query).expect("the runs");
    let is_so = |found: Option<(_, Waiting)>| found.is_some_and(|(_, other)| other == why);
    let run = house
        .until(page.runs[0].id, |run| is_so(waiting_in(run)))
        .await;
    waiting_in(&run).expect("it waits").0
}

async fn nothing(_: &House) {}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_told_with_its_reason() {
    let reject = async |house: &House| {
        house
            .vote(waiting(house, Waiting::Approval).await, Vote::Reject)
            .await;
    };
    let (learned, end) = of("delete_all", reject).await;
    assert_eq!(learned, r#"{"rejected":"rejected by Ada: seen"}"#);
    assert_eq!(end, RunStatus::Rejected);
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_told_as_expired() {
    let wait = async |house: &House| {
        waiting(house, Waiting::Approval).await;
        house.pass(Duration::from_hours(40 * 24));
    };
    assert_eq!(
        of("delete_all", wait).await,
        (r#""expired""#.to_owned(), RunStatus::Expired)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_world_that_moved_is_told_as_replan_required() {
    let moves = async |house: &House| {
        let action = waiting(house, Waiting::Approval).await;
        house.world.moves();
        house.try_vote(action, Vote::Approve).await.expect("a vote");
    };
    let (learned, end) = of("move_all", moves).await;
    assert!(learned.starts_with(r#"{"replan":"#), "{learned}");
    assert_eq!(end, RunStatus::ReplanRequired);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_target_is_told_with_its_answer() {
    for tool in ["fail", "read_nothing"] {
        let (learned, end) = of(tool, nothing).await;
        assert!(learned.contains(r#""failed":"#), "{learned}");
        assert_eq!(end, RunStatus::Failed);
    }
    let (learned, _) = of("fail", nothing).await;
    assert!(learned.contains(r#""answer":"no""#), "{learned}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_there_is_not_fails_with_the_nearest_name() {
    let (learned, end) = of("set_labl", nothing).await;
    assert!(learned.contains("did you mean set_label?"), "{learned}");
    assert_eq!(end, RunStatus::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_engine_is_told_as_refused() {
    let (learned, end) = of("forbidden", nothing).await;
    assert!(learned.starts_with(r#"{"refused":"#), "{learned}");
    assert!(learned.contains("nobody:has"), "{learned}");
    assert_eq!(end, RunStatus::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_is_called_off_by_itself_is_told_as_cancelled() {
    let cancel = async |house: &House| {
        let action = waiting(house, Waiting::Approval).await;
        let why = Some("not today".to_owned());
        let cancelled = house.engine.cancel(&house.by, action, why).await;
        cancelled.expect("it is called off");
    };
    let (learned, end) = of("delete_all", cancel).await;
    assert_eq!(learned, r#"{"cancelled":"called off: not today"}"#);
    assert_eq!(end, RunStatus::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubt_is_told_when_a_person_has_settled_it() {
    let settle = |happened: bool| {
        async move |house: &House| {
            let action = waiting(house, Waiting::Settlement).await;
            let why = "looked it up".to_owned();
            let by = approver();
            let settled = house.engine.settle(&by, action, happened, why).await;
            settled.expect("it is settled");
        }
    };
    let (learned, end) = of("doubt", settle(false)).await;
    assert!(learned.starts_with(r#"{"settled":"#), "{learned}");
    assert!(learned.contains("looked it up"), "{learned}");
    assert_eq!(end, RunStatus::Failed);
    let (learned, end) = of("doubt", settle(true)).await;
    assert!(learned.starts_with(r#"{"ok":"#), "{learned}");
    assert_eq!(end, RunStatus::Passed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_outcome_nobody_knows_is_no_failure_because_its_tool_is_gone() {
    let pays = || {
        Workflows::default().with("pays", 1, async |ctx: Context, (): ()| {
            let paid = ctx.call("doubt", json!({ "pay": 1 })).await;
            Ok::<_, Failure>(json!(paid.is_ok()))
        })
    };
    let house = House::with(pays()).await;
    let id = house.call("pays", Value::Null).await;
    let in_doubt = |run: &Run| waiting_in(run).is_some_and(|(_, why)| why == Waiting::Settlement);
    house.until(id, in_doubt).await;
    let action = house.waiting(id);
    let mut fewer = tools();
    let all = fewer["tools"].as_object_mut().expect("the tools");
    all.remove("doubt").expect("it was there");
    let locals = locals(&house.world);
    let house = house.die_and_start_with(&fewer, locals, pays()).await;
    let paid = "it was paid".to_owned();
    let settled = house.engine.settle(&approver(), action, true, paid).await;
    settled.expect("it is settled");
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.output(id), json!(true));
}

//! The process dies at every point of a run, and another one goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::RunQuery;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::event::{Note, StepOutcome, Waiting};
use holdpoint_engine::run::{End, Flags, Run, RunId, RunStatus};
use holdpoint_storage::MemoryLog;
use holdpoint_storage::faulty::{Fault, FaultyLog};
use serde_json::{Value, json};

use crate::house::{House, approver, waiting_in};
use crate::skill_files::RELEASE;
use crate::world::World;

/// Some of everything that code can ask for.
async fn everything(ctx: Context, left: u32) -> Result<Value, Failure> {
    let found = ctx.call("get_version", json!({})).await?;
    let label = json!({ "at": ctx.now().await.0, "random": ctx.random().await });
    ctx.call("set_label", label).await?;
    if left == 2 {
        return Err(Failure::continue_as_new(1));
    }
    let (a, b) = (ctx.branch("a"), ctx.branch("b"));
    let (removed, go) = tokio::join!(a.call("delete_all", json!({})), b.wait_for("go"));
    ctx.sleep(Duration::from_secs(10)).await;
    let late = ctx.wait_for_at_most("late", Duration::from_secs(10)).await;
    let failed = ctx.call("fail", json!({})).await.is_err();
    Ok(json!([found, removed?, go, late, failed]))
}

/// A branch fails while the other one waits for people; then comes the way back.
async fn lets_go(ctx: Context, left: u32) -> Result<(), Failure> {
    let (a, b) = (ctx.branch("a"), ctx.branch("b"));
    let call = async {
        a.call("set_label", json!({ "left": left })).await?;
        a.call("delete_all", json!({})).await.map(drop)
    };
    let fail = async {
        b.wait_for("go").await;
        b.call("fail", json!({})).await.map(drop)
    };
    let failed = tokio::try_join!(call, fail);
    ctx.call("remove_label", json!({})).await?;
    failed?;
    Ok(())
}

/// A branch fails while the other one asks for one thing after the other.
async fn races(ctx: Context, left: u32) -> Result<(), Failure> {
    let (a, b) = (ctx.branch("a"), ctx.branch("b"));
    let asks = async {
        for number in 0..left + 2 {
            a.now().await;
            a.call("get_version", json!({ "n": number })).await?;
        }
        Ok(a.wait_for("never").await)
    };
    let fail = async {
        b.random().await;
        b.call("forbidden", json!({})).await
    };
    let failed = tokio::try_join!(asks, fail);
    ctx.call("remove_label", json!({})).await?;
    failed?;
    Ok(())
}

fn workflows() -> Workflows {
    Workflows::default()
        .with("everything", 1, everything)
        .with("lets_go", 1, lets_go)
        .with("races", 1, races)
}

/// What is carried out.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Code(&'static str),
    File,
}

/// What came of it: how it ended, what it answered, and what was done how often.
#[derive(Debug, PartialEq)]
struct Came {
    status: RunStatus,
    output: Value,
    steps: Vec<(String, String)>,
    done: BTreeMap<String, usize>,
}

async fn begin(house: &House, what: What) -> Option<RunId> {
    let flags = Flags {
        allow_writes: true,
        yes: false,
        stage: true,
    };
    let begun = match what {
        What::Code(name) => house.try_call(name, json!(2)).await,
        What::File => house.try_start(RELEASE, flags).await,
    };
    begun.ok()
}

/// The run that goes on last, where there is one.
fn newest(house: &House) -> Option<RunId> {
    let query = RunQuery {
        limit: 1,
        ..RunQuery::default()
    };
    let page = house.engine.runs(&house.by, &query).expect("the runs");
    page.runs.first().map(|run| run.id)
}

fn waits_for_go(run: &Run) -> bool {
    let is_go = |note: &Note| matches!(note, Note::WaitFor { name } if name == "go");
    let mut last = run.notes.values().filter_map(|notes| notes.last());
    let is_first = is_lets_go(run) && !waits_for_people(run);
    run.signals.is_empty() && !is_first && last.any(is_go)
}

/// Nobody decides on what it has before people, and its other branch fails when that is there.
fn is_lets_go(run: &Run) -> bool {
    run.start.origin.name() == "lets_go"
}

fn waits_for_people(run: &Run) -> bool {
    waiting_in(run).is_some_and(|(_, why)| why == Waiting::Approval)
}

/// Plays the people and the time until the run is over, or the engine has stopped.
async fn play(house: &House) -> Option<Arc<Run>> {
    for _ in 0..2000 {
        house.engine.ready().ok()?;
        let run = house.run(newest(house)?);
        if let Some(ended) = &run.ended
            && !matches!(ended.end, End::Continued(_))
        {
            return Some(run);
        }
        for made in run.steps.iter().filter_map(|step| step.open()) {
            match made.waiting {
                // It may have been decided before, or the engine may stop in the middle.
                Some((action, Waiting::Approval)) if !is_lets_go(&run) => {
                    drop(house.try_vote(action, Vote::Approve).await);
                }
                // The tool that refuses has no check: after a death nobody knows that it refused.
                Some((action, Waiting::Settlement)) if made.call.tool == "fail" => {
                    let (by, why) = (approver(), "it never does".to_owned());
                    drop(house.engine.settle(&by, action, false, why).await);
                }
                Some(_) | None => {}
            }
        }
        if waits_for_go(&run) {
            drop(house.send(run.id, "go", json!("go!")).await);
        }
        let soon = Duration::from_millis(20);
        let moved = house
            .engine
            .wait_run(&house.by, run.id, run.events, soon)
            .await;
        if moved.is_ok_and(|now| now.events == run.events) {
            house.pass(Duration::from_secs(20));
        }
    }
    panic!(
        "it is never over: {:#?}",
        newest(house).map(|id| house.run(id))
    );
}

/// One run from its start to its end; with a fault of the log in between, and a new process after it.
async fn story(what: What, fault: Option<(u64, Fault)>) -> (Came, bool) {
    let log = Arc::new(MemoryLog::new());
    let faulty = Arc::new(FaultyLog::new(Arc::clone(&log)));
    let world = Arc::new(World::default());
    let mut house = House::on(log, faulty.clone(), world, workflows()).await;
    if let Some((successes, fault)) = fault {
        faulty.fail_after(successes, fault);
    }
    begin(&house, what).await;
    let mut over = play(&house).await;
    if over.is_none() {
        house = house.die_and_start(workflows()).await;
        if newest(&house).is_none() {
            begin(&house, what).await;
        }
        over = play(&house).await;
    }
    let run = over.expect("a log without faults");
    let open = run.steps.iter().filter(|step| step.open().is_some());
    assert_eq!(open.count(), 0, "{fault:?}");
    let mut done = BTreeMap::new();
    for ((name, key), times) in house.world.counts() {
        if name != "read" {
            assert_eq!(times, 1, "{name} under {key}");
        }
        // What refuses may not have been asked before it was settled.
        if name != "read" && name != "no" {
            *done.entry(name).or_default() += 1;
        }
    }
    let steps = run.steps.iter().filter_map(|step| {
        let (_, report) = step.made()?.ended.as_ref()?;
        let outcome = match &report.outcome {
            StepOutcome::SettledNotDone => &StepOutcome::Failed,
            other => other,
        };
        Some((step.path.to_string(), outcome.name().to_owned()))
    });
    let mut steps: Vec<_> = steps.collect();
    steps.sort();
    let came = Came {
        status: run.status(),
        output: run.ended.as_ref().expect("an end").output.value(),
        steps,
        done,
    };
    (came, faulty.faults() != 0)
}

/// A fault at each append in turn, until there are no more of them.
async fn at_every_append(what: What, fewest: u64) -> Came {
    let (whole, _) = story(what, None).await;
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for successes in 0.. {
            let (came, struck) = story(what, Some((successes, fault))).await;
            assert_eq!(came, whole, "{fault:?} after {successes} appends");
            if !struck {
                assert!(fewest < successes, "only {successes} appends");
                break;
            }
        }
    }
    whole
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_event_of_code_repeats_no_write_and_changes_no_answer() {
    let came = at_every_append(What::Code("everything"), 30).await;
    let found = json!({ "version": "1.2.3", "size": 5 });
    let wanted = json!([found, { "removed": true }, "go!", null, true]);
    assert_eq!((came.status, came.output), (RunStatus::Passed, wanted));
    // Before it went on as a new run it wrote a label too.
    assert_eq!((came.done["label"], came.done["remove"]), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_event_of_a_skill_file_repeats_no_write() {
    let came = at_every_append(What::File, 15).await;
    assert_eq!(came.status, RunStatus::Passed);
    assert_eq!((came.done["label"], came.done["remove"]), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_event_of_code_that_lets_go_of_a_branch_changes_nothing_of_its_end() {
    let came = at_every_append(What::Code("lets_go"), 15).await;
    assert_eq!(came.status, RunStatus::Failed);
    let steps = ["1 passed", "a/1 passed", "a/2 cancelled", "b/2 failed"];
    let seen = came.steps.iter();
    let seen: Vec<_> = seen.map(|(path, how)| format!("{path} {how}")).collect();
    assert_eq!(seen, steps);
    assert_eq!((came.done["label"], came.done["remove"]), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_event_of_branches_that_race_ends_in_one_of_their_ends() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for successes in 0.. {
            let race = What::Code("races");
            let (came, struck) = story(race, Some((successes, fault))).await;
            assert_eq!(came.status, RunStatus::Failed, "{fault:?} {successes}");
            assert_eq!(came.done["remove"], 1, "{fault:?} {successes}");
            if !struck {
                break;
            }
        }
    }
}

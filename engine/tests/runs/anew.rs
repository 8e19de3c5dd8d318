//! The process dies around a step of which nothing was sent: what goes on judges that step again.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::engine::Resumption;
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::{Flags, RunId, RunStatus};
use holdpoint_storage::MemoryLog;
use holdpoint_storage::faulty::{Fault, FaultyLog};

use crate::house::House;
use crate::world::World;

const YES: Flags = Flags {
    allow_writes: false,
    yes: true,
    stage: false,
};

fn file(lines: &str) -> String {
    format!(
        "---\nname: a\ndescription: b\n---\n\n### Step 1 — Read\n- intent: read\n- action: get_version {{}}\n\n\
         ### Step 2 — Write\n- intent: write\n{lines}\n"
    )
}

/// Starts a run, lets the log fail after some appends, and opens what is there again. Answers the run where
/// it had begun, and whether the log failed at all.
async fn dies(text: &str, flags: Flags, after: u64, fault: Fault) -> (House, Option<RunId>, bool) {
    let log = Arc::new(MemoryLog::new());
    let faulty = Arc::new(FaultyLog::new(Arc::clone(&log)));
    let world = Arc::new(World::default());
    let house = House::on(log, faulty.clone(), world, Workflows::default()).await;
    faulty.fail_after(after, fault);
    let id = house.try_start(text, flags).await.ok();
    if let Some(id) = id {
        house.until_over_or_stopped(id).await;
    }
    let struck = faulty.faults() != 0;
    (house.die_and_start(Workflows::default()).await, id, struck)
}

async fn resume(house: &House, id: RunId, flags: Flags) {
    let how = Resumption {
        flags: flags.into(),
        ..Resumption::default()
    };
    let resumed = house.engine.resume_run(&house.by, id, how).await;
    resumed.expect("it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_filled_or_judged_is_sent_by_no_resumption_wherever_the_process_died() {
    for lines in [
        "- action: set_label {\"label\": \"{{nobody}}\"}",
        "- when: vars.limit > 5\n- action: set_label {\"label\": \"a\"}",
    ] {
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            for after in 0.. {
                let (house, id, struck) = dies(&file(lines), YES, after, fault).await;
                if let Some(id) = id {
                    house.until_status(id, RunStatus::Failed).await;
                    resume(&house, id, YES).await;
                    house.until_status(id, RunStatus::Failed).await;
                    let words = house.message(id);
                    assert!(words.starts_with("step 2: "), "{words}");
                }
                assert_eq!(house.done("label"), 0, "{fault:?} after {after} appends");
                if !struck {
                    break;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_was_being_withheld_when_the_process_died_is_made_once_it_is_allowed() {
    let text = file("- action: set_label {\"label\": \"a\"}");
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for after in 0.. {
            let (house, id, struck) = dies(&text, Flags::default(), after, fault).await;
            if let Some(id) = id {
                house.until_status(id, RunStatus::Failed).await;
                assert_eq!(house.done("label"), 0);
                resume(&house, id, YES).await;
                house.until_status(id, RunStatus::Passed).await;
                assert_eq!(house.done("label"), 1, "{fault:?} after {after} appends");
            }
            if !struck {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_judged_by_the_text_that_came_wherever_the_process_died() {
    let text = file(concat!(
        "- action: set_words {}\n- assert: body contains \"\"path\": \"/said\",  \"\"\n",
        "- assert: json.z == 7",
    ));
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for after in 0.. {
            let (house, id, struck) = dies(&text, YES, after, fault).await;
            if let Some(id) = id {
                let mut run = house.run(id);
                while run.ended.is_none() {
                    // Where the answer was lost, the books are asked after a while.
                    house.pass(Duration::from_secs(20));
                    let soon = Duration::from_millis(20);
                    let moved = house.engine.wait_run(&house.by, id, run.events, soon).await;
                    run = moved.expect("the run");
                }
                assert_eq!(
                    run.status(),
                    RunStatus::Passed,
                    "{fault:?} {after}: {run:#?}"
                );
                assert_eq!(house.done("say"), 1, "{fault:?} after {after} appends");
            }
            if !struck {
                break;
            }
        }
    }
}

//! The real program on a disk that kills it or fails: at calls of its start, of a submission, a vote,
//! a commit record, a result, a reconciliation, and of its stop.
//!
//! The store alone is killed and failed at every one of its calls in `storage/tests/crash`; here it is
//! the whole path, with a shop that has no idempotency and counts. A sample of the calls is tried;
//! `HOLDPOINT_CALLS=all` tries each.

#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/client.rs"]
mod client;
#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/house.rs"]
mod house;
#[expect(dead_code, reason = "the tests of the store use more of it")]
#[path = "preload/library.rs"]
mod library;
#[path = "disk/program.rs"]
mod program;
#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/setup.rs"]
mod setup;
#[path = "../examples/refunds/shop/mod.rs"]
mod shop;
#[path = "disk/stage.rs"]
mod stage;

use std::os::unix::process::ExitStatusExt;

use client::Failure;
use library::{Act, Disk, Errno, How, Seen, calls};
use program::Program;
use stage::{Case, Stage};

/// What is tried of the calls of a story without `HOLDPOINT_CALLS=all`: each of so many.
const SAMPLE: usize = 4;

fn sample(calls: u64) -> Vec<u64> {
    let all = std::env::var("HOLDPOINT_CALLS").is_ok_and(|value| value == "all");
    let step = if all { 1 } else { SAMPLE };
    (1..=calls).step_by(step).collect()
}

/// One start, one story as far as it goes, one stop; returns whether the program was killed.
async fn live(stage: &Stage, case: &mut Case, disk: &Disk) -> Result<bool, Failure> {
    // Either of the two calls gets no answer, so that there is a doubt to resolve.
    stage.shop.switches.lose_answers(1);
    let ended = match Program::start(&case.data, Some(disk))? {
        Err(ended) => ended,
        Ok(program) => {
            stage.tell(case, &program).await?;
            program.stop()?
        }
    };
    Ok(ended.status.signal() == Some(9))
}

/// The next start needs no hand; the story is told to its end, and each thing happened once.
async fn heal(stage: &Stage, case: &mut Case) -> Result<(), Failure> {
    stage.shop.switches.lose_answers(0);
    let program = Program::start(&case.data, None)?.map_err(|ended| ended.said)?;
    if let Some(why) = stage.tell(case, &program).await? {
        return Err(format!("a healthy program broke off: {why}").into());
    }
    stage.check(case, &program).await?;
    let ended = program.stop()?;
    assert!(ended.status.success(), "{ended:?}");
    Ok(())
}

/// How many calls a whole life has.
async fn count(stage: &mut Stage) -> Result<u64, Failure> {
    let mut case = stage.case()?;
    let disk = case.watch();
    assert!(!live(stage, &mut case, &disk).await?, "nobody kills it");
    assert_eq!(case.acknowledged(), 3, "the story is told to its end");
    let all = calls(&disk.trace());
    heal(stage, &mut case).await?;
    case.remove()?;
    Ok(all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i23_killed_at_a_call_to_the_disk_the_program_needs_no_hand_and_calls_nothing_twice()
-> Result<(), Failure> {
    let mut stage = Stage::open().await?;
    let all = count(&mut stage).await?;
    let (mut killed, mut killed_twice) = (0, 0);
    for (round, call) in sample(all).into_iter().enumerate() {
        let mut case = stage.case()?;
        let disk = case.watch().act(Act::KillBefore(call));
        killed += u64::from(live(&stage, &mut case, &disk).await?);
        // Every other time the next start is killed as well, each time somewhere else.
        if round % 2 == 0 {
            let disk = case.watch().act(Act::KillAfter(1 + call % 40));
            killed_twice += u64::from(live(&stage, &mut case, &disk).await?);
        }
        heal(&stage, &mut case).await?;
        case.remove()?;
    }
    println!("a life has {all} calls; killed at {killed}, and {killed_twice} times again");
    assert!(killed != 0 && killed_twice != 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i23_killed_in_its_very_first_start_the_program_needs_no_hand() -> Result<(), Failure> {
    let mut stage = Stage::open().await?;
    let mut killed = 0;
    for call in sample(400) {
        let case = stage.case()?;
        std::fs::remove_dir_all(case.data.join("log"))?;
        std::fs::create_dir(case.data.join("log"))?;
        let disk = case.watch().act(Act::KillBefore(call));
        let started = Program::start(&case.data, Some(&disk))?;
        let done = started.is_ok();
        if let Ok(program) = started {
            program.kill()?;
        } else {
            killed += 1;
        }
        let program = Program::start(&case.data, None)?.map_err(|ended| ended.said)?;
        let ended = program.stop()?;
        assert!(ended.status.success(), "{ended:?}");
        case.remove()?;
        if done {
            break;
        }
    }
    println!("killed in {killed} first starts");
    assert!(killed != 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i22_after_a_call_to_the_disk_failed_nothing_is_taken_and_nothing_is_called()
-> Result<(), Failure> {
    const KINDS: [(Errno, How); 4] = [
        (Errno::Io, How::Once),
        (Errno::Full, How::Ever),
        (Errno::Full, How::Torn),
        (Errno::Io, How::Ever),
    ];
    let mut stage = Stage::open().await?;
    let all = count(&mut stage).await?;
    let (mut failed, mut refused) = (0, 0);
    for (call, (error, how)) in sample(all).into_iter().zip(KINDS.into_iter().cycle()) {
        let mut case = stage.case()?;
        let at = call;
        let disk = case.watch().hear_connections();
        let disk = disk.act(Act::Fail { at, error, how });
        match Program::start(&case.data, Some(&disk))? {
            Err(ended) => {
                refused += 1;
                assert!(ended.said.contains("error: "), "no words: {ended:?}");
                assert!(!ended.said.contains("panicked"), "{ended:?}");
            }
            Ok(program) => {
                stage.tell(&mut case, &program).await?;
                let calls = stage.calls(&case);
                if has_failed_for_good(&disk.trace()) {
                    failed += 1;
                    assert!(
                        !stage.takes(&case, &program).await?,
                        "call {call} {error:?} {how:?}"
                    );
                    assert_eq!(stage.calls(&case), calls, "call {call} {error:?} {how:?}");
                }
                let ended = program.stop()?;
                assert!(!ended.said.contains("panicked"), "{ended:?}");
            }
        }
        nothing_left_after_a_failure(&disk.trace());
        heal(&stage, &mut case).await?;
        case.remove()?;
    }
    println!(
        "a life has {all} calls; {failed} failures while it served, {refused} while it started"
    );
    assert!(failed != 0 && refused != 0);
    Ok(())
}

/// Whether a write or a sync of the log failed. The lock and the reserve hold nothing of it.
fn is_failure_of_the_log(seen: &Seen) -> bool {
    match seen {
        Seen::Call {
            kind, what, failed, ..
        } => {
            *failed
                && "ws".contains(*kind)
                && !what.ends_with(" lock")
                && !what.ends_with(" reserve")
        }
        Seen::Mark(_) => false,
    }
}

fn has_failed_for_good(trace: &[Seen]) -> bool {
    trace.iter().any(is_failure_of_the_log)
}

/// No request that changes anything left the program after a write or a sync of the log had failed.
/// One may, where it was a sync of sled alone: its commit record was durable before, and the log hears
/// of it with the next sync of its own.
fn nothing_left_after_a_failure(trace: &[Seen]) {
    let Some(at) = trace.iter().position(is_failure_of_the_log) else {
        return;
    };
    let is_sleds = matches!(&trace[at], Seen::Call { what, .. } if what == "fsync store/db");
    let is_request =
        |said: &str| said.starts_with("POST /refunds") || said.starts_with("POST /orders");
    let sent = trace[at..].iter();
    let sent = sent.filter(|seen| matches!(seen, Seen::Mark(said) if is_request(said)));
    let sent = sent.count();
    assert!(
        sent <= usize::from(is_sleds),
        "{sent} requests left after {:?}",
        trace[at]
    );
}

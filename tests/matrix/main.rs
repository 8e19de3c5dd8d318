//! Every step of one action, from its submission to the end of a doubt, with every fault that can
//! strike there; and a second fault in what follows. Then the same for one that is scheduled, held up
//! by the pause switch and carried out by a worker, and for one that is sent again.
//!
//! The engine and the HTTP service are the real ones, in this process; the log, the target, the clock,
//! the requests and the file of the secret are the test's. `MATRIX_PAIRS=all` runs all pairs.

mod case;
mod clients;
mod hooks;
mod kept;
mod log;
mod pulled;
mod shop;
mod steps;
mod worker;
mod world;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use case::Case;
use shop::Mood;
use steps::{Fault, Plot};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Cases at once: a case may hold up one thread.
const AT_ONCE: usize = 10;

/// Of so many pairs, one is run unless all are asked for. Shares no factor with the number of steps,
/// so that each step has its turn.
const ONE_IN: usize = 23;

/// Every case of a plot with one fault.
fn cases(plot: Plot) -> Vec<Case> {
    let mut cases = Vec::new();
    for step in 1..=plot.steps() {
        for fault in Fault::ALL {
            if plot.impossible(step, fault).is_none() {
                let case = Case::new(plot, step, fault);
                cases.push(case);
                if case.mood != Mood::Kind {
                    cases.push(Case {
                        mood: Mood::FailsOnce,
                        ..case
                    });
                }
            }
        }
    }
    cases
}

/// Runs the cases; answers at which steps the second fault came to strike, and how often.
async fn run(cases: Vec<Case>) -> BTreeMap<u8, usize> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for case in cases {
        let place = Arc::clone(&places).acquire_owned().await.expect("a place");
        running.spawn(async move {
            let again = case.run().await;
            drop(place);
            case.second.filter(|_| again)
        });
    }
    let mut struck = BTreeMap::new();
    let mut failed = 0;
    // Each has said in its panic what was wrong.
    while let Some(ended) = running.join_next().await {
        match ended {
            Ok(Some(death)) => *struck.entry(death.step).or_default() += 1,
            Ok(None) => {}
            Err(_panic) => failed += 1,
        }
    }
    assert_eq!(failed, 0, "cases that went wrong");
    struck
}

fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("a line");
}

/// Runs every cell of a plot, and says what is left out and why. Answers how many cells there are.
async fn whole(plot: Plot) -> usize {
    let cases = cases(plot);
    let mut cells = 0;
    let mut reasons = Vec::new();
    for step in 1..=plot.steps() {
        for fault in Fault::ALL {
            match plot.impossible(step, fault) {
                Some(reason) => reasons.push(format!("{fault:?} at {step}: {reason}")),
                None => cells += 1,
            }
        }
    }
    let count = cases.len();
    run(cases).await;
    say(&format!(
        "matrix, {plot:?}: {cells} cells in {count} cases, {} impossible:\n  {}",
        reasons.len(),
        reasons.join("\n  ")
    ));
    cells + reasons.len()
}

/// Runs one of so many pairs of a plot, or all. At least this part of a hundred must come to its
/// second step: of the others, the first fault leaves nothing to come to it.
async fn pairs(plot: Plot, one_in: usize, least: usize) {
    let all = std::env::var("MATRIX_PAIRS").is_ok_and(|wish| wish == "all");
    let pairs = cases(plot).into_iter().flat_map(|case| {
        let deaths = plot.deaths().into_iter();
        deaths.map(move |death| Case {
            second: Some(death),
            ..case
        })
    });
    let pairs: Vec<Case> = pairs
        .enumerate()
        .filter(|(number, _)| all || number % one_in == 0)
        .map(|(_, pair)| pair)
        .collect();
    let count = pairs.len();
    let steps = run(pairs).await;
    let struck: usize = steps.values().sum();
    say(&format!(
        "matrix, {plot:?}: {count} pairs, in {struck} of them the second step was reached: {steps:?}"
    ));
    assert!(
        least * count <= 100 * struck,
        "{struck} of {count} are less than {least} %"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 20)]
async fn i23_every_fault_at_every_step_ends_as_it_must() {
    assert_eq!(whole(Plot::Called).await, 238);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 20)]
async fn i12_i23_every_fault_at_every_step_of_a_schedule_a_pause_and_a_lease_ends_as_it_must() {
    assert_eq!(whole(Plot::Pulled).await, 175);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 20)]
async fn i23_a_second_death_in_what_follows_changes_nothing() {
    pairs(Plot::Called, ONE_IN, 33).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 20)]
async fn i12_i23_a_second_death_of_what_a_worker_pulls_changes_nothing() {
    pairs(Plot::Pulled, 2 * ONE_IN + 1, 35).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 20)]
async fn i02_i23_every_fault_at_every_step_of_a_second_send_ends_as_it_must() {
    assert_eq!(whole(Plot::Kept).await, 133);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 20)]
async fn i02_i23_a_second_death_around_a_second_send_changes_nothing() {
    pairs(Plot::Kept, 2 * ONE_IN + 1, 55).await;
}

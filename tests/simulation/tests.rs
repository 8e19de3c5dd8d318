//! What is proved.

use std::sync::Arc;

use holdpoint_storage::{MemoryLog, conformance};

use crate::clock::SimClock;
use crate::dice::Dice;
use crate::disk::{Parts, SimDisk};
use crate::run::{Sum, many, one};
use crate::weather::Weather;
use crate::world::Broken;

/// How many seeds the short version lives through.
const SEEDS: u64 = 2_000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Fails with the first seed that is wrong, what happened last in it, and how to see all of it.
fn must_hold(sum: &Sum) {
    if let Some((seed, what, trace)) = sum.wrong.first() {
        let last = trace.len().saturating_sub(60);
        panic!(
            "seed {seed}: {what}\n\n{}\n\nreplay: SIM_SEED={seed} cargo test --test simulation one -- --nocapture",
            trace[last..].join("\n")
        );
    }
}

#[test]
fn i01_to_i27_hold_under_every_fault() {
    if variable("SIM_SEED").is_some() {
        return;
    }
    let long = variable("SIM_SEEDS");
    let first = variable("SIM_FIRST").unwrap_or(0);
    let sum = many(first, long.unwrap_or(SEEDS), Broken::Nothing);
    must_hold(&sum);
    println!("{}", sum.report());
    // Fewer seeds need not meet everything.
    let mut wrong = sum.missed().wrong;
    wrong.extend(sum.never_struck());
    assert!(
        sum.seeds < SEEDS || wrong.is_empty(),
        "{}",
        wrong.join("\n")
    );
}

#[test]
fn one_seed_as_told() {
    let Some(seed) = variable("SIM_SEED") else {
        return;
    };
    let lived = one(seed, Broken::Nothing);
    println!("{}", lived.trace.join("\n"));
    assert_eq!(lived.wrong, None, "seed {seed}");
}

#[test]
fn seeds_that_once_found_something_hold() {
    let known = include_str!("seeds.txt").lines();
    let seeds = known.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    for seed in seeds {
        must_hold(&many(seed, 1, Broken::Nothing));
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_bytes() {
    for seed in 0..variable("SIM_TWICE").unwrap_or(40) {
        let (first, second) = (one(seed, Broken::Nothing), one(seed, Broken::Nothing));
        let differs = first
            .trace
            .iter()
            .zip(&second.trace)
            .find(|(left, right)| left != right);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.digest, second.digest, "seed {seed}");
    }
}

#[test]
fn the_simulated_disk_keeps_the_promises_of_a_log() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(conformance::all(async || {
        let clock = Arc::new(SimClock::default());
        clock.begin();
        let dice = Arc::new(Dice::new(7, "disk"));
        let weather = Arc::new(Weather::drawn(&dice));
        let parts = Parts {
            dice,
            weather,
            clock,
            lies: false,
        };
        Arc::new(SimDisk::over(MemoryLog::new(), parts)) as Arc<_>
    }));
}

//! Every scenario under many schedules.
//!
//! `HOLDPOINT_SCHEDULES` sets how many of each; a failure prints its schedule, and
//! `HOLDPOINT_RACE=<schedule> cargo nextest run -p holdpoint-races NAME` repeats it.

use std::sync::Arc;

use holdpoint_races::scenarios;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// A thread of the log goes deep into the store.
const STACK_BYTES: usize = 1 << 20;

/// As many schedules again that change threads rarely, at moments that hurt.
const CHANGES: usize = 3;

fn explore(schedules: usize, scenario: impl Fn() + Send + Sync + 'static) {
    if let Ok(schedule) = std::env::var("HOLDPOINT_RACE") {
        return shuttle::replay(scenario, &schedule);
    }
    let set = std::env::var("HOLDPOINT_SCHEDULES").ok();
    let schedules = set.map_or(schedules, |text| {
        text.parse().expect("a number of schedules")
    });
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    let scenario = Arc::new(scenario);
    let again = Arc::clone(&scenario);
    let random = RandomScheduler::new(schedules);
    Runner::new(random, config.clone()).run(move || scenario());
    let rare = PctScheduler::new(CHANGES, schedules);
    Runner::new(rare, config).run(move || again());
}

#[test]
fn i05_under_any_schedule_what_is_told_is_durable_and_nothing_else_is_seen() {
    explore(1_000, scenarios::appends());
}

#[test]
fn i22_under_any_schedule_nothing_is_taken_after_the_device_failed() {
    explore(1_000, scenarios::failing_device());
}

#[test]
fn i04_under_any_schedule_an_action_has_one_outcome() {
    explore(1_000, scenarios::votes());
}

#[test]
fn i27_under_any_schedule_a_change_wakes_those_who_wait() {
    explore(2_000, scenarios::waiters);
}

#[test]
fn i27_under_any_schedule_the_scheduler_sees_what_is_due() {
    explore(2_000, scenarios::inbox);
}

#[test]
fn i22_under_any_schedule_the_stop_holds() {
    explore(2_000, scenarios::stop);
}

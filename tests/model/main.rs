//! A small world in which everything that can happen does: every order of every step, to the end.
//!
//! The action in it is the real one: each wish goes to the core's `decide`, and each event to its `evolve`,
//! so that this cannot be about another engine than ours. Around it, in [`world`], is what the core knows
//! nothing of: a log that is on the disk or not yet, a process that dies, people and the engine who decide
//! at once on what they last read, a target of each kind, and a network. [`steps`] are what may happen
//! next and [`take`] what follows, [`properties`] what must hold, [`bites`] the mistakes that must be found.
//!
//! What is taken as given: a call arrives within its lifetime, a source of truth sees what is older than its
//! lag, a target that keeps keys answers a key as it did before, and only the first send is ever doubled.
//!
//! `MODEL_BOUND=2` looks further: more deaths, more that comes twice, more time.

mod bites;
mod kept;
mod properties;
mod steps;
mod take;
mod wishes;
mod world;

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use properties::Small;
use steps::{Bounds, Mistake};

/// How far is looked, by the number that `MODEL_BOUND` holds.
fn bounds() -> Bounds {
    let bound = std::env::var("MODEL_BOUND").map_or(Ok(1), |text| text.parse());
    let bound: u8 = bound.expect("MODEL_BOUND is a small number");
    Bounds {
        crashes: bound,
        doubles: bound.min(2),
        silences: bound,
        refusals: bound,
        all_kinds: 1 < bound,
        lazy_until: bound.saturating_sub(1).saturating_mul(2),
    }
}

/// Looks at every world, until something is wrong; what that is, with the way to it.
#[expect(
    clippy::print_stdout,
    reason = "the figures are what a long look is for"
)]
fn look(mistake: Option<Mistake>) -> Vec<(&'static str, String)> {
    let begun = Instant::now();
    let bounds = bounds();
    let checked = Small { bounds, mistake }
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{} worlds, {} steps between them, {} deep, {:.1} s",
        checked.unique_state_count(),
        checked.state_count(),
        checked.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    let met = checked.discoveries();
    let mut wrong = Vec::new();
    for property in checked.model().properties() {
        let path = met.get(property.name);
        if property.expectation.discovery_is_failure() {
            let told = |path: &stateright::Path<_, _>| format!("{:?}", path.clone().into_actions());
            wrong.extend(path.map(|path| (property.name, told(path))));
        } else if path.is_none() && mistake.is_none() && checked.is_done() {
            wrong.push((property.name, "is never met".to_owned()));
        }
    }
    wrong.sort_by_key(|(_, told)| *told == "is never met");
    wrong
}

#[test]
fn i01_i02_i03_i05_i08_i09_i10_i11_hold_in_every_order_of_every_step_of_a_small_world() {
    let wrong = look(None);
    let told: Vec<_> = wrong
        .iter()
        .map(|(name, told)| format!("not so: {name}: {told}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", told.join("\n"));
}

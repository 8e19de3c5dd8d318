//! The events of runs that came after the first ones.

use super::{are_read, begun, waiting};
use crate::action::Instigator;
use crate::run::Event;
use crate::run::event::{Verdict, Waiting};
use crate::tool::EffectClass;

#[test]
fn i26_what_the_gate_says_of_somebody_who_may_not_is_still_read() {
    let events = EffectClass::ALL.map(|class| begun(Verdict::NeedsAuthority(class), class));
    are_read("runs-1-authority.txt", &events);
}

#[test]
fn i26_that_a_step_waits_for_its_call_or_for_a_secret_is_still_read() {
    let events = [Waiting::Call, Waiting::Secret].map(waiting);
    are_read("runs-1-waiting.txt", &events);
}

#[test]
fn i26_who_made_a_run_go_on_is_still_read() {
    let by = Instigator {
        id: "key_nightly".to_owned(),
        name: "nightly".to_owned(),
        owner: Some("per_otto".to_owned()),
    };
    are_read("runs-1-instigated.txt", &[Event::Instigated { by }]);
}

//! The events of runs that came after the first ones.

use super::{are_read, begun};
use crate::run::event::Verdict;
use crate::tool::EffectClass;

#[test]
fn i26_what_the_gate_says_of_somebody_who_may_not_is_still_read() {
    let events = EffectClass::ALL.map(|class| begun(Verdict::NeedsAuthority(class), class));
    are_read("runs-1-authority.txt", &events);
}

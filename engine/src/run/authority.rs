//! What somebody may let out of runs without asking people.
//!
//! One rule for the flags of a run, for a step at the gate, and for a step right before it is made: what a
//! skill file says of its own steps gives nobody a right.

use crate::identity::{LOCAL, Principal, Role};
use crate::tool::EffectClass;

/// The scope that a key needs to start runs.
pub const SCOPE_RUNS: &str = "runs";
/// The scope that a key needs besides to let idempotent writes out.
pub const SCOPE_RUNS_WRITES: &str = "runs:writes";
/// The scope that a key needs besides to let destructive calls out.
pub const SCOPE_RUNS_DESTRUCTIVE: &str = "runs:destructive";

/// The worst calls that somebody may let out of runs; whoever may let out none may make no runs at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority(Option<EffectClass>);

impl Authority {
    /// That of nobody.
    pub const NONE: Self = Self(None);
    /// That of whoever has the data folder in hand.
    pub const ALL: Self = Self(Some(EffectClass::Destructive));

    /// That of a principal, as it is now: all of it for a person who asks for actions, and for others what
    /// their scopes say.
    pub fn of(by: &Principal) -> Self {
        if by.id == LOCAL || by.has(Role::Requester) {
            return Self::ALL;
        }
        let held = |class: &EffectClass| by.scopes.contains(scope_of(*class));
        Self(EffectClass::ALL.into_iter().take_while(held).last())
    }

    /// The first class up to `effect` that it does not cover; none where it lets such a call out.
    pub fn lacks(self, effect: EffectClass) -> Option<EffectClass> {
        let needed = EffectClass::ALL
            .into_iter()
            .filter(|class| *class <= effect);
        needed.into_iter().find(|class| self.0 < Some(*class))
    }
}

/// The scope with which a key lets calls of a class out, besides those of the milder ones.
pub fn scope_of(effect: EffectClass) -> &'static str {
    match effect {
        EffectClass::Read => SCOPE_RUNS,
        EffectClass::IdempotentWrite => SCOPE_RUNS_WRITES,
        EffectClass::Destructive => SCOPE_RUNS_DESTRUCTIVE,
    }
}

/// What is needed to let calls of a class out, in words.
pub(crate) fn needs(effect: EffectClass) -> String {
    format!(
        "the role requester, or a key with the scope {}",
        scope_of(effect)
    )
}

//! The replay gate: what of a run may be made.
//!
//! | effect class | no flag | `--allow-writes` | `--yes` | `--stage` |
//! |---|---|---|---|---|
//! | `read` | made | made | made | made |
//! | `idempotent-write` | withheld | made | made | before people, unless a flag allows it |
//! | `destructive` | withheld | withheld | made | before people, unless a flag allows it |
//!
//! A step that carries the hash of exactly this call needs no flag; one that carries another hash is
//! never made, whatever the flags. The safety class of a tool holds besides: what the tools file puts
//! before people stays there under every flag.

use super::event::{Flags, Verdict};
use crate::tool::EffectClass;

/// What a step says of its own approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approved {
    /// Nothing.
    NotSaid,
    /// The hash of exactly this call.
    ThisCall,
    /// The hash of another call.
    AnotherCall,
}

/// Whether a step may be made.
pub fn gate(effect: EffectClass, approved: Approved, flags: Flags) -> Verdict {
    match approved {
        Approved::AnotherCall => return Verdict::NotAsApproved,
        Approved::ThisCall => return Verdict::Go,
        Approved::NotSaid => {}
    }
    let (allowed, needs) = match effect {
        EffectClass::Read => return Verdict::Go,
        EffectClass::IdempotentWrite => {
            (flags.allow_writes || flags.yes, Verdict::NeedsAllowWrites)
        }
        EffectClass::Destructive => (flags.yes, Verdict::NeedsYes),
    };
    if allowed {
        Verdict::Go
    } else if flags.stage {
        Verdict::Stage
    } else {
        needs
    }
}

impl Verdict {
    /// The flag that would allow the step; none where it is allowed or no flag would.
    pub fn flag(self) -> Option<&'static str> {
        match self {
            Self::NeedsAllowWrites => Some("--allow-writes"),
            Self::NeedsYes => Some("--yes"),
            Self::Go | Self::Stage | Self::NotAsApproved => None,
        }
    }

    /// Whether something is called, now or once people have decided.
    pub fn calls(self) -> bool {
        match self {
            Self::Go | Self::Stage => true,
            Self::NeedsAllowWrites | Self::NeedsYes | Self::NotAsApproved => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> impl Iterator<Item = Flags> {
        (0..8u8).map(|bits| Flags {
            allow_writes: bits & 1 != 0,
            yes: bits & 2 != 0,
            stage: bits & 4 != 0,
        })
    }

    #[test]
    fn reads_always_run() {
        for flags in flags() {
            let verdict = gate(EffectClass::Read, Approved::NotSaid, flags);
            assert_eq!(verdict, Verdict::Go, "{flags:?}");
        }
    }

    #[test]
    fn a_write_goes_with_the_flag_of_its_class_only() {
        for flags in flags() {
            let write = gate(EffectClass::IdempotentWrite, Approved::NotSaid, flags);
            let destructive = gate(EffectClass::Destructive, Approved::NotSaid, flags);
            assert_eq!(write == Verdict::Go, flags.allow_writes || flags.yes);
            assert_eq!(destructive == Verdict::Go, flags.yes);
            for (verdict, flag) in [(write, "--allow-writes"), (destructive, "--yes")] {
                if verdict != Verdict::Go {
                    assert_eq!(verdict == Verdict::Stage, flags.stage, "{flags:?}");
                    assert_eq!(verdict.flag(), (!flags.stage).then_some(flag));
                }
            }
        }
    }

    #[test]
    fn the_hash_of_another_call_is_refused_whatever_the_flags() {
        for flags in flags() {
            for effect in EffectClass::ALL {
                assert_eq!(gate(effect, Approved::ThisCall, flags), Verdict::Go);
                let verdict = gate(effect, Approved::AnotherCall, flags);
                assert_eq!(verdict, Verdict::NotAsApproved);
                assert!(!verdict.calls());
            }
        }
    }
}

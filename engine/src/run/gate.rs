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
//!
//! A file is written by whoever sends it, so neither its hash nor a milder class that it gives a step lets
//! out more than whoever started the run may let out: see [`Authority`].

use super::authority::Authority;
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

/// What a repeat of a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// As the file says, where it says anything; this is what the flags are asked about.
    pub said: EffectClass,
    /// As the tools file or the tool's name says.
    pub usual: EffectClass,
}

impl Effects {
    /// The worse of the two: what somebody must be allowed to let out.
    pub fn worst(self) -> EffectClass {
        self.said.max(self.usual)
    }
}

/// Whether a step may be made in a run of somebody with this authority.
pub fn gate(effects: Effects, approved: Approved, flags: Flags, authority: Authority) -> Verdict {
    let wished = wished(effects.said, approved, flags);
    if wished == Verdict::NotAsApproved {
        return wished;
    }
    if let Some(class) = authority.lacks(EffectClass::Read) {
        return Verdict::NeedsAuthority(class);
    }
    match authority.lacks(effects.worst()) {
        Some(_) if wished == Verdict::Go && flags.stage => Verdict::Stage,
        Some(class) if wished == Verdict::Go => Verdict::NeedsAuthority(class),
        Some(_) | None => wished,
    }
}

/// What the flags and the file say.
fn wished(effect: EffectClass, approved: Approved, flags: Flags) -> Verdict {
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
            Self::Go | Self::Stage | Self::NotAsApproved | Self::NeedsAuthority(_) => None,
        }
    }

    /// Whether something is called, now or once people have decided.
    pub fn calls(self) -> bool {
        match self {
            Self::Go | Self::Stage => true,
            Self::NeedsAllowWrites
            | Self::NeedsYes
            | Self::NotAsApproved
            | Self::NeedsAuthority(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Principal;

    fn flags() -> impl Iterator<Item = Flags> {
        (0..8u8).map(|bits| Flags {
            allow_writes: bits & 1 != 0,
            yes: bits & 2 != 0,
            stage: bits & 4 != 0,
        })
    }

    fn honest(effect: EffectClass) -> Effects {
        Effects {
            said: effect,
            usual: effect,
        }
    }

    fn asked(effect: EffectClass, approved: Approved, flags: Flags) -> Verdict {
        gate(honest(effect), approved, flags, Authority::ALL)
    }

    #[test]
    fn reads_always_run() {
        for flags in flags() {
            let verdict = asked(EffectClass::Read, Approved::NotSaid, flags);
            assert_eq!(verdict, Verdict::Go, "{flags:?}");
        }
    }

    #[test]
    fn a_write_goes_with_the_flag_of_its_class_only() {
        for flags in flags() {
            let write = asked(EffectClass::IdempotentWrite, Approved::NotSaid, flags);
            let destructive = asked(EffectClass::Destructive, Approved::NotSaid, flags);
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
                assert_eq!(asked(effect, Approved::ThisCall, flags), Verdict::Go);
                let verdict = asked(effect, Approved::AnotherCall, flags);
                assert_eq!(verdict, Verdict::NotAsApproved);
                assert!(!verdict.calls());
            }
        }
    }

    #[test]
    fn no_file_lets_out_more_than_whoever_started_the_run_may_let_out() {
        use EffectClass::{Destructive, IdempotentWrite, Read};
        let of = |scopes: &[&str]| {
            let mut by =
                Principal::local("agent", scopes.iter().map(|s| (*s).to_owned()).collect());
            by.id = "key_agent".to_owned();
            by.roles.clear();
            Authority::of(&by)
        };
        let authorities = [
            (of(&[]), None),
            (of(&["runs:writes", "runs:destructive"]), None),
            (of(&["runs"]), Some(Read)),
            (of(&["runs", "runs:destructive"]), Some(Read)),
            (of(&["runs", "runs:writes"]), Some(IdempotentWrite)),
            (
                of(&["runs", "runs:writes", "runs:destructive"]),
                Some(Destructive),
            ),
        ];
        for (authority, most) in authorities {
            for (said, usual) in [
                (Read, IdempotentWrite),
                (Read, Destructive),
                (Destructive, Read),
            ] {
                let effects = Effects { said, usual };
                for approved in [Approved::NotSaid, Approved::ThisCall] {
                    for flags in flags() {
                        let verdict = gate(effects, approved, flags, authority);
                        let is_covered = Some(effects.worst()) <= most;
                        assert!(
                            is_covered || verdict != Verdict::Go,
                            "{authority:?} {effects:?}"
                        );
                        assert!(most.is_some() || !verdict.calls(), "{authority:?}");
                        if let Verdict::NeedsAuthority(class) = verdict {
                            assert!(most < Some(class), "{authority:?} {class:?}");
                        }
                    }
                }
            }
        }
    }
}

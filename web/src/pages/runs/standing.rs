//! What somebody may do with a run.

use std::borrow::Cow;

use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::run::authority::Authority;
use holdpoint_engine::run::{Flags, Run, RunStatus};
use holdpoint_engine::tool::EffectClass;

use crate::display::Shown;

const ALLOW_WRITES: &str = "Allow idempotent writes";
const YES: &str = "Allow destructive steps as well";

/// What the form says in place of a flag of the command line.
pub(super) fn form_words(flag: &str) -> Option<&'static str> {
    match flag {
        "--allow-writes" => Some(ALLOW_WRITES),
        "--yes" => Some(YES),
        _ => None,
    }
}

/// Why a step was withheld, in the words of the form.
pub(super) fn in_form_words(text: &str) -> Cow<'_, str> {
    const ENDING: &str = " would allow it";
    let said = text.strip_suffix(ENDING).and_then(|rest| {
        let (before, flag) = rest.rsplit_once(' ')?;
        Some(format!("{before} “{}”{ENDING}", form_words(flag)?))
    });
    said.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// A flag as a checkbox.
pub(super) struct FlagView {
    pub(super) name: &'static str,
    pub(super) words: &'static str,
    pub(super) means: &'static str,
    pub(super) is_on: bool,
}

/// What a person may do with a run now. The engine decides again when a form comes.
pub(super) struct Standing {
    pub(super) may_cancel: bool,
    pub(super) may_resume: bool,
    /// Whether it goes on by itself once it is given its secrets.
    pub(super) lacks_secret: bool,
    /// The flags to choose from; empty where only those that it has may be given again.
    pub(super) flags: Vec<FlagView>,
    /// The flags that it has, by name.
    pub(super) kept: Vec<&'static str>,
    /// Secret inputs that must be given again.
    pub(super) secrets: Vec<(String, Shown)>,
}

impl Standing {
    /// `needed` are the secrets that a step under way waits for.
    pub(super) fn new(
        run: &Run,
        person: &Principal,
        is_carried_on: bool,
        needed: Vec<String>,
    ) -> Self {
        let caller = &run.start.caller;
        let is_own = caller.id == person.id || caller.owner.as_ref() == Some(&person.id);
        let is_operator = person.has(Role::Operator);
        let may_start = Authority::of(person).lacks(EffectClass::Read).is_none();
        let chooses = is_own && may_start;
        let lacks_secret = is_carried_on && !needed.is_empty();
        let may_resume = (lacks_secret || can_go_on(run, is_carried_on))
            && (chooses || (!is_own && is_operator));
        let secrets = if lacks_secret {
            needed
        } else {
            run.start.secrets.iter().cloned().collect()
        };
        let has_flags = may_resume && run.is_skill();
        Self {
            may_cancel: run.ended.is_none()
                && run.cancel.is_none()
                && (is_own || is_operator || person.has(Role::Admin)),
            may_resume,
            lacks_secret,
            flags: if has_flags && chooses {
                flags(run.flags)
            } else {
                Vec::new()
            },
            kept: if has_flags && !chooses {
                let on = flags(run.flags).into_iter().filter(|flag| flag.is_on);
                on.map(|flag| flag.name).collect()
            } else {
                Vec::new()
            },
            secrets: if may_resume {
                let shown = |name: String| {
                    let shown = Shown::line(&name);
                    (name, shown)
                };
                secrets.into_iter().map(shown).collect()
            } else {
                Vec::new()
            },
        }
    }
}

/// Whether there is anything to go on with.
fn can_go_on(run: &Run, is_carried_on: bool) -> bool {
    match run.status() {
        RunStatus::Running | RunStatus::Waiting => !is_carried_on,
        RunStatus::Passed | RunStatus::Continued => false,
        RunStatus::Diverged => true,
        RunStatus::Failed
        | RunStatus::Rejected
        | RunStatus::Expired
        | RunStatus::ReplanRequired
        | RunStatus::Cancelled => run.is_skill(),
    }
}

fn flags(now: Flags) -> Vec<FlagView> {
    vec![
        FlagView {
            name: "allow_writes",
            words: ALLOW_WRITES,
            means: "Steps of which a repeat does no harm (create, update, set) are made. Destructive ones are not.",
            is_on: now.allow_writes,
        },
        FlagView {
            name: "yes",
            words: YES,
            means: "Steps that send, pay, delete or run something are made, and idempotent writes too.",
            is_on: now.yes,
        },
        FlagView {
            name: "stage",
            words: "Put what is not allowed before people",
            means: "Such a step waits in the queue for approval, instead of being withheld.",
            is_on: now.stage,
        },
    ]
}

//! What the safety class of a call means, in words that hold for the tool that it is of.

use holdpoint_engine::action::{Action, SafetyClass};
use holdpoint_engine::tool::Tool;

/// A class, with what its tool has to keep the promise of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) struct ClassView {
    class: SafetyClass,
    /// The state is read when the call is proposed.
    reads_state: bool,
    /// The target can be asked whether it happened.
    can_check: bool,
    /// The target keeps keys, so that the same call may be sent again.
    keeps_keys: bool,
}

impl ClassView {
    pub(in crate::pages) fn of_tool(tool: &Tool) -> Self {
        Self {
            class: tool.class,
            reads_state: tool.state_query().is_some(),
            can_check: tool.check().is_some(),
            keeps_keys: tool.key_retention.is_some(),
        }
    }

    /// As the tool was when the action was taken on.
    pub(in crate::pages) fn of_action(action: &Action) -> Self {
        Self {
            class: action.proposal.class,
            reads_state: action.snapshot.is_some(),
            can_check: action.proposal.terms.can_check,
            keeps_keys: action.key_kept_ms.is_some(),
        }
    }

    /// What it means for a call, in a sentence or two.
    pub(in crate::pages) fn words(self) -> String {
        match self.class {
            SafetyClass::Idempotent => "A repeat does no harm; it is executed at once.".to_owned(),
            SafetyClass::WriteOnceCheckable => {
                format!("It is written down before it is sent{}.", self.in_doubt())
            }
            SafetyClass::Irreversible if self.keeps_keys => format!(
                "It cannot be undone. {} Where nobody knows whether it happened, the machine sends it again with the same key only.",
                self.read_again()
            ),
            SafetyClass::Irreversible => format!(
                "It cannot be undone. {} It is never sent twice by the machine.",
                self.read_again()
            ),
            SafetyClass::ApprovalBound => {
                format!("People must approve it. {}", self.read_again())
            }
        }
    }

    fn in_doubt(self) -> &'static str {
        match (self.can_check, self.keeps_keys) {
            (true, _) => ", and checked with the target when in doubt",
            (false, true) => ", and sent again with the same key when in doubt",
            (false, false) => "; when in doubt, a person settles it",
        }
    }

    fn read_again(self) -> &'static str {
        if self.reads_state {
            "The state is read again before it is sent."
        } else {
            "Nothing is read again before it is sent: this tool has no state query."
        }
    }

    /// How an unknown outcome becomes known; none where no outcome stays unknown.
    pub(in crate::pages) fn doubt_rule(self) -> Option<&'static str> {
        match (self.class, self.can_check, self.keeps_keys) {
            (SafetyClass::Idempotent, _, _) => None,
            (_, true, _) => Some("The target can be asked whether it happened"),
            (_, false, true) => Some(
                "The target cannot be asked whether it happened: the same call is sent again with the same key, and where that tells nothing, a person settles the outcome",
            ),
            (_, false, false) => Some(
                "The target cannot be asked whether it happened: a person settles an unknown outcome",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_promises_no_more_than_its_tool_can_keep() {
        let plain = |class| ClassView {
            class,
            reads_state: false,
            can_check: false,
            keeps_keys: false,
        };
        for class in [SafetyClass::ApprovalBound, SafetyClass::Irreversible] {
            let without = plain(class);
            let with = ClassView {
                reads_state: true,
                ..without
            };
            assert!(with.words().contains("The state is read again"), "{with:?}");
            let words = without.words();
            assert!(!words.contains("The state is read again"), "{words}");
            assert!(words.contains("this tool has no state query"), "{words}");
        }
        let once = plain(SafetyClass::WriteOnceCheckable);
        let words = once.words();
        assert!(!words.contains("checked with the target"), "{words}");
        let checked = ClassView {
            can_check: true,
            ..once
        };
        assert!(checked.words().contains("checked with the target"));
        let kept = ClassView {
            keeps_keys: true,
            ..plain(SafetyClass::Irreversible)
        };
        assert!(!kept.words().contains("never sent twice"));
    }

    #[test]
    fn nobody_settles_outcomes_of_what_is_repeated_without_harm() {
        for can_check in [false, true] {
            let view = ClassView {
                class: SafetyClass::Idempotent,
                reads_state: false,
                can_check,
                keeps_keys: false,
            };
            assert_eq!(view.doubt_rule(), None);
        }
    }
}

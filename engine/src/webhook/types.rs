//! The types of messages. A contract: a type never changes its meaning, a new meaning is a new type.

/// A type of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// The kind of record in the log.
    pub(super) kind: &'static str,
    /// Its name on the wire.
    pub name: &'static str,
    /// What it tells.
    pub tells: &'static str,
}

/// The type of the message that is sent to try an endpoint out.
pub const TEST_TYPE: &str = "webhook.test";

const fn of(kind: &'static str, name: &'static str, tells: &'static str) -> EventType {
    EventType { kind, name, tells }
}

/// Every type that can be asked for.
pub const EVENT_TYPES: &[EventType] = &[
    of("action.staged", "action.staged", "it waits for votes"),
    of(
        "action.accepted",
        "action.accepted",
        "taken on; it needs no approval",
    ),
    of("action.refused", "action.refused", "not taken on"),
    of(
        "action.vote_recorded",
        "approval.vote_recorded",
        "a person voted",
    ),
    of(
        "action.withdrawn",
        "approval.withdrawn",
        "an approver took the own vote back",
    ),
    of(
        "action.restaged",
        "approval.restaged",
        "the world moved; a new revision waits for votes",
    ),
    of(
        "action.approved",
        "action.approved",
        "every vote that is needed is there",
    ),
    of("action.rejected", "action.rejected", "a person said no"),
    of(
        "action.expired",
        "action.expired",
        "the deadline passed before the call",
    ),
    of(
        "action.cancelled",
        "action.cancelled",
        "taken back before anything was sent",
    ),
    of(
        "action.deferred",
        "action.deferred",
        "the state could not be read; tried again later",
    ),
    of(
        "action.replan_required",
        "action.replan_required",
        "the world is not the approved one",
    ),
    of(
        "action.commit_recorded",
        "action.executing",
        "the call leaves from now on",
    ),
    of(
        "action.attempt_succeeded",
        "action.succeeded",
        "the call took effect",
    ),
    of(
        "action.attempt_refused",
        "action.failed",
        "the target said no for certain",
    ),
    of(
        "action.attempt_not_delivered",
        "action.not_delivered",
        "not one byte of the call left",
    ),
    of(
        "action.attempt_unknown",
        "action.unknown",
        "whether the call took effect is not known",
    ),
    of(
        "action.found_done",
        "action.found_done",
        "the source of truth says that it happened",
    ),
    of(
        "action.found_not_done",
        "action.found_not_done",
        "it says that it did not happen",
    ),
    of(
        "action.check_inconclusive",
        "action.check_inconclusive",
        "it gave no answer to rely on",
    ),
    of(
        "action.settled",
        "action.settled",
        "a person said what became of it",
    ),
    of(
        "action.late_answer",
        "action.late_answer",
        "an answer came after the outcome",
    ),
    of(
        "action.lease_granted",
        "action.lease_granted",
        "a worker has taken the call",
    ),
    of(
        "action.lease_extended",
        "action.lease_extended",
        "the worker is still at it",
    ),
    of(
        "action.work_reported",
        "action.work_reported",
        "the worker has said what came of it",
    ),
    of(
        "action.scheduled",
        "action.scheduled",
        "it is not called before a moment that its caller chose",
    ),
    of(
        "action.reminded",
        "action.reminded",
        "half, or nine tenths, of the time to decide is over",
    ),
    of(
        "action.resend_planned",
        "action.resend_planned",
        "the outcome is unknown, and the same call will be sent again",
    ),
    of(
        "action.resend_recorded",
        "action.resend_recorded",
        "the same call leaves once more, with the same key",
    ),
    of(
        "action.resend_failed",
        "action.resend_failed",
        "that one had no effect of its own; the first is as unknown as before",
    ),
    of(
        "action.resend_dropped",
        "action.resend_dropped",
        "it is not sent again after all: a person must look",
    ),
    of(
        "webhook.disabled",
        "webhook.disabled",
        "an endpoint hears nothing any more (administrators)",
    ),
];

/// The type of the message about a record; none where nobody is told of such records.
pub(super) fn type_of(kind: &str) -> Option<&'static str> {
    let known = EVENT_TYPES.iter().find(|known| known.kind == kind)?;
    Some(known.name)
}

/// Whether there is such a type.
pub(super) fn is_known(name: &str) -> bool {
    EVENT_TYPES.iter().any(|known| known.name == name)
}

/// The name that was probably meant.
pub(super) fn nearest(wrong: &str) -> Option<&'static str> {
    EVENT_TYPES
        .iter()
        .map(|known| (strsim::damerau_levenshtein(known.name, wrong), known.name))
        .filter(|(distance, _)| *distance <= 4)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::kinds::KNOWN;

    /// What stands beside another event in the same append and only adds to it: nobody is told of it.
    const INNER: [&str; 5] = [
        "action.answer_kept",
        "action.instigated",
        "action.key_kept",
        "action.lease_keyed",
        "action.secret_named",
    ];

    #[test]
    fn every_kind_of_event_of_an_action_has_a_documented_type_of_its_own_or_is_never_sent() {
        let document = include_str!("../../../docs/WEBHOOKS.md");
        for kind in KNOWN {
            let is_told = kind.starts_with("action.") && !INNER.contains(kind);
            assert_eq!(
                type_of(kind).is_some(),
                is_told || *kind == "webhook.disabled",
                "{kind} needs a type and a line in docs/WEBHOOKS.md, or stands in INNER"
            );
        }
        let mut names = BTreeSet::new();
        for known in EVENT_TYPES {
            assert!(
                names.insert(known.name),
                "{} stands there twice",
                known.name
            );
            assert!(
                document.contains(&format!("`{}`", known.name)),
                "{}",
                known.name
            );
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            assert!(known.name.chars().all(is_plain));
        }
        assert!(document.contains(&format!("`{TEST_TYPE}`")));
    }

    #[test]
    fn what_people_do_about_accounts_is_nobodys_message() {
        assert_eq!(type_of("person.created"), None);
        assert_eq!(type_of("webhook.created"), None);
        assert_eq!(
            type_of("webhook.progressed"),
            None,
            "no message about messages"
        );
        assert_eq!(
            type_of("action.vote_recorded"),
            Some("approval.vote_recorded")
        );
        assert_eq!(nearest("action.aproved"), Some("action.approved"));
    }
}

//! Statuses and classes in words.

use holdpoint_engine::action::{PrincipalKind, Status};

/// A status for people: a word, what it means, and a tone that only repeats the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) struct StatusView {
    /// The wire name.
    pub(in crate::pages) code: &'static str,
    /// In a word or two.
    pub(in crate::pages) word: &'static str,
    /// In a sentence.
    pub(in crate::pages) means: &'static str,
    /// The class of the badge.
    pub(in crate::pages) tone: &'static str,
    /// A sign that repeats the tone without colour.
    pub(in crate::pages) sign: &'static str,
}

impl StatusView {
    pub(in crate::pages) fn new(status: Status) -> Self {
        let (word, means, tone, sign) = match status {
            Status::Staged => (
                "Waiting for approval",
                "Nothing has been sent. It waits for people to decide.",
                "wait",
                "◔",
            ),
            Status::Approved => (
                "Approved, not sent yet",
                "Enough people approved. Nothing has been sent yet.",
                "go",
                "◑",
            ),
            Status::Accepted => (
                "Accepted, not sent yet",
                "It needs no approval and waits for its turn. Nothing has been sent yet.",
                "go",
                "◑",
            ),
            Status::Executing => (
                "Being sent",
                "The call may be on its way. The result is not known yet.",
                "go",
                "◕",
            ),
            Status::Unknown => (
                "Outcome unknown",
                "The call was sent and no reliable answer came. It may or may not have happened.",
                "alarm",
                "?",
            ),
            Status::Succeeded => ("Done", "It happened; the evidence is below.", "good", "✓"),
            Status::Failed => (
                "Failed",
                "It certainly did not happen, and will not.",
                "bad",
                "✕",
            ),
            Status::Rejected => (
                "Rejected",
                "A person said no. Nothing was sent.",
                "bad",
                "✕",
            ),
            Status::Expired => (
                "Expired",
                "The deadline passed before it could be sent. Nobody rejected it. Nothing was sent.",
                "off",
                "–",
            ),
            Status::Cancelled => (
                "Cancelled",
                "The requester took it back. Nothing was sent.",
                "off",
                "–",
            ),
            Status::Refused => (
                "Refused",
                "It was not taken on. Nothing was sent.",
                "bad",
                "✕",
            ),
            Status::ReplanRequired => (
                "Must be planned again",
                "The world is no longer the one that was approved. It was not done.",
                "alarm",
                "!",
            ),
        };
        Self {
            code: status.name(),
            word,
            means,
            tone,
            sign,
        }
    }
}

impl StatusView {
    /// The same status where nothing but a person's word says what became of the call.
    pub(in crate::pages) fn by_word_of_a_person(self, happened: bool) -> Self {
        let means = if happened {
            "A person says that it happened. The target gave no reliable answer; who said so, and why, is below."
        } else {
            "A person says that it did not happen. The target gave no reliable answer; who said so, and why, is below."
        };
        Self { means, ..self }
    }
}

/// What kind of principal acts, as a badge says it.
pub(in crate::pages) fn kind_badge(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::Person => "person",
        PrincipalKind::Service => "service",
        PrincipalKind::Agent => "AI agent",
    }
}

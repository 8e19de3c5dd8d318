//! The parts of the page of an action.

use holdpoint_engine::action::{Action, AttemptResult, FailReason, Phase, Rendered, Snapshot};
use holdpoint_engine::approval::{CastVote, Need, Shortage, Voter, approvals, groups_in_words};
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::time::Timestamp;
use holdpoint_engine::tool::STATE_ETAG;

use super::failure::failure;
use crate::display::Shown;
use crate::pages::view::{Names, Row, When, Words, describe, rows, text_row, value_row};

pub(super) struct RequestView {
    pub(super) method: Shown,
    pub(super) url: Shown,
    pub(super) is_worker: bool,
    pub(super) headers: Vec<HeaderView>,
    pub(super) secrets: Vec<Shown>,
    pub(super) content_type: Option<Shown>,
    pub(super) body: Option<Row>,
    pub(super) digest: String,
}

pub(super) struct HeaderView {
    pub(super) name: Shown,
    pub(super) value: Shown,
    /// Whether the value is not known before the state is read again.
    pub(super) is_version: bool,
}

pub(super) struct SnapshotView {
    pub(super) taken: When,
    pub(super) etag: Option<Shown>,
    pub(super) watched: Vec<Row>,
    pub(super) state: Vec<Row>,
}

pub(super) struct NeedView {
    pub(super) because: Option<Shown>,
    pub(super) who: Shown,
    pub(super) have: usize,
    pub(super) required: u32,
    /// That it cannot be met, where that is so.
    pub(super) short: Option<Shown>,
    pub(super) tone: &'static str,
    pub(super) sign: &'static str,
    pub(super) word: &'static str,
}

pub(super) struct VoteView {
    pub(super) name: Shown,
    pub(super) word: &'static str,
    pub(super) reason: Option<Shown>,
    pub(super) at: When,
}

pub(super) struct AttemptView {
    pub(super) number: u32,
    pub(super) started: When,
    pub(super) ended: Option<When>,
    pub(super) result: &'static str,
    pub(super) lease: Option<LeaseView>,
    pub(super) http_status: Option<u16>,
    pub(super) window: &'static str,
    pub(super) note: Option<Shown>,
}

/// Which worker has, or had, an attempt.
pub(super) struct LeaseView {
    pub(super) worker: Shown,
    pub(super) until: When,
    pub(super) extensions: u32,
}

pub(super) struct EventView {
    pub(super) position: u64,
    pub(super) at: When,
    pub(super) actor: Shown,
    pub(super) kind: Shown,
    pub(super) words: Words,
    pub(super) hash: String,
}

pub(super) fn request_view(request: &Rendered) -> RequestView {
    RequestView {
        method: Shown::line(&request.method),
        url: Shown::line(&request.url),
        is_worker: request.url.is_empty(),
        headers: request
            .headers
            .iter()
            .map(|(name, value)| HeaderView {
                name: Shown::line(name),
                value: Shown::line(value),
                is_version: value == STATE_ETAG,
            })
            .collect(),
        secrets: request.secrets.iter().map(|s| Shown::line(s)).collect(),
        content_type: request.content_type.as_deref().map(Shown::line),
        body: request.body.as_deref().map(|body| text_row("body", body)),
        digest: request.digest.to_string(),
    }
}

pub(super) fn snapshot_view(snapshot: &Snapshot, now: Timestamp) -> SnapshotView {
    SnapshotView {
        taken: When::new(snapshot.taken_at, now),
        etag: snapshot.etag.as_deref().map(Shown::line),
        watched: snapshot
            .watched
            .iter()
            .map(|(path, value)| {
                value_row(
                    if path.is_empty() {
                        "the whole state"
                    } else {
                        path
                    },
                    value,
                )
            })
            .collect(),
        state: rows(&snapshot.state),
    }
}

pub(super) fn need_view(need: &Need, votes: &[CastVote], open: Option<&[Voter]>) -> NeedView {
    let have = approvals(need, votes);
    let is_met = usize::try_from(need.required).is_ok_and(|required| required <= have);
    let short = open.and_then(|others| Shortage::of(need, votes, others));
    let (tone, sign, word) = match (is_met, open.is_some()) {
        (true, _) => ("good", "✓", "met"),
        (false, true) => ("wait", "◔", "open"),
        (false, false) => ("off", "–", "not met"),
    };
    NeedView {
        because: need.because.as_deref().map(Shown::line),
        who: Shown::line(&if need.groups.is_empty() {
            "any approver".to_owned()
        } else {
            format!("approvers in {}", groups_in_words(&need.groups))
        }),
        have,
        required: need.required,
        short: short.map(|short| Shown::line(&short.to_string())),
        tone,
        sign,
        word,
    }
}

/// What must be known beside the status.
pub(super) fn status_note(
    action: &Action,
    history: &[HistoryEntry],
    names: &Names,
) -> Option<Shown> {
    match &action.phase {
        Phase::Rejected { by, reason } => {
            Some(Shown::block(&format!("{} said: {reason}", names.short(by))))
        }
        Phase::Cancelled { by, reason } => Some(Shown::block(&match reason {
            Some(reason) => format!("{} said: {reason}", names.short(by)),
            None => format!("By {}, who gave no reason.", names.short(by)),
        })),
        Phase::Refused(refused) => Some(Shown::block(&format!(
            "{}: {}",
            refused.code, refused.message
        ))),
        Phase::ReplanRequired { message } => Some(Shown::block(message)),
        Phase::Unknown {
            next_check: None,
            next_resend: Some(_),
            ..
        } => Some(Shown::line(
            "The same call is sent again with the same key by itself: the target keeps keys.",
        )),
        Phase::Unknown {
            next_check: None,
            next_resend: None,
            ..
        } => Some(Shown::line(
            "The target gives no answer that can be relied on. A person must settle it.",
        )),
        Phase::Unknown {
            next_check: Some(_),
            ..
        } => Some(Shown::line("The target is asked again by itself.")),
        Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Succeeded { .. }
        | Phase::Expired => None,
        Phase::Failed(reason) => Some(Shown::block(&failure(action, reason, history, names))),
    }
}

pub(super) fn fail_rows(reason: &FailReason) -> Vec<Row> {
    match reason {
        FailReason::TargetRefused { answer } => vec![value_row("the target refused", answer)],
        FailReason::WorkerFailed { answer } => {
            vec![value_row(
                "the worker is certain that nothing happened",
                answer,
            )]
        }
        FailReason::NeverDelivered { message } => vec![text_row("never delivered", message)],
        FailReason::SettledAsNotDone { reason } => {
            vec![text_row("settled as not done", reason)]
        }
    }
}

pub(super) fn attempts(action: &Action, now: Timestamp) -> Vec<AttemptView> {
    action
        .attempts
        .iter()
        .map(|attempt| AttemptView {
            number: attempt.number,
            started: When::new(attempt.started_at, now),
            ended: attempt.ended_at.map(|at| When::new(at, now)),
            result: match attempt.result {
                None if attempt.lease.is_some() => "a worker has it",
                None => "on its way",
                Some(AttemptResult::Done) => "took effect",
                Some(AttemptResult::NotDone) => "certainly did not take effect",
                Some(AttemptResult::Unknown) => "may or may not have taken effect",
            },
            lease: attempt.lease.as_ref().map(|lease| LeaseView {
                worker: Shown::line(&format!("{} ({})", lease.worker.name, lease.worker.id)),
                until: When::new(lease.until, now),
                extensions: lease.extensions,
            }),
            http_status: attempt.http_status,
            window: attempt.window.name(),
            note: attempt.note.as_deref().map(Shown::block),
        })
        .collect()
}

pub(super) fn event_view(entry: &HistoryEntry, names: &Names, now: Timestamp) -> EventView {
    EventView {
        position: entry.position,
        at: When::new(entry.at, now),
        actor: Shown::line(&names.short(&entry.actor)),
        kind: Shown::line(&entry.kind),
        words: entry
            .event
            .as_ref()
            .map_or_else(Words::default, |event| describe(event, names)),
        hash: entry.hash.clone(),
    }
}

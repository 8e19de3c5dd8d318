//! What just happened, in words that are true when they are read.

use holdpoint_engine::action::{Action, FailReason, Phase, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::identity::Principal;
use holdpoint_engine::time::Timestamp;

use crate::display::Shown;
use crate::pages::flash::Happened;
use crate::pages::view::{Names, StatusView, When};

pub(super) fn words(
    happened: Happened,
    action: &Action,
    person: &Principal,
    names: &Names,
    now: Timestamp,
) -> String {
    match happened {
        Happened::Voted => match own_vote(action, person) {
            Some(vote) => format!("Your {} is recorded. {}", noun(vote), what_now(action, now)),
            // The vote belongs to an earlier revision, or was taken back since.
            None => format!("Your answer is recorded. {}", what_now(action, now)),
        },
        Happened::Repeated => format!(
            "Your answer was recorded already; nothing was recorded twice. {}",
            what_now(action, now)
        ),
        Happened::LostRace => format!(
            "Your answer was not recorded: {}. {}",
            decided(action, names, now),
            what_now(action, now)
        ),
        // A repeat may come when it goes its way already, by the votes of others.
        Happened::Withdrawn if action.status() != Status::Staged => format!(
            "Your approval is taken back, and that is recorded. {}",
            what_now(action, now)
        ),
        Happened::Withdrawn => "Your approval is taken back, and that is recorded. Nothing was sent; the action waits for votes again.".into(),
        Happened::Cancelled => "The cancellation is recorded. Nothing was sent.".into(),
        Happened::Settled => format!("Your settlement is recorded. {}", what_now(action, now)),
        Happened::DraftKept => {
            "Nothing was recorded yet. The words that you typed before are in the form below.".into()
        }
    }
}

/// How the person voted on this revision.
pub(super) fn own_vote(action: &Action, person: &Principal) -> Option<Vote> {
    let votes = action.approval.as_ref()?.votes.iter();
    let mut own = votes.filter(|cast| cast.voter.id == person.id);
    own.next().map(|cast| cast.vote)
}

fn noun(vote: Vote) -> &'static str {
    match vote {
        Vote::Approve => "approval",
        Vote::Reject => "rejection",
    }
}

/// What follows, without a promise that the target has not made.
fn what_now(action: &Action, now: Timestamp) -> String {
    match &action.phase {
        Phase::Staged => "It waits for more votes.".into(),
        Phase::Approved { run_at, .. } | Phase::Accepted { run_at } if now < *run_at => {
            format!("It will be sent at {}.", When::new(*run_at, now).text())
        }
        Phase::Approved { .. } | Phase::Accepted { .. } if action.is_pulled() => {
            "It waits for a worker to take it.".into()
        }
        Phase::Approved { .. } | Phase::Accepted { .. } => "It will be sent now.".into(),
        Phase::Executing if action.is_leased() => {
            "A worker has it; it has not said yet what became of it.".into()
        }
        Phase::Executing => "It is being sent; there is no answer yet.".into(),
        Phase::Unknown { .. } => "It was sent, and it is not known yet whether it happened.".into(),
        // Whose word that is, the target's or a person's, stands with the evidence.
        Phase::Succeeded { .. } => {
            "It was sent and is recorded as done; the evidence is below.".into()
        }
        Phase::Failed(FailReason::SettledAsNotDone { .. }) => {
            "It is recorded as failed: a person says that it did not happen.".into()
        }
        Phase::Failed(
            FailReason::TargetRefused { .. }
            | FailReason::WorkerFailed { .. }
            | FailReason::NeverDelivered { .. },
        ) => "It failed: it certainly did not happen.".into(),
        Phase::Rejected { .. } => "It is rejected. Nothing was sent.".into(),
        Phase::Expired => "It has expired. Nothing was sent.".into(),
        Phase::Cancelled { .. } => "It is cancelled. Nothing was sent.".into(),
        Phase::Refused(_) => "It was refused. Nothing was sent.".into(),
        Phase::ReplanRequired { .. } => {
            "The world has moved since the approval, so it was not done.".into()
        }
    }
}

/// Who or what was first.
fn decided(action: &Action, names: &Names, now: Timestamp) -> String {
    let last = action
        .approval
        .as_ref()
        .and_then(|approval| approval.votes.last());
    match (&action.phase, last) {
        (Phase::Rejected { by, .. }, _) => {
            let name = Shown::line(&names.short(by)).plain();
            let at = When::new(action.updated_at, now);
            format!("it was already rejected by {name} at {}", at.text())
        }
        (Phase::Expired | Phase::Cancelled { .. }, _) => format!(
            "it was already {} at {}",
            StatusView::new(action.status()).word.to_lowercase(),
            When::new(action.updated_at, now).text()
        ),
        (_, Some(cast)) => format!(
            "it was already {} by {} at {}",
            match cast.vote {
                Vote::Approve => "approved",
                Vote::Reject => "rejected",
            },
            Shown::line(&cast.voter.name).plain(),
            When::new(cast.at, now).text()
        ),
        (_, None) if action.status() == Status::Staged => "the deadline has passed".into(),
        (_, None) => format!(
            "it is already {}",
            StatusView::new(action.status()).word.to_lowercase()
        ),
    }
}

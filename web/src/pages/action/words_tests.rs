//! That the page of an action says what is so, and why.

use holdpoint_engine::action::{Action, Event, FailReason, Phase, Refused, SafetyClass};
use holdpoint_engine::canon::CanonicalJson;
use serde_json::json;

use super::tests::{plain, render};
use super::view::FormState;
use crate::pages::flash::Happened;
use crate::pages::samples::{self, NOW, ada};
use crate::pages::shell::{Message, Shell};
use askama::Template as _;

fn failed(reason: FailReason) -> Action {
    let mut action = samples::refund();
    action.phase = Phase::Failed(reason);
    action
}

/// What stands beside the status.
fn beside_the_status(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"status-title\"").expect("a status");
    rest.split_once("</section>").expect("its end").0
}

#[test]
fn a_failed_action_says_why_beside_its_status() {
    let answer = CanonicalJson::of(&json!({ "error": "the card is closed" }));
    let reason = "not on the statement".to_owned();
    let message = "Connection refused".to_owned();
    for (reason, words) in [
        (FailReason::NeverDelivered { message }, "Connection refused"),
        (
            FailReason::TargetRefused {
                answer: answer.clone(),
            },
            "the card is closed",
        ),
        (FailReason::WorkerFailed { answer }, "the card is closed"),
        (
            FailReason::SettledAsNotDone { reason },
            "not on the statement",
        ),
    ] {
        let page = plain(&failed(reason), &ada());
        let status = beside_the_status(&page);
        assert!(status.contains(words), "{words} is missing in\n{status}");
    }
    let reason = "not on the statement".to_owned();
    let action = failed(FailReason::SettledAsNotDone {
        reason: reason.clone(),
    });
    let settled = Event::Settled {
        attempt: 1,
        by: "per_ada".to_owned(),
        happened: false,
        reason,
        at: NOW,
    };
    let page = render(&action, vec![settled], &ada(), FormState::default());
    assert!(beside_the_status(&page).contains("Ada Byron settled it"));
}

#[test]
fn a_long_answer_of_the_target_is_not_all_beside_the_status() {
    let answer = CanonicalJson::of(&json!("é".repeat(5_000)));
    let page = plain(&failed(FailReason::TargetRefused { answer }), &ada());
    let status = beside_the_status(&page);
    assert!(status.contains("é…") && status.len() < 2_000, "{status}");
}

#[test]
fn a_refused_action_does_not_say_that_people_are_asked() {
    let mut action = samples::refund();
    (action.snapshot, action.request, action.approval) = (None, None, None);
    let refused = Refused {
        code: "missing_scope".to_owned(),
        message: "the scope refunds:write is missing".to_owned(),
    };
    action.phase = Phase::Refused(refused.clone());
    let event = Event::Refused {
        proposal: action.proposal.clone(),
        refused,
        at: NOW,
    };
    let page = render(&action, vec![event], &ada(), FormState::default());
    for words in [
        "People must approve it",
        "its class asks for no approval",
        "No approval is asked for",
        "sent to the target",
        "no state query",
        "What will happen",
        "Why you are asked",
    ] {
        assert!(!page.contains(words), "{words} in\n{page}");
    }
    assert!(
        page.contains("it was refused, and nothing was sent"),
        "{page}"
    );
}

#[test]
fn a_need_is_open_only_while_somebody_may_vote() {
    let mut action = samples::refund();
    assert!(plain(&action, &ada()).contains("open: 0 of 1"));
    action.phase = Phase::Cancelled {
        by: "key_bot".to_owned(),
        reason: None,
    };
    let page = plain(&action, &ada());
    assert!(page.contains("not met: 0 of 1") && !page.contains("open: 0 of 1"));
}

#[test]
fn an_approver_is_told_that_nothing_is_read_again_where_that_is_so() {
    let mut action = samples::refund();
    let page = plain(&action, &ada());
    assert!(page.contains("The state is read again before it is sent."));
    action.snapshot = None;
    let page = plain(&action, &ada());
    assert!(!page.contains("The state is read again"), "{page}");
    assert!(page.contains("this tool has no state query"), "{page}");
    // Read when it was proposed, and compared with nothing.
    let mut once = samples::refund();
    once.proposal.class = SafetyClass::WriteOnceCheckable;
    let page = plain(&once, &ada());
    assert!(!page.contains("It is read again right before") && !page.contains("The state is read"));
}

#[test]
fn an_answer_that_was_not_recorded_does_not_look_like_one_that_was() {
    for (happened, tone, role) in [
        (Happened::Voted, "good", "status"),
        (Happened::Withdrawn, "good", "status"),
        (Happened::Cancelled, "good", "status"),
        (Happened::Settled, "good", "status"),
        (Happened::Repeated, "plain", "status"),
        (Happened::DraftKept, "plain", "status"),
        (Happened::LostRace, "bad", "alert"),
    ] {
        let mut shell = Shell::plain("Any page");
        shell.message = Some(Message {
            words: "Words.".to_owned(),
            tone: happened.tone(),
        });
        let page = crate::pages::error::bare(shell)
            .render()
            .expect("in memory");
        let note = format!("<div class=\"note {tone}\" role=\"{role}\" id=\"message\">");
        assert!(page.contains(&note), "{happened:?}: {note} is missing");
    }
}

#[test]
fn a_need_for_more_people_than_there_are_says_that_it_cannot_be_met() {
    let mut action = samples::refund();
    assert!(!plain(&action, &ada()).contains("It cannot be met"));
    if let Some(approval) = &mut action.approval {
        approval.requirement.needs[0].required = 2;
    }
    let page = plain(&action, &ada());
    let words = "It cannot be met: 2 more must approve, and 1 person may.";
    assert!(page.contains(words), "{page}");
    action.phase = Phase::Expired;
    assert!(!plain(&action, &ada()).contains("It cannot be met"));
}

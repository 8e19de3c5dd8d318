use std::collections::BTreeMap;

use askama::Template as _;
use holdpoint_engine::action::{Difference, Event, Status};
use holdpoint_engine::approval::{CastVote, Vote};
use holdpoint_engine::canon::CanonicalJson;
use holdpoint_engine::identity::{Principal, Role};
use serde_json::json;

use super::view::{ActionPage, FormState, Source, Stale, has_long_values};
use super::*;
use crate::pages::samples::{self, HOSTILE, NOW, ada};
use crate::pages::shell::Shell;
use crate::pages::view::diff_rows;
use holdpoint_engine::time::Elapsed;

pub(super) fn render(
    action: &Action,
    events: Vec<Event>,
    person: &Principal,
    form: FormState,
) -> String {
    let mut names = Names::default();
    names.add("per_owner", "Olga Owner");
    names.add("per_ada", "Ada Byron");
    names.add("key_bot", &action.proposal.caller.name);
    let history = samples::history(action, events);
    let others = [ada().voter()];
    let source = Source {
        action,
        version: u64::try_from(history.len()).expect("few events"),
        history: &history,
        names: &names,
        person,
        now: NOW,
        held_until: action.withdrawable_until(&Elapsed::by_clock(NOW)),
        amounts: &BTreeMap::from([("amount_minor".to_owned(), "48.00 EUR".to_owned())]),
        json: raw_json(action, &history),
        others: (action.status() == Status::Staged).then_some(&others[..]),
        of_run: None,
    };
    let shell = Shell::of(person, "t".repeat(64), "Title".into());
    let page = ActionPage::new(shell, form, source);
    page.render().expect("a template in memory")
}

pub(super) fn plain(action: &Action, person: &Principal) -> String {
    render(
        action,
        vec![samples::staged(action)],
        person,
        FormState::default(),
    )
}

fn approve_by(id: &str) -> CastVote {
    CastVote {
        voter: Principal {
            id: id.into(),
            ..ada()
        }
        .voter(),
        vote: Vote::Approve,
        reason: None,
        at: NOW,
    }
}

#[test]
fn an_approver_sees_the_facts_and_two_forms_that_name_the_effect() {
    let page = plain(&samples::refund(), &ada());
    for expected in [
        "Approve: <bdi class=\"t\" dir=\"ltr\">Refund 48.00 EUR to order 8812</bdi>",
        "Reject: <bdi class=\"t\" dir=\"ltr\">Refund 48.00 EUR to order 8812</bdi>",
        "48.00 EUR",
        "4800",
        "https://shop.example/refunds",
        "secrets/shop.token",
        "/refundable_minor",
        "above 20.00",
        "You may vote: you are an approver in the group “finance”",
        "AI agent",
        "refund:8812:r1",
        "name=\"digest\"",
        "name=\"snapshot_digest\"",
    ] {
        assert!(page.contains(expected), "{expected} is missing in\n{page}");
    }
}

#[test]
fn i14_hostile_text_never_becomes_markup_and_hides_nothing() {
    let action = samples::hostile();
    let stale = Stale {
        words: "It moved.".into(),
        diff: diff_rows(&[Difference {
            path: HOSTILE.into(),
            approved: Some(CanonicalJson::of(&json!(HOSTILE))),
            now: None,
        }]),
    };
    let form = FormState {
        reason: HOSTILE.into(),
        errors: vec![("why", HOSTILE.into())],
        stale: Some(stale),
    };
    let page = render(&action, vec![samples::staged(&action)], &ada(), form);
    samples_are_harmless(&page);
}

/// What was typed by the reader goes back raw into its field, and nowhere else.
fn samples_are_harmless(page: &str) {
    let lower = page.to_lowercase();
    for forbidden in [
        "<script>",
        "<img src=x",
        "<style",
        "</bdi></td>",
        "\"><",
        "{{7*7}}\"",
        "href=\"javascript",
    ] {
        let found = lower.replace("<script src=", "").contains(forbidden);
        let is_ours = forbidden == "\"><";
        assert!(is_ours || !found, "{forbidden} in\n{page}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(
        page.matches("<table").count(),
        page.matches("</table>").count()
    );
    assert_eq!(page.matches("<bdi").count(), page.matches("</bdi>").count());
    let fields: String = page
        .split("<textarea")
        .enumerate()
        .map(|(index, part)| {
            if index == 0 {
                part
            } else {
                part.split_once("</textarea>").map_or("", |it| it.1)
            }
        })
        .collect();
    let (before, after) = fields.split_once("id=\"errors\"").unwrap_or((&fields, ""));
    let after = after.split_once("</ul>").map_or(after, |it| it.1);
    for text in [before, after] {
        for hidden in ['\u{202E}', '\u{200B}', '\u{E0041}', '\u{1B}', '\r'] {
            assert!(!text.contains(hidden), "{hidden:?} is raw in\n{text}");
        }
    }
}

#[test]
fn incident_83_and_85_long_values_are_whole_and_must_be_read_before_approving() {
    let script = format!("safe\n{}rm -rf /", "\n".repeat(300));
    let action = samples::with_args(&json!({ "script": script }));
    assert!(has_long_values(&action));
    let page = plain(&action, &ada());
    assert!(page.contains("rm -rf /"));
    assert!(page.contains("302 lines, all shown"));
    assert!(page.contains("name=\"read\""));
    let arguments = page.find("id=\"what\"").expect("the arguments");
    let button = page.find("Approve: ").expect("the button");
    assert!(
        arguments < button,
        "whoever decides has passed the arguments"
    );
}

#[test]
fn h1_the_words_of_the_caller_stand_apart_from_the_buttons() {
    let page = plain(&samples::refund(), &ada());
    let words = page.find("wrong size").expect("the words of the caller");
    let why = page.find("id=\"why\"").expect("our own explanation");
    let button = page.find("id=\"approve\"").expect("the form");
    assert!(words < why && why < button);
    assert!(page.contains("Not checked by anybody"));
}

#[test]
fn who_may_not_vote_reads_why_and_sees_no_form() {
    let mut voted = samples::refund();
    if let Some(approval) = &mut voted.approval {
        approval.requirement.needs[0].required = 2;
        approval.votes.push(approve_by("per_ada"));
    }
    let mut expired = samples::refund();
    if let Some(approval) = &mut expired.approval {
        approval.requirement.deadline = NOW;
    }
    let refund = samples::refund();
    let outsider = samples::person("per_x", &[Role::Approver]);
    for (action, person, why) in [
        (
            &refund,
            Principal {
                id: "per_owner".into(),
                ..ada()
            },
            "which belongs to you",
        ),
        (&refund, outsider, "you are in no group"),
        (
            &refund,
            samples::person("per_y", &[Role::Auditor]),
            "you do not have the role of approver",
        ),
        (&voted, ada(), "You have voted already"),
        (&expired, ada(), "the deadline passed"),
    ] {
        let page = plain(action, &person);
        assert!(page.contains(why), "{why} is missing in\n{page}");
        assert!(!page.contains("id=\"approve\""), "{why}");
    }
}

#[test]
fn an_operator_settles_an_unknown_outcome_but_not_the_own_one() {
    let mut action = samples::refund();
    action.phase = holdpoint_engine::action::Phase::Unknown {
        since: NOW,
        quiet_at: NOW,
        checks: 3,
        next_check: None,
        next_resend: None,
    };
    assert_eq!(action.status(), Status::Unknown);
    let operator = samples::person("per_o", &[Role::Operator]);
    assert!(plain(&action, &operator).contains("id=\"settle\""));
    let owner = samples::person("per_owner", &[Role::Operator]);
    assert!(!plain(&action, &owner).contains("id=\"settle\""));
    assert!(!plain(&action, &ada()).contains("id=\"settle\""));
}

#[test]
fn a_stale_answer_is_met_with_what_changed_and_keeps_the_words() {
    let mut action = samples::refund();
    action.revision = 2;
    let form = FormState {
        reason: "Fine by me".into(),
        errors: Vec::new(),
        stale: Some(Stale {
            words: "Your page showed revision 1, the action is at revision 2 now.".into(),
            diff: diff_rows(&[Difference {
                path: "/refundable_minor".into(),
                approved: Some(CanonicalJson::of(&json!(5_000))),
                now: Some(CanonicalJson::of(&json!(2_000))),
            }]),
        }),
    };
    let page = render(&action, vec![samples::staged(&action)], &ada(), form);
    for expected in [
        "was not recorded",
        "5000",
        "2000",
        "changed",
        "Fine by me",
        "revision 2",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
}

#[test]
fn a_decided_action_says_when_it_will_run_and_by_whom() {
    let mut action = samples::refund();
    action.not_before = Some(NOW.plus_ms(3_600_000));
    let page = plain(&action, &ada());
    assert!(page.contains("Scheduled: not sent before") && !page.contains("will-run"));
    action.phase = holdpoint_engine::action::Phase::Approved {
        run_at: NOW.plus_ms(3_600_000),
        hold_until: Some(NOW.plus_ms(3_600_000)),
    };
    let page = plain(&action, &ada());
    for words in [
        "It will run at",
        "1 Mar 2026, 13:00:00 UTC",
        "or soon after",
    ] {
        assert!(page.contains(words), "{words} is missing");
    }
    assert!(!page.contains("Scheduled: not sent before"), "said once");
    let request = action.request.as_mut().expect("a request");
    request.method = holdpoint_engine::action::WORKER_METHOD.to_owned();
    assert!(plain(&action, &ada()).contains("as soon as a worker asks for it then"));
    action.phase = holdpoint_engine::action::Phase::Accepted { run_at: NOW };
    let page = plain(&action, &ada());
    assert!(page.contains("A worker has it as soon as one asks") && !page.contains("will-run"));
}

#[test]
fn messages_promise_nothing_that_the_target_has_not_said() {
    let mut action = samples::refund();
    let names = Names::default();
    if let Some(approval) = &mut action.approval {
        approval.votes.push(approve_by("per_ada"));
    }
    let say = |action: &Action, happened| messages::words(happened, action, &ada(), &names, NOW);
    action.phase = holdpoint_engine::action::Phase::Approved {
        run_at: NOW.plus_ms(30_000),
        hold_until: Some(NOW.plus_ms(30_000)),
    };
    let words = say(&action, Happened::Voted);
    assert_eq!(
        words,
        "Your approval is recorded. It will be sent at 1 Mar 2026, 12:00:30 UTC."
    );
    action.phase = holdpoint_engine::action::Phase::Executing;
    assert!(say(&action, Happened::Voted).contains("there is no answer yet"));
    assert!(say(&action, Happened::Repeated).contains("nothing was recorded twice"));
    let lost = messages::words(
        Happened::LostRace,
        &action,
        &samples::person("per_z", &[Role::Approver]),
        &names,
        NOW,
    );
    assert!(
        lost.contains("was not recorded: it was already approved by Ada Byron at 1 Mar 2026"),
        "{lost}"
    );
}

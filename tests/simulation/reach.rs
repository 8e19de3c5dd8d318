//! Which transitions the seeds took, against those of `docs/TRANSITIONS.md`, which is made from the
//! code: what no seed takes is not tested here, and must be known.

use std::collections::BTreeSet;

/// Event, status before (`none` for what begins), status after.
pub(crate) type Transition = (String, String, String);

/// Why a transition is not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It cannot be: the document lists the statuses before and after, not which go together.
    Never(&'static str),
    /// So seldom that a change of anything may lose it, or not simulated.
    Seldom(&'static str),
}

use Why::{Never, Seldom};

const KEEPS: &str = "what needs an approval goes back to approved, all else to accepted";
const TRIES: &str = "needs a fault at each of four attempts of one action";
const LATE: &str =
    "needs an answer after the attempt was proved undone and something else happened";

/// What is not asked for.
const EXCEPT: &[(&str, &str, &str, Why)] = &[
    ("action.deferred", "accepted", "approved", Never(KEEPS)),
    ("action.deferred", "approved", "accepted", Never(KEEPS)),
    (
        "action.late_answer",
        "refused",
        "refused",
        Never("nothing was sent that could be answered"),
    ),
    ("action.deferred", "accepted", "accepted", Seldom(TRIES)),
    ("action.deferred", "accepted", "failed", Seldom(TRIES)),
    (
        "action.deferred",
        "approved",
        "failed",
        Never("an approval ends by its deadline, however often the state could not be read"),
    ),
    (
        "action.attempt_not_delivered",
        "executing",
        "failed",
        Seldom(TRIES),
    ),
    (
        "action.replan_required",
        "executing",
        "replan_required",
        Seldom("the version must move within the moment between the last read and the call"),
    ),
    (
        "action.resend_dropped",
        "unknown",
        "unknown",
        Seldom("needs a resend for which the time is up, or a clock that hides it"),
    ),
    (
        "action.withdrawn",
        "approved",
        "staged",
        Seldom("needs a change of mind within 20 seconds"),
    ),
    (
        "action.answer_kept",
        "executing",
        "executing",
        Seldom("no run of the simulation is answered over the network"),
    ),
    (
        "action.instigated",
        "staged",
        "staged",
        Seldom("no action of the simulation is a step of a run"),
    ),
    (
        "action.instigated",
        "accepted",
        "accepted",
        Seldom("no action of the simulation is a step of a run"),
    ),
    (
        "action.instigated",
        "approved",
        "approved",
        Seldom("no action of the simulation is a step of a run"),
    ),
    (
        "action.instigated",
        "executing",
        "executing",
        Seldom("no action of the simulation is a step of a run"),
    ),
    (
        "action.instigated",
        "unknown",
        "unknown",
        Seldom("no action of the simulation is a step of a run"),
    ),
    ("action.late_answer", "staged", "staged", Seldom(LATE)),
    ("action.late_answer", "approved", "approved", Seldom(LATE)),
    ("action.late_answer", "accepted", "accepted", Seldom(LATE)),
    ("action.late_answer", "executing", "executing", Seldom(LATE)),
    ("action.late_answer", "rejected", "rejected", Seldom(LATE)),
    ("action.late_answer", "expired", "expired", Seldom(LATE)),
    ("action.late_answer", "cancelled", "cancelled", Seldom(LATE)),
    (
        "action.late_answer",
        "replan_required",
        "replan_required",
        Seldom(LATE),
    ),
];

/// The transitions that the document lists.
pub(crate) fn listed() -> BTreeSet<Transition> {
    let document = include_str!("../../docs/TRANSITIONS.md");
    let rows = document.lines().filter(|line| line.starts_with("| `"));
    let words = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').collect();
        let [event, before, after] = cells[..] else {
            continue;
        };
        let Some(event) = words(event).pop() else {
            continue;
        };
        let before = match before.trim() {
            "not there yet" => vec!["none".to_owned()],
            "any" => STATUSES.map(str::to_owned).into(),
            _ => words(before),
        };
        for before in before {
            let after = match after.trim() {
                "as it was" => vec![before.clone()],
                _ => words(after),
            };
            let one = |after| (event.clone(), before.clone(), after);
            all.extend(after.into_iter().map(one));
        }
    }
    all
}

const STATUSES: [&str; 12] = [
    "staged",
    "approved",
    "accepted",
    "executing",
    "unknown",
    "succeeded",
    "failed",
    "rejected",
    "expired",
    "cancelled",
    "refused",
    "replan_required",
];

fn why(transition: &Transition) -> Option<Why> {
    let (event, before, after) = transition;
    let found = EXCEPT
        .iter()
        .find(|(e, b, a, _)| e == event && b == before && a == after);
    found.map(|(_, _, _, why)| *why)
}

/// What no seed took, each with why that is known, if it is.
pub(crate) struct Missed {
    pub(crate) lines: Vec<String>,
    /// What should have been taken, or should not.
    pub(crate) wrong: Vec<String>,
}

/// Compares what was taken with what is listed.
pub(crate) fn missed(taken: impl Fn(&Transition) -> bool) -> Missed {
    let all = listed();
    let mut missed = Missed {
        lines: Vec::new(),
        wrong: Vec::new(),
    };
    for transition in &all {
        let (event, before, after) = transition;
        let words = format!("{event}: {before} -> {after}");
        match (taken(transition), why(transition)) {
            (true, None | Some(Seldom(_))) => {}
            (true, Some(Never(reason))) => {
                missed
                    .wrong
                    .push(format!("{words} was taken, and cannot be: {reason}"));
            }
            (false, None) => missed.wrong.push(format!("{words} was never taken")),
            (false, Some(Never(reason) | Seldom(reason))) => {
                missed.lines.push(format!("{words} ({reason})"));
            }
        }
    }
    missed
}

#[test]
fn what_is_not_asked_for_is_listed() {
    let all = listed();
    assert!(60 < all.len(), "{all:?}");
    for (event, before, after, _) in EXCEPT {
        let transition = (
            (*event).to_owned(),
            (*before).to_owned(),
            (*after).to_owned(),
        );
        assert!(all.contains(&transition), "{transition:?}");
    }
}

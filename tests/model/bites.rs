//! Whether the model bites: mistakes around the core, and mistakes in it, must each be found.

use std::process::Command;

use crate::look;
use crate::steps::Mistake;

#[test]
fn mistakes_around_the_core_are_found_in_the_small_world() {
    let table = [
        (
            Mistake::SendsBeforeSync,
            "what leaves has a durable commit record",
        ),
        (Mistake::TellsBeforeSync, "what was told is kept"),
        (
            Mistake::WritesWithoutComparing,
            "what is decided can happen",
        ),
        (
            Mistake::SendsAgainOnTimeout,
            "a commit record is for one send",
        ),
        (
            Mistake::SkipsReading,
            "what leaves was approved, for the state as read",
        ),
        (
            Mistake::VotesByThePageOfNow,
            "no vote counts by an older page",
        ),
        (
            Mistake::DatesAnswersByTheirArrival,
            "not done is said only of what is not",
        ),
        (Mistake::ForgetsDoubts, "it ends, or a person's turn comes"),
    ];
    for (mistake, property) in table {
        let wrong = look(Some(mistake));
        let names: Vec<_> = wrong.iter().map(|(name, _)| *name).collect();
        assert!(
            names.contains(&property),
            "{mistake:?} is found as {wrong:?}"
        );
    }
}

#[test]
fn mistakes_in_the_core_are_found_in_the_small_world() {
    let table = [
        ("no_quiet_time", "not done is said only of what is not"),
        ("half_quiet_time", "not done is said only of what is not"),
        (
            "keyretention_from_last_send",
            "it takes effect at most once",
        ),
        ("cancel_claims_stopped", "what is decided can happen"),
        ("result_after_final", "what is decided can happen"),
        ("requester_may_approve", "the asking side has no vote"),
        (
            "expiry_only_by_timer",
            "no approval counts after the deadline",
        ),
    ];
    for (mistake, property) in table {
        let this = std::env::current_exe().expect("the path of this program");
        let output = Command::new(this)
            .args([
                "i01_i02_i03_i05_i08_i09_i10_i11_hold_in_every_order_of_every_step_of_a_small_world",
                "--exact",
            ])
            .args(["--nocapture"])
            .env("HOLDPOINT_SEEDED_BUG", mistake)
            .output()
            .expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(!output.status.success(), "{mistake} is not found:\n{text}");
        assert!(
            text.contains(&format!("not so: {property}")),
            "{mistake} is found as:\n{text}"
        );
    }
}

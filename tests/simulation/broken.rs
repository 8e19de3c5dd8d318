//! Whether the checks bite: mistakes are switched on, one at a time, in a process of their own, and
//! the simulation must find each.

use std::process::Command;

use crate::run::many;
use crate::world::Broken;

/// How many seeds a mistake may take to be found.
const FOUND_WITHIN: u64 = 1_200;

/// Lives through seeds in a process with the mistake. Answers with what it says that does not hold;
/// none where the engine meets it first, and ends the process.
fn found(mistake: &str) -> Option<String> {
    let this = std::env::current_exe().expect("the path of this program");
    let output = Command::new(this)
        .args([
            "tests::i01_to_i27_hold_under_every_fault",
            "--exact",
            "--nocapture",
        ])
        .env("HOLDPOINT_SEEDED_BUG", mistake)
        .env("SIM_SEEDS", FOUND_WITHIN.to_string())
        .env_remove("SIM_SEED")
        .output()
        .expect("it runs");
    output.status.code()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        !output.status.success(),
        "{mistake} was not found in {FOUND_WITHIN} seeds"
    );
    let line = text.lines().find(|line| line.starts_with("seed "));
    let line = line.unwrap_or_else(|| panic!("{mistake} ends it without a seed:\n{text}"));
    Some(line.to_owned())
}

/// Fails unless the mistake is found, as a breach of one of these invariants.
fn must_find(mistake: &str, invariants: &[&str]) {
    let found = found(mistake).unwrap_or_else(|| panic!("{mistake} ends the process"));
    let is_named = invariants
        .iter()
        .any(|name| found.contains(&format!(" {name}:")));
    assert!(is_named, "{mistake} is found as something else: {found}");
}

#[test]
fn i01_a_call_that_leaves_before_its_commit_record_is_durable_is_found() {
    must_find("send_before_sync", &["I1"]);
}

#[test]
fn i02_a_call_that_is_sent_again_on_a_timeout_is_found() {
    must_find("retry_on_timeout", &["I2"]);
}

#[test]
fn i10_no_quiet_time_is_found() {
    must_find("no_quiet_time", &["I10"]);
}

#[test]
fn i10_evidence_of_another_effect_is_found() {
    must_find("match_by_amount", &["I10"]);
}

#[test]
fn i04_votes_without_compare_and_append_are_found() {
    must_find("no_cas_vote", &["I3", "I4", "I6", "I8", "I11"]);
}

#[test]
fn i03_commits_without_compare_and_append_are_found() {
    // Blind over a late answer, it leaves an index that wakes nobody.
    must_find(
        "no_cas_commit",
        &["I2", "I3", "I4", "I6", "I9", "I11", "I27"],
    );
}

#[test]
fn i03_a_state_that_is_not_read_again_is_found() {
    must_find("skip_revalidation", &["I3"]);
}

#[test]
fn i09_votes_after_the_deadline_are_found() {
    must_find("expiry_only_by_timer", &["I9"]);
}

#[test]
fn i08_a_vote_of_the_asking_side_is_found() {
    must_find("requester_may_approve", &["I8"]);
}

#[test]
fn i03_a_digest_that_leaves_the_definition_out_is_found() {
    must_find("digest_without_tool", &["I3"]);
}

#[test]
fn i09_a_time_that_goes_back_is_found() {
    must_find("wall_clock_deadline", &["I9"]);
}

#[test]
fn i11_a_cancel_of_what_is_on_its_way_ends_the_process() {
    // What comes back of the call meets an action that it cannot be about: the engine ends itself.
    assert_eq!(found("cancel_claims_stopped"), None);
}

#[test]
fn i15_a_request_that_is_taken_twice_is_found() {
    must_find("webhook_replay_accepted", &["I4", "I15"]);
}

#[test]
fn i06_a_state_that_is_another_each_time_is_found() {
    must_find("hash_map_order_in_evolve", &["I6"]);
}

#[test]
fn i05_a_disk_that_acknowledges_before_it_syncs_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Disk);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.starts_with("I5") || what.starts_with("I1"), "{what}");
}

#[test]
fn i02_a_key_that_is_kept_from_the_last_send_on_is_found() {
    must_find("keyretention_from_last_send", &["I2", "I25"]);
}

#[test]
fn i01_a_call_that_leaves_while_it_is_paused_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Switch);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.contains("while it is paused"), "{what}");
}

#[test]
fn a_message_that_is_skipped_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Post);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.contains("messages"), "{what}");
}

#[test]
fn a_message_that_comes_again_though_it_was_taken_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::PostTwice);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.contains("though it has taken it"), "{what}");
}

#[test]
fn i27_a_doubt_that_nobody_looks_at_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Forgets);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    // Not even people see it.
    assert!(what.contains("and is not shown"), "{what}");
}

#[test]
fn i27_an_unknown_outcome_that_is_not_shown_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Hides);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.contains("and is not shown"), "{what}");
}

#[test]
fn i22_a_call_that_leaves_after_a_write_failed_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Deaf);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    // What was lost with that write is sent all the same.
    let names = ["I22", "I5", "I1:"];
    assert!(names.iter().any(|name| what.starts_with(name)), "{what}");
}

#[test]
fn i25_a_call_that_arrives_twice_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Twice);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.starts_with("I25") || what.starts_with("I10"), "{what}");
}

#[test]
fn i20_a_message_that_is_changed_on_its_way_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Forged);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.starts_with("I20"), "{what}");
}

#[test]
fn i13_a_call_that_is_written_anew_is_found() {
    must_find("reencode_after_digest", &["I13"]);
}

#[test]
fn i10_a_source_of_truth_that_lies_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::Source);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.starts_with("I10"), "{what}");
}

#[test]
fn i29_a_copy_that_is_started_without_a_confirmation_is_found() {
    must_find("restore_without_incarnation", &["I29"]);
}

#[test]
fn i29_what_was_on_its_way_in_a_copy_and_is_not_unknown_is_found() {
    let sum = many(0, FOUND_WITHIN, Broken::ForgetsCopies);
    let (_, what, _) = sum.wrong.first().expect("a violation");
    assert!(what.starts_with("I29"), "{what}");
}

#[test]
fn i16_a_secret_that_is_kept_from_an_answer_is_found() {
    must_find("secret_in_error", &["I16"]);
}

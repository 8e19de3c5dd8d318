//! Histories and events without end are not taken.

use std::sync::Arc;

use holdpoint_engine::canon::CanonicalJson;
use holdpoint_engine::limits::{
    RUN_EVENTS_MAX, RUN_SIGNALS_MAX, RUN_UNTAKEN_BYTES_MAX, RUN_UNTAKEN_MAX,
};
use holdpoint_engine::run::event::{Note, StepOutcome, Waiting};
use holdpoint_engine::run::{Command, End, RunRefusal};
use serde_json::json;

use super::{end, note, receive, resume, wait_for, waiting};
use crate::given::{Case, T0, begin, code, end_step, json_of, signal, skill};

/// A run whose history is full, with one step under way.
fn full() -> Case {
    let mut case = Case::new(code()).after([begin("1", "a"), wait_for("2", "go")]);
    case.run.events = RUN_EVENTS_MAX;
    case
}

#[test]
fn a_full_history_takes_the_ends_of_what_is_under_way_and_no_more() {
    for command in [
        begin("3", "b"),
        note("3", Note::Now(T0)),
        receive("2", "go"),
        signal("go", 1),
    ] {
        assert_eq!(full().wish(command), Err(RunRefusal::Full));
    }
    let mut case = full();
    assert_eq!(case.wish(waiting(Waiting::Approval)), Ok(Vec::new()));
    let words = RunRefusal::Full.to_string();
    assert!(words.contains("ContinueAsNew") && words.contains("10000"));
    let case = case.after([
        Command::Cancel { reason: None },
        end_step("1", StepOutcome::Cancelled),
        end(End::Cancelled),
    ]);
    assert_eq!(case.run.events, RUN_EVENTS_MAX + 3);
    let mut over = Case::new(skill()).after([end(End::Failed)]);
    over.run.events = RUN_EVENTS_MAX;
    assert_eq!(over.wish(resume()), Err(RunRefusal::Full));
}

#[test]
fn a_run_is_sent_so_many_events_of_one_name() {
    let mut case = Case::new(code());
    let one = Arc::new(json_of(&json!(1)));
    let all = vec![one; RUN_SIGNALS_MAX];
    case.run.signals.insert("go".to_owned(), all);
    let refused = RunRefusal::TooManySignals("go".to_owned());
    assert_eq!(case.wish(signal("go", 1)), Err(refused));
    case.wish(signal("stop", 1)).expect("another name");
}

#[test]
fn events_that_are_not_taken_are_bounded_in_number_and_bytes() {
    let mut case = Case::new(code());
    let data = Arc::new(json_of(&json!(1)));
    for name in 0..RUN_UNTAKEN_MAX / RUN_SIGNALS_MAX {
        let sent = vec![data.clone(); RUN_SIGNALS_MAX];
        case.run.signals.insert(format!("noise{name}"), sent);
    }
    let refused = case.wish(signal("go", 1)).expect_err("too many");
    assert!(matches!(
        refused,
        RunRefusal::TooManyUntaken {
            count: RUN_UNTAKEN_MAX,
            ..
        }
    ));
    let mut case = Case::new(code());
    let large = Arc::new(json_of(&json!("x".repeat(RUN_UNTAKEN_BYTES_MAX / 8 - 100))));
    case.run
        .signals
        .insert("data".to_owned(), vec![large.clone(); 7]);
    let more = |data: &CanonicalJson| Command::Signal {
        name: "data".to_owned(),
        data: data.clone(),
    };
    case.wish(more(&large)).expect("the eighth has room");
    case.run
        .signals
        .insert("data".to_owned(), vec![large.clone(); 8]);
    let refused = case.wish(more(&large)).expect_err("too large");
    assert!(refused.to_string().contains("not taken"), "{refused}");
    case = case.after([wait_for("1", "data"), receive("1", "data")]);
    case.wish(more(&large)).expect("there is room again");
}

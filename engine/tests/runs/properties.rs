//! What holds for any series of wishes.

use std::collections::BTreeSet;

use holdpoint_engine::limits::RUN_EVENTS_MAX;
use holdpoint_engine::run::event::{Heal, Note, StepOutcome, Waiting};
use holdpoint_engine::run::{Command, End, Event, Flags, Run};
use proptest::prelude::*;
use serde_json::json;

use crate::given::{
    Case, T0, action_id, begin, code, end_step, json_of, path, run_id, signal, skill, start,
};

fn outcomes() -> impl Strategy<Value = StepOutcome> {
    prop_oneof![
        3 => Just(StepOutcome::Passed),
        1 => Just(StepOutcome::Failed),
        1 => Just(StepOutcome::Withheld),
        1 => Just(StepOutcome::Rejected),
        1 => Just(StepOutcome::Expired),
        1 => Just(StepOutcome::ReplanRequired),
        1 => Just(StepOutcome::Cancelled),
        1 => Just(StepOutcome::Refused),
        1 => Just(StepOutcome::SettledNotDone),
    ]
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Passed),
        Just(End::Failed),
        Just(End::Cancelled),
        Just(End::Diverged),
        Just(End::Continued(run_id())),
    ]
}

fn notes() -> impl Strategy<Value = Note> {
    prop_oneof![
        1 => Just(Note::Now(T0)),
        1 => Just(Note::Random([1; 16])),
        1 => Just(Note::Sleep { until: T0 }),
        3 => Just(Note::WaitFor { name: "go".to_owned() }),
        1 => Just(Note::Woke),
    ]
}

/// Wishes of every kind, about few places, so that they meet.
fn commands() -> impl Strategy<Value = Command> {
    let places = || prop_oneof![Just("1"), Just("2"), Just("a/1"), Just("b/1")];
    let why = prop_oneof![
        Just(Waiting::Approval),
        Just(Waiting::Turn),
        Just(Waiting::Settlement),
        Just(Waiting::Call),
        Just(Waiting::Secret),
    ];
    let flags = any::<(bool, bool, bool)>().prop_map(|(allow_writes, yes, stage)| Flags {
        allow_writes,
        yes,
        stage,
    });
    let heal = Heal {
        level: 1,
        before: Vec::new(),
        after: Vec::new(),
        reason: "typo".to_owned(),
    };
    prop_oneof![
        6 => (places(), any::<bool>()).prop_map(|(at, a)| begin(at, if a { "a" } else { "b" })),
        6 => (places(), outcomes()).prop_map(|(at, outcome)| end_step(at, outcome)),
        1 => places().prop_map(|at| Command::SkipStep {
            path: path(at),
            title: at.to_owned(),
            reason: "when".to_owned(),
        }),
        2 => (places(), why).prop_map(|(at, why)| Command::Wait {
            path: path(at),
            action: action_id(),
            why,
        }),
        4 => (places(), notes()).prop_map(|(at, note)| Command::Note { path: path(at), note }),
        4 => places().prop_map(|at| Command::Receive { path: path(at), name: "go".to_owned() }),
        3 => any::<u8>().prop_map(|data| signal("go", data.into())),
        1 => places().prop_map(move |at| Command::Heal { path: path(at), heal: heal.clone() }),
        1 => Just(Command::Cancel { reason: None }),
        2 => flags.prop_map(|flags| Command::Resume { flags }),
        1 => ends().prop_map(|end| Command::End { end, output: json_of(&json!(1)), message: None }),
        1 => Just(start(code())),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    any::<bool>().prop_map(|is_code| Case::new(if is_code { code() } else { skill() }))
}

fn passed(run: &Run) -> BTreeSet<String> {
    let is_passed = |made: &holdpoint_engine::run::Made| {
        made.settled()
            .is_some_and(|report| report.outcome == StepOutcome::Passed)
    };
    let steps = run
        .steps
        .iter()
        .filter(|step| step.made().is_some_and(is_passed));
    steps.map(|step| step.path.to_string()).collect()
}

/// What must be so after each wish.
fn check(before: &Run, events: &[Event], after: &Run) {
    let done = passed(before);
    for event in events {
        if let Event::StepStarted { path, .. } = event {
            assert!(!done.contains(path.as_str()), "{path} passed, and began");
        }
    }
    assert!(
        passed(after).is_superset(&done),
        "what passed stays so: {events:?}"
    );
    if before.ended.is_some() {
        let only_resumed = events
            .iter()
            .all(|event| matches!(event, Event::Resumed { .. }));
        assert!(only_resumed, "after an end: {events:?}");
    }
    let received = after
        .notes
        .values()
        .flatten()
        .filter_map(|note| match note {
            Note::Received { name, index } => Some((name.clone(), *index)),
            _ => None,
        });
    let received: Vec<_> = received.collect();
    let different: BTreeSet<_> = received.iter().collect();
    assert_eq!(different.len(), received.len(), "an event was taken twice");
    assert_eq!(after.status().is_final(), after.ended.is_some());
}

proptest! {
    #[test]
    fn whatever_is_wished_the_core_keeps_its_promises(
        mut case in cases(),
        wishes in prop::collection::vec(commands(), 1..120),
    ) {
        for wish in wishes {
            let before = case.run.clone();
            let events = case.wish(wish).unwrap_or_default();
            check(&before, &events, &case.run);
        }
        prop_assert_eq!(case.run.events, case.events.len() as u64);
        prop_assert_eq!(case.replayed(), case.run, "the same events give the same state");
    }

    #[test]
    fn a_history_ends_however_long_it_is_asked_to_go_on(
        mut case in cases(),
        left in 0..20_u64,
        wishes in prop::collection::vec(commands(), 1..200),
    ) {
        case.run.events = RUN_EVENTS_MAX - left;
        let mut open_max = 0;
        for wish in wishes {
            let _refused = case.wish(wish);
            open_max = open_max.max(case.run.steps.iter().filter(|step| step.open().is_some()).count());
        }
        // The ends of the steps that were under way, a wish to end, and the end.
        let bound = RUN_EVENTS_MAX + open_max as u64 + 2;
        prop_assert!(case.run.events <= bound, "{} events", case.run.events);
    }
}

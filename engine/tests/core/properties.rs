//! What holds for any series of commands.

use holdpoint_engine::action::{
    Action, AttemptOutcome, AttemptResult, Command, Event, Finding, SafetyClass, Status, decide,
    evolve,
};
use holdpoint_engine::approval::{Need, Requirement};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use crate::given::{
    Case, T0, approve, found, id, json_of, need, proposal, reject, requirement, snapshot,
};

fn outcomes() -> impl Strategy<Value = AttemptOutcome> {
    let answer = || json_of(&json!({ "n": 1 }));
    prop_oneof![
        Just(AttemptOutcome::Done {
            http_status: Some(201),
            result: answer()
        }),
        Just(AttemptOutcome::Refused {
            http_status: Some(422),
            answer: answer()
        }),
        Just(AttemptOutcome::VersionMoved { answer: answer() }),
        Just(AttemptOutcome::NotDelivered {
            message: "refused".to_owned()
        }),
        Just(AttemptOutcome::Unknown {
            http_status: None,
            message: "lost".to_owned()
        }),
    ]
}

fn findings() -> impl Strategy<Value = Finding> {
    let evidence = || json_of(&json!([]));
    prop_oneof![
        Just(Finding::Happened {
            evidence: evidence()
        }),
        Just(Finding::NotFound {
            evidence: evidence()
        }),
        Just(Finding::Inconclusive {
            message: "503".to_owned()
        }),
    ]
}

/// Commands of every kind; most fit the case, some are stale, early, foreign or wrong.
fn commands() -> impl Strategy<Value = Command> {
    let names = prop_oneof![Just("ana"), Just("ben"), Just("owner")];
    prop_oneof![
        (names.clone(), any::<bool>()).prop_map(|(name, yes)| {
            if yes {
                approve(name, T0)
            } else {
                reject(name, T0)
            }
        }),
        names.clone().prop_map(|name| approve(name, T0)),
        names.prop_map(|name| Command::Withdraw {
            by: format!("per_{name}"),
            reason: None,
            at: T0
        }),
        Just(Command::Cancel {
            by: "key_checkout".to_owned(),
            reason: None,
            at: T0
        }),
        Just(Command::ReachDeadline { at: T0 }),
        Just(Command::Defer {
            message: "503".to_owned(),
            at: T0
        }),
        (0..4_u8).prop_map(|moved| {
            let mut revalidation = found();
            match moved {
                0 => revalidation.snapshot = Some(snapshot(1)),
                1 => revalidation.tool_digest = Some(Digest::of(b"other")),
                _ => {}
            }
            Command::Commit {
                revalidation,
                at: T0,
            }
        }),
        (0..4_u32, outcomes()).prop_map(|(attempt, outcome)| Command::Record {
            attempt,
            outcome,
            at: T0
        }),
        (0..4_u32, findings()).prop_map(|(attempt, finding)| Command::Check {
            attempt,
            finding,
            asked_at: T0,
            at: T0
        }),
        any::<bool>().prop_map(|happened| Command::Settle {
            by: "per_op".to_owned(),
            happened,
            reason: "seen".to_owned(),
            at: T0
        }),
    ]
}

fn starts() -> impl Strategy<Value = Case> {
    let needs: Vec<Vec<Need>> = vec![
        vec![need(1, &[])],
        vec![need(1, &[]), need(2, &["finance"])],
    ];
    (
        0..4_usize,
        any::<bool>(),
        prop_oneof![Just(0_u64), Just(30_000)],
    )
        .prop_map(move |(kind, restage, hold_ms)| match kind {
            0 => Case::accepted(SafetyClass::WriteOnceCheckable),
            1 => Case::accepted(SafetyClass::Irreversible),
            _ => {
                let mut proposal = proposal(SafetyClass::ApprovalBound);
                proposal.terms.restage = restage;
                let requirement = Requirement {
                    hold_ms,
                    ..requirement(needs[kind - 2].clone())
                };
                Case::staged_with(proposal, requirement)
            }
        })
}

/// The same command, a little later.
fn at_moment(command: Command, moment: Timestamp) -> Command {
    let mut command = command;
    match &mut command {
        Command::Submit { at, .. }
        | Command::Refuse { at, .. }
        | Command::Vote { at, .. }
        | Command::Withdraw { at, .. }
        | Command::Cancel { at, .. }
        | Command::ReachDeadline { at }
        | Command::Defer { at, .. }
        | Command::Commit { at, .. }
        | Command::Record { at, .. }
        | Command::Settle { at, .. } => *at = moment,
        Command::Check { asked_at, at, .. } => {
            *asked_at = moment;
            *at = moment;
        }
    }
    command
}

/// What must hold between an action and the event that comes next.
fn check_step(before: &Action, event: &Event, after: &Action) {
    assert!(
        !before.status().is_final() || before.phase == after.phase,
        "i11: {event:?}"
    );
    if let Event::CommitRecorded { attempt, .. } = event {
        let earlier = &before.attempts;
        assert_eq!(*attempt as usize, earlier.len() + 1);
        let proved = earlier
            .iter()
            .all(|a| a.result == Some(AttemptResult::NotDone));
        assert!(proved, "i02: an earlier attempt may have taken effect");
        if before.proposal.class == SafetyClass::ApprovalBound {
            assert_eq!(before.status(), Status::Approved, "i03");
            assert!(
                before
                    .deadline()
                    .is_some_and(|deadline| event.at() < deadline),
                "i09"
            );
        }
    }
    let open = after
        .attempts
        .iter()
        .filter(|attempt| attempt.result.is_none())
        .count();
    assert_eq!(open, usize::from(after.status() == Status::Executing));
    let done = after
        .attempts
        .iter()
        .filter(|a| a.result == Some(AttemptResult::Done))
        .count();
    assert_eq!(
        done,
        usize::from(after.status() == Status::Succeeded),
        "i25"
    );
    let waits = !after.status().is_final() && after.status() != Status::Unknown;
    assert!(
        !waits || after.due_at().is_some(),
        "i27: nothing would ever look at it again"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn evolve_accepts_whatever_decide_emits_for_any_series_of_commands(
        start in starts(),
        series in prop::collection::vec((commands(), 0..40_000_i64), 1..40),
    ) {
        let mut now = T0;
        let mut case = start;
        for (command, pause) in series {
            now = Timestamp(now.0 + pause);
            let Ok(events) = decide(Some(&case.action), at_moment(command, now)) else { continue };
            for event in events {
                let after = evolve(Some(case.action.clone()), id(), &event)
                    .expect("what was decided is legal");
                check_step(&case.action, &event, &after);
                case.action = after;
                case.events.push(event);
            }
        }
        // i06: the state is a function of the events alone.
        let mut replayed = None;
        for event in &case.events {
            replayed = Some(evolve(replayed, id(), event).expect("the log is legal"));
        }
        prop_assert_eq!(replayed, Some(case.action));
    }

    #[test]
    fn a_refused_command_and_a_repeat_change_nothing(
        start in starts(),
        command in commands(),
    ) {
        let once = decide(Some(&start.action), command.clone());
        prop_assert_eq!(decide(Some(&start.action), command), once, "deciding is pure");
    }
}

#[test]
fn i26_the_same_events_give_the_same_bytes() {
    let names: Vec<String> = (0..12).map(|number| format!("p{number}")).collect();
    let needs = requirement(vec![need(12, &[])]);
    let mut case = Case::staged_with(proposal(SafetyClass::ApprovalBound), needs);
    for name in &names {
        case = case.then(approve(name, T0));
    }
    let bytes = |action: &Action| {
        bincode::encode_to_vec(action, bincode::config::standard()).expect("it is stored")
    };
    for _ in 0..3 {
        let mut replayed = None;
        for event in &case.events {
            replayed = Some(evolve(replayed, id(), event).expect("the log is legal"));
        }
        let replayed = replayed.expect("there are events");
        assert_eq!(bytes(&replayed), bytes(&case.action));
    }
}

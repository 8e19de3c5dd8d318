//! What holds for any series of commands.

mod checks;
mod resend;

use holdpoint_engine::action::{
    Action, Arrangement, AttemptOutcome, Command, Finding, Holder, SafetyClass, WorkReport, decide,
    evolve,
};
use holdpoint_engine::approval::{Need, Requirement};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::{Elapsed, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use crate::given::{
    Case, T0, approve, claim, found, id, instigator, json_of, need, proposal, reject, requirement,
    snapshot,
};
use checks::check_step;

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

/// Leases that workers may speak of: the epoch stands for that of the first or second claim, or for
/// none, and is put in by [`at_moment`].
fn holders() -> impl Strategy<Value = Holder> {
    (1..4_u32, any::<bool>(), 0..3_u64).prop_map(|(attempt, first, epoch)| Holder {
        attempt,
        worker: if first { "key_anton" } else { "key_berta" }.to_owned(),
        epoch,
    })
}

/// The epoch that the holder means: mostly the one that its attempt has.
fn meant(action: &Action, holder: &mut Holder) {
    let place = usize::try_from(holder.attempt - 1).expect("small");
    let lease = action
        .attempts
        .get(place)
        .and_then(|held| held.lease.as_ref());
    if let Some(lease) = lease.filter(|_| 0 < holder.epoch) {
        holder.epoch = lease.epoch;
    }
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
            at: T0,
            elapsed: Elapsed::by_clock(T0)
        }),
        Just(Command::Cancel {
            by: "key_checkout".to_owned(),
            reason: None,
            at: T0
        }),
        (any::<bool>(), any::<bool>()).prop_map(|(ana, may_have_approved)| Command::Instigate {
            by: vec![instigator(if ana { "ana" } else { "opa" }, None)],
            may_have_approved,
            at: T0
        }),
        Just(Command::ReachDeadline { at: T0 }),
        Just(Command::Remind { at: T0 }),
        Just(Command::Defer {
            message: "503".to_owned(),
            at: T0
        }),
        (0..4_u8, any::<bool>()).prop_map(|(moved, again)| {
            let mut revalidation = found();
            match moved {
                0 => revalidation.snapshot = Some(snapshot(1)),
                1 => revalidation.tool_digest = Some(Digest::of(b"other")),
                _ => {}
            }
            let at = T0;
            if again {
                Command::Resend { revalidation, at }
            } else {
                Command::Commit {
                    revalidation,
                    at,
                    elapsed: Elapsed::by_clock(at),
                }
            }
        }),
        (0..4_u32, outcomes()).prop_map(|(attempt, outcome)| Command::Record {
            attempt,
            outcome,
            at: T0,
            answer: None
        }),
        (0..4_u32, findings()).prop_map(|(attempt, finding)| Command::Check {
            attempt,
            finding,
            asked_at: T0,
            at: T0
        }),
        any::<bool>().prop_map(|first| claim(if first { "anton" } else { "berta" }, T0)),
        (holders(), 5_000..30_000_u64).prop_map(|(holder, lease_ms)| Command::Heartbeat {
            holder,
            lease_ms,
            at: T0
        }),
        (holders(), outcomes(), 0..2_u8).prop_map(|(holder, outcome, said)| Command::Report {
            holder,
            report: WorkReport {
                outcome,
                digest: Digest::of(&[said]),
                evidence: Some(json_of(&json!(said))),
                tells_more: said == 1,
            },
            at: T0
        }),
        Just(Command::ReachLeaseEnd { at: T0 }),
        Just(Command::LoseAttempt { at: T0 }),
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
    let arranged = (
        prop::option::of(0..200_000_i64),
        prop::option::of(0..400_000_u64),
    );
    let plain = (
        0..6_usize,
        any::<bool>(),
        prop_oneof![Just(0_u64), Just(30_000)],
    )
        .prop_map(move |(kind, restage, hold_ms)| match kind {
            0 => Case::accepted(SafetyClass::WriteOnceCheckable),
            1 => Case::accepted(SafetyClass::Irreversible),
            2 => Case::pulled(SafetyClass::WriteOnceCheckable),
            3 => Case::pulled_staged(),
            _ => {
                let mut proposal = proposal(SafetyClass::ApprovalBound);
                proposal.terms.restage = restage;
                let requirement = Requirement {
                    hold_ms,
                    ..requirement(needs[kind - 4].clone())
                };
                Case::staged_with(proposal, requirement)
            }
        });
    (plain, arranged).prop_map(|(case, (not_before, key_kept_ms))| {
        case.arranged(Arrangement {
            not_before: not_before.map(|ms| Timestamp(T0.0 + ms)),
            key_kept_ms,
            instigators: Vec::new(),
        })
    })
}

/// The same command, a little later.
fn at_moment(action: &Action, command: Command, moment: Timestamp) -> Command {
    let mut command = command;
    if let Command::Heartbeat { holder, .. } | Command::Report { holder, .. } = &mut command {
        meant(action, holder);
    }
    match &mut command {
        Command::Submit { at, .. }
        | Command::Refuse { at, .. }
        | Command::Vote { at, .. }
        | Command::Cancel { at, .. }
        | Command::Instigate { at, .. }
        | Command::ReachDeadline { at }
        | Command::Remind { at }
        | Command::Resend { at, .. }
        | Command::DropResend { at, .. }
        | Command::Defer { at, .. }
        | Command::Heartbeat { at, .. }
        | Command::Report { at, .. }
        | Command::ReachLeaseEnd { at }
        | Command::LoseAttempt { at }
        | Command::Record { at, .. }
        | Command::Settle { at, .. } => *at = moment,
        Command::Withdraw { elapsed, at, .. }
        | Command::Commit { elapsed, at, .. }
        | Command::Claim { elapsed, at, .. } => {
            *elapsed = Elapsed::by_clock(moment);
            *at = moment;
        }
        Command::Check { asked_at, at, .. } => {
            *asked_at = moment;
            *at = moment;
        }
    }
    command
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
            let command = at_moment(&case.action, command, now);
            let Ok(events) = decide(Some(&case.action), command) else { continue };
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

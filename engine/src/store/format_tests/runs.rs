//! The events of runs.

mod later;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use holdpoint_storage::{Hash, Record};
use serde_json::json;

use super::{AT, LATER, hex, json_of, proposal, samples};
use crate::action::ActionId;
use crate::canon::Digest;
use crate::run::event::{Assert, Heal, Note, StepCall, StepOutcome, StepReport, Verdict, Waiting};
use crate::run::{End, Event, Flags, Origin, RunId, RunSummary, Start, StepPath, evolve, layout};
use crate::tool::EffectClass;

fn run_id() -> RunId {
    RunId::from_bytes([9; 16])
}

fn path() -> StepPath {
    StepPath::new("refund/2").expect("a path")
}

fn flags() -> Flags {
    Flags {
        allow_writes: true,
        yes: false,
        stage: true,
    }
}

fn started(origin: Origin) -> Event {
    Event::Started(Box::new(Start {
        origin,
        input: json_of(&json!({ "order": "8812" })),
        secrets: BTreeSet::from(["token".to_owned()]),
        flags: flags(),
        caller: proposal().caller,
        unattended: true,
        schedule: Some("nightly".to_owned()),
        continues: Some(RunId::from_bytes([8; 16])),
    }))
}

fn begun(verdict: Verdict, effect: EffectClass) -> Event {
    Event::StepStarted {
        path: path(),
        call: StepCall {
            number: 2,
            title: "Refund it".to_owned(),
            intent: Some("The customer sent it back".to_owned()),
            tool: "issue_refund".to_owned(),
            args: json_of(&json!({ "amount_minor": 1200 })),
            effect,
            verdict,
            notes: vec!["effect: read in the file".to_owned()],
        },
    }
}

fn waiting(why: Waiting) -> Event {
    Event::StepWaiting {
        path: path(),
        action: ActionId::from_bytes([7; 16]),
        why,
    }
}

fn step_ended(outcome: StepOutcome) -> Event {
    Event::StepEnded {
        path: path(),
        report: Box::new(StepReport {
            outcome,
            failures: vec!["status is 422".to_owned()],
            action: Some(ActionId::from_bytes([7; 16])),
            attempts: 1,
            http_status: Some(422),
            answer: json_of(&json!({ "left": 3 })),
            asserts: vec![Assert {
                text: "status is 201".to_owned(),
                passed: false,
                seen: Some("422".to_owned()),
            }],
            binds: BTreeMap::from([("left".to_owned(), json_of(&json!(3)))]),
            notes: Vec::new(),
        }),
    }
}

fn ended(end: End) -> Event {
    Event::Ended {
        end,
        output: json_of(&json!({ "done": true })),
        message: Some("a step failed".to_owned()),
    }
}

/// How a run and its steps begin.
fn beginnings() -> Vec<Event> {
    let (skill, code) = (
        Origin::Skill {
            name: "release".to_owned(),
            text: "---\nname: release\n---\n".to_owned(),
            digest: Digest::of(b"file"),
        },
        Origin::Code {
            name: "order_cancel".to_owned(),
            version: 3,
        },
    );
    vec![
        started(skill),
        started(code),
        begun(Verdict::Go, EffectClass::Read),
        begun(Verdict::Stage, EffectClass::IdempotentWrite),
        begun(Verdict::NeedsAllowWrites, EffectClass::IdempotentWrite),
        begun(Verdict::NeedsYes, EffectClass::Destructive),
        begun(Verdict::NotAsApproved, EffectClass::Destructive),
        waiting(Waiting::Approval),
        waiting(Waiting::Turn),
        waiting(Waiting::Settlement),
        Event::StepSkipped {
            path: path(),
            title: "Refund it".to_owned(),
            reason: "its condition does not hold".to_owned(),
        },
    ]
}

/// What happens on the way.
fn happenings() -> Vec<Event> {
    let (name, index) = ("go".to_owned(), 4);
    let notes = [
        Note::Now(AT),
        Note::Random([5; 16]),
        Note::Sleep { until: LATER },
        Note::WaitFor { name: name.clone() },
        Note::Received { name, index },
        Note::Woke,
    ];
    let noted = notes.map(|note| Event::Noted { path: path(), note });
    let others = [
        Event::Signalled {
            name: "go".to_owned(),
            data: json_of(&json!([1])),
        },
        Event::Healed {
            path: path(),
            heal: Heal {
                level: 2,
                before: vec!["- action: a {}".to_owned()],
                after: vec!["- action: b {}".to_owned()],
                reason: "renamed".to_owned(),
            },
        },
        Event::CancelRequested {
            reason: Some("not needed".to_owned()),
        },
        Event::Resumed { flags: flags() },
    ];
    noted.into_iter().chain(others).collect()
}

/// How steps and runs end.
fn endings() -> Vec<Event> {
    let steps = [
        StepOutcome::Passed,
        StepOutcome::Failed,
        StepOutcome::Withheld,
        StepOutcome::Rejected,
        StepOutcome::Expired,
        StepOutcome::ReplanRequired,
        StepOutcome::Cancelled,
        StepOutcome::Refused,
        StepOutcome::SettledNotDone,
    ];
    let runs = [
        End::Passed,
        End::Failed,
        End::Rejected,
        End::Expired,
        End::ReplanRequired,
        End::Cancelled,
        End::Diverged,
        End::Continued(RunId::from_bytes([8; 16])),
    ];
    let steps = steps.into_iter().map(step_ended);
    steps.chain(runs.into_iter().map(ended)).collect()
}

fn record(kind: &str, body: Vec<u8>) -> Record {
    Record {
        position: 1,
        stream: layout::stream_of(run_id()),
        version: 1,
        time_ms: AT.0,
        actor: "engine".to_owned(),
        kind: kind.to_owned(),
        body,
        prev: Hash::default(),
        hash: Hash::default(),
    }
}

fn body_of(event: &Event) -> Vec<u8> {
    let new = layout::record(event, "engine", AT).expect("encoded");
    new.body
}

#[test]
fn i26_the_first_format_of_the_events_of_runs_is_still_read() {
    let events = [beginnings(), happenings(), endings()].concat();
    let kinds: BTreeSet<_> = events.iter().map(Event::kind).collect();
    assert_eq!(kinds.len(), 11, "a sample of each kind");
    are_read("runs-1.txt", &events);
}

fn are_read(file: &str, events: &[Event]) {
    let mut fresh = String::new();
    for event in events {
        writeln!(fresh, "{} {}", event.kind(), hex(&body_of(event))).expect("text grows");
    }
    let stored = samples(file, &fresh);
    assert_eq!(stored.len(), events.len());
    for (event, (kind, body)) in events.iter().zip(stored) {
        assert_eq!(body_of(event), body, "{kind} is written as ever");
        let read = layout::event_of(&record(&kind, body)).expect("read");
        assert_eq!(read, *event, "{kind} is read as ever");
    }
}

#[test]
fn damaged_events_of_runs_are_errors_and_never_panics() {
    for event in [beginnings(), happenings(), endings()].concat() {
        let (kind, body) = (event.kind(), body_of(&event));
        for length in 0..body.len() {
            let cut = record(kind, body[..length].to_vec());
            assert!(layout::event_of(&cut).is_err(), "{kind} cut at {length}");
        }
        let longer = [body.as_slice(), &[0]].concat();
        assert!(layout::event_of(&record(kind, longer)).is_err(), "{kind}");
        let mut newer = body.clone();
        newer[0] = 2;
        assert!(layout::event_of(&record(kind, newer)).is_err(), "{kind}");
        assert!(layout::event_of(&record("run.other", body)).is_err());
    }
}

#[test]
fn a_summary_is_read_as_it_was_written() {
    let run = evolve(None, run_id(), AT, &beginnings()[0]).expect("a run");
    let run = evolve(Some(run), run_id(), LATER, &ended(End::Rejected)).expect("it ends");
    let (puts, deletes) = layout::entries(&run).expect("encoded");
    assert_eq!((puts.len(), deletes.len()), (1, 1), "it is not open");
    let log = holdpoint_storage::MemoryLog::new();
    let read = layout::summary(&log, &puts[0].key, &puts[0].value).expect("read");
    assert_eq!(read, RunSummary::of(&run));
    for length in 0..puts[0].value.len() {
        // The stream, where it would be made from again, is not there either.
        assert!(layout::summary(&log, &puts[0].key, &puts[0].value[..length]).is_err());
    }
    assert!(layout::summary(&log, &puts[0].key[..15], &puts[0].value).is_err());
}

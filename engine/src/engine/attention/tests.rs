//! Whose turn it is, where there are more than are explained at once.

use holdpoint_storage::memory::MemoryLog;
use holdpoint_storage::{Batch, IndexPut};
use serde_json::Value;

use super::*;
use crate::action::{
    Action, Attempt, AttemptResult, FailReason, Phase, SafetyClass, WORKER_METHOD, Window, evolve,
};
use crate::canon::CanonicalJson;
use crate::store::format_tests::staged;
use crate::store::index::Entries;

const NOW: Timestamp = Timestamp(1_900_000_000_000);

fn action(number: u64, phase: Phase) -> Action {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    let id = ActionId::from_bytes(bytes);
    let mut action = evolve(None, id, &staged()).expect("a first event");
    action.phase = phase;
    action
}

/// One whose source of truth is asked again in a moment, or never.
fn unknown_until(next_check: Option<Timestamp>) -> Phase {
    Phase::Unknown {
        since: Timestamp(1),
        quiet_at: Timestamp(1),
        checks: 20,
        next_check,
        next_resend: None,
    }
}

async fn put(log: &MemoryLog, action: Action) {
    let view = Versioned { version: 1, action };
    let mut puts = vec![IndexPut {
        index: index::VIEW,
        key: view.action.id.as_bytes().to_vec(),
        value: codec::encode_view(&view).expect("encodable"),
    }];
    let entries = Entries::of(&view.action);
    puts.extend(entries.without(&Entries::default()).map(|entry| IndexPut {
        index: entry.index,
        key: entry.key,
        value: entry.value,
    }));
    let batch = Batch {
        puts,
        ..Batch::default()
    };
    log.append(batch).await.expect("appended");
}

#[tokio::test]
async fn i27_what_only_a_person_can_end_comes_before_all_that_is_still_being_asked_about() {
    let log = MemoryLog::new();
    let asked = ATTENTION_MAX as u64 + 20;
    for number in 0..asked {
        put(&log, action(number, unknown_until(Some(NOW)))).await;
    }
    let lone = action(asked, unknown_until(None));
    put(&log, lone.clone()).await;
    // A worker's is due at its deadline only, and one that needs no approval never.
    let run_at = Timestamp(NOW.0 - 120_000);
    let mut pulled = action(asked + 1, Phase::Accepted { run_at });
    pulled.approval = None;
    if let Some(request) = &mut pulled.request {
        WORKER_METHOD.clone_into(&mut request.method);
    }
    put(&log, pulled.clone()).await;
    // Called by the engine: one stands still, one is not due yet.
    put(&log, action(asked + 2, Phase::Accepted { run_at })).await;
    put(&log, action(asked + 3, Phase::Accepted { run_at: NOW })).await;

    let total = open_of(&log, Status::Unknown).expect("readable");
    let found = attention(&log, false, total, &[], &Elapsed::by_clock(NOW)).expect("readable");
    assert_eq!(found.unknown.len(), ATTENTION_MAX);
    assert_eq!(found.unknown[0].view.action.id, lone.id);
    assert_eq!(found.unknown_total, asked + 1);
    let stuck: Vec<_> = found.stuck.iter().map(|one| one.view.action.id).collect();
    assert_eq!(stuck.len(), 2, "they have a share of their own");
    assert!(stuck.contains(&pulled.id));
    assert_eq!((found.stuck_total, found.left_off()), (2, [21, 0, 0, 0]));
}

#[tokio::test]
async fn an_alarm_is_told_for_days_the_last_one_first_and_is_no_plain_refusal() {
    let log = MemoryLog::new();
    let shown_ms = ALARM_SHOWN_DAYS * 24 * 60 * 60 * 1000;
    let refused = |number: u64, status: u16, ago_ms: u64| {
        let answer = CanonicalJson::of(&Value::Null);
        let mut action = action(number, Phase::Failed(FailReason::TargetRefused { answer }));
        let at = Timestamp(NOW.0.saturating_sub_unsigned(ago_ms));
        let answered = Attempt {
            number: 1,
            started_at: at,
            send_deadline: at,
            ended_at: Some(at),
            result: Some(AttemptResult::NotDone),
            http_status: Some(status),
            note: None,
            window: Window::Open,
            request_digest: action.proposal.digest,
            lease: None,
            etag: None,
            is_resend: false,
            secret: None,
        };
        action.attempts.push(answered);
        action
    };
    let mut read = refused(6, 422, 1);
    read.proposal.class = SafetyClass::Idempotent;
    let told = [
        refused(1, 422, shown_ms + 1),
        refused(2, 422, shown_ms - 1),
        refused(3, 422, 5),
        refused(4, 400, 5),
        action(5, unknown_until(None)),
        read,
    ];
    for action in told {
        put(&log, action).await;
    }
    let found = attention(&log, false, 1, &[], &Elapsed::by_clock(NOW)).expect("readable");
    let ids = found.alarms.iter().map(|one| one.view.action.id);
    let wanted = [3, 2].map(|number| action(number, unknown_until(None)).id);
    assert_eq!(ids.collect::<Vec<_>>(), wanted);
    assert_eq!((found.alarm_total, found.left_off()), (2, [0; 4]));
    assert_eq!(found.iter().count(), 3);
}

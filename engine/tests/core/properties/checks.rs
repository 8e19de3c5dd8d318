//! What must hold between an action and the event that comes next.

use holdpoint_engine::action::{Action, AttemptResult, Event, SafetyClass, Status};

use super::resend;

/// What must hold between an action and the event that comes next.
pub(super) fn check_step(before: &Action, event: &Event, after: &Action) {
    assert!(
        !before.status().is_final() || before.phase == after.phase,
        "i11: {event:?}"
    );
    let stays = |by| after.instigators.contains(by);
    assert!(
        before.instigators.iter().all(stays),
        "i08: nobody leaves the asking side"
    );
    if let Event::VoteRecorded { cast, .. } = event {
        assert!(
            !before.requester().instigators.contains(&cast.voter.id),
            "i08"
        );
    }
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
    check_leases(before, event, after);
    resend::check(before, event, after);
    if let (Some(not_before), Event::CommitRecorded { at, .. }) = (before.not_before, event) {
        assert!(not_before <= *at, "it is scheduled for later");
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

/// One worker an attempt, one outcome an attempt, and nobody speaks for a lease that has ended.
fn check_leases(before: &Action, event: &Event, after: &Action) {
    let live = after
        .attempts
        .iter()
        .filter(|held| held.result.is_none() && held.lease.is_some())
        .count();
    assert!(live <= 1, "i12: two workers have it");
    let epochs: Vec<u64> = after
        .attempts
        .iter()
        .filter_map(|held| Some(held.lease.as_ref()?.epoch))
        .collect();
    assert!(
        epochs.is_sorted_by(|one, next| one < next),
        "i12: {epochs:?}"
    );
    if let Event::WorkReported { attempt, at, .. } = event {
        let held = before.attempts.last().expect("an attempt");
        let lease = held.lease.as_ref().expect("a lease");
        assert_eq!(held.number, *attempt, "i12: an old lease");
        assert!(
            held.result.is_none() && lease.reported.is_none(),
            "i12: a second outcome"
        );
        assert!(*at < lease.until, "i12: the lease had ended");
    }
    for (old, new) in before.attempts.iter().zip(&after.attempts) {
        let is_settled = matches!(
            old.result,
            Some(AttemptResult::Done | AttemptResult::NotDone)
        );
        assert!(
            !is_settled || old.result == new.result,
            "i11: an outcome that changed"
        );
        assert!(
            old.send_deadline <= new.send_deadline,
            "i10: a shorter quiet time"
        );
    }
    if let Event::CommitRecorded { .. } | Event::LeaseGranted { .. } = event {
        let with_lease = before.is_pulled();
        let is_lease = matches!(event, Event::LeaseGranted { .. });
        assert!(with_lease || !is_lease, "the engine calls it itself");
    }
}

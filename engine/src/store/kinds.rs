//! The kinds of records that this version knows (invariant I26).
//!
//! A record of a kind that a newer version wrote means something that this one cannot weigh: it may
//! have taken back an approval. So an unknown kind stops the start. How far the log was looked through,
//! and for which kinds, is kept, so that a start looks at the new records only; another version, which
//! knows other kinds, looks at all of them again.

use holdpoint_storage::{EventLog, IndexPut, Position};
use sha2::{Digest as _, Sha256};

use super::codec;
use super::index;
use super::rebuild::RebuildError;

/// Every kind, sorted.
pub(crate) const KNOWN: &[&str] = &[
    "action.accepted",
    "action.answer_kept",
    "action.approved",
    "action.attempt_not_delivered",
    "action.attempt_refused",
    "action.attempt_succeeded",
    "action.attempt_unknown",
    "action.cancelled",
    "action.check_inconclusive",
    "action.commit_recorded",
    "action.deferred",
    "action.expired",
    "action.found_done",
    "action.found_not_done",
    "action.instigated",
    "action.key_kept",
    "action.late_answer",
    "action.lease_extended",
    "action.lease_granted",
    "action.lease_keyed",
    "action.refused",
    "action.rejected",
    "action.reminded",
    "action.replan_required",
    "action.resend_dropped",
    "action.resend_failed",
    "action.resend_planned",
    "action.resend_recorded",
    "action.restaged",
    "action.scheduled",
    "action.secret_named",
    "action.settled",
    "action.staged",
    "action.vote_recorded",
    "action.withdrawn",
    "action.work_reported",
    "engine.paused",
    "engine.resumed",
    "engine.tools_changed",
    "incarnation.confirmed",
    "key.created",
    "key.revoked",
    "link.created",
    "link.redeemed",
    "person.changed",
    "person.created",
    "person.disabled",
    "person.enabled",
    "person.password_set",
    "run.cancel_requested",
    "run.ended",
    "run.healed",
    "run.instigated",
    "run.noted",
    "run.resumed",
    "run.signalled",
    "run.started",
    "run.step_ended",
    "run.step_skipped",
    "run.step_started",
    "run.step_waiting",
    "schedule.created",
    "schedule.deleted",
    "schedule.fired",
    "schedule.paused",
    "schedule.resumed",
    "schedule.skipped",
    "session.ended",
    "session.started",
    "sign_in.refused",
    "webhook.changed",
    "webhook.created",
    "webhook.deleted",
    "webhook.delivery_exhausted",
    "webhook.disabled",
    "webhook.enabled",
    "webhook.progressed",
    "webhook.secret_rotated",
];

const FORMAT: u8 = 1;
const PAGE: usize = 512;

/// Looks at the kinds of the records that were not looked at before.
pub(crate) fn check(log: &dyn EventLog) -> Result<(), RebuildError> {
    let mut position = checked(log)?;
    loop {
        let records = log.read_all(position, PAGE)?;
        let Some(last) = records.last() else {
            return Ok(());
        };
        position = last.position;
        for record in &records {
            if KNOWN.binary_search(&record.kind.as_str()).is_err() {
                let reason = format!(
                    "this version does not know records of the kind {:?}; start the version that wrote it",
                    record.kind
                );
                return Err(RebuildError::unreadable(record.position, reason));
            }
        }
    }
}

/// Notes that every record up to `position` is of a known kind.
pub(crate) fn checkpoint(position: Position) -> Result<IndexPut, codec::CodecError> {
    Ok(IndexPut {
        index: index::META,
        key: index::META_KINDS.to_vec(),
        value: codec::encode(FORMAT, (fingerprint(), position))?,
    })
}

/// How far the log was looked through by a version that knows the same kinds.
fn checked(log: &dyn EventLog) -> Result<Position, RebuildError> {
    let Some(bytes) = log.get(index::META, index::META_KINDS)? else {
        return Ok(0);
    };
    // What cannot be read is looked through again.
    Ok(
        match codec::decode::<([u8; 32], Position)>(FORMAT, &bytes) {
            Ok((kinds, position)) if kinds == fingerprint() => position,
            Ok(_) | Err(_) => 0,
        },
    )
}

fn fingerprint() -> [u8; 32] {
    Sha256::digest(KNOWN.join("\n")).into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn i26_every_kind_that_is_written_is_known_and_no_other() {
        let sources = [
            include_str!("../action/kind.rs"),
            include_str!("../identity/event.rs"),
            include_str!("../incarnation.rs"),
            include_str!("pause.rs"),
            include_str!("tools.rs"),
            include_str!("../run/event.rs"),
            include_str!("../schedule/event.rs"),
            include_str!("../webhook/event.rs"),
        ];
        let named: BTreeSet<&str> = sources
            .iter()
            .flat_map(|source| source.lines())
            .filter(|line| line.contains("Self::") || line.starts_with("pub(crate) const"))
            .filter_map(|line| line.split('"').nth(1))
            .filter(|name| name.contains('.'))
            .collect();
        let named: Vec<&str> = named.into_iter().collect();
        assert_eq!(named, KNOWN);
    }
}

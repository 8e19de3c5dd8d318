//! What leaves, and what is known of how it ended.

use std::collections::BTreeSet;

use holdpoint_engine::action::{Event, Resend, SafetyClass, Snapshot};
use holdpoint_engine::target::Outgoing;
use holdpoint_engine::time::Timestamp;
use serde_json::Value;

use super::Model;
use super::attempt::{self, Attempt, End, must};
use crate::tools::LIFETIME_MS;

/// How often the same call is sent again while nothing is known of it.
const RESENDS_MAX: u32 = 3;

/// A target that keeps keys.
#[derive(Clone)]
pub(super) struct Kept {
    ms: u64,
    /// When the key was first sent.
    first: i64,
    /// How often the same was sent again since the last ordinary attempt.
    resends: u32,
}

impl Kept {
    pub(super) fn of(ms: u64) -> Self {
        Self {
            ms,
            first: i64::MAX,
            resends: 0,
        }
    }

    fn until(&self) -> i64 {
        self.first.saturating_add_unsigned(self.ms)
    }
}

impl Model {
    pub(super) fn commit(&mut self, event: &Event) -> Result<&'static str, String> {
        let Event::CommitRecorded {
            attempt,
            digest,
            approved_by,
            tool_digest,
            request_digest,
            revalidated,
            idempotency_key,
            at,
            ..
        } = event
        else {
            return Ok("executing");
        };
        let open = self
            .attempts
            .iter()
            .find(|attempt| attempt.end != Some(End::NotDone));
        must!(
            open.is_none(),
            "I2: attempt {attempt} while one before it is not proved undone"
        );
        must!(
            *attempt as usize == self.attempts.len() + 1,
            "I2: attempt {attempt} is out of order"
        );
        must!(*digest == self.digest, "I3: committed with other arguments");
        must!(
            *tool_digest == self.tool_digest,
            "I3: committed with another tool"
        );
        must!(
            Some(*request_digest) == self.request,
            "I3: committed with another request"
        );
        must!(
            *idempotency_key == self.key,
            "I15: committed with another key"
        );
        self.must_be_allowed(approved_by, revalidated.as_ref(), at.0)?;
        must!(
            self.not_before.is_some() == self.chosen.is_some()
                && self.not_before.is_none_or(|chosen| chosen <= at.0),
            "I9: committed before the moment that was chosen"
        );
        self.version = revalidated.as_ref().and_then(|state| state.etag.clone());
        if let Some(kept) = &mut self.kept {
            kept.first = at.0.min(kept.first);
            kept.resends = 0;
        }
        self.attempts.push(Attempt::default());
        Ok("executing")
    }

    /// The world is the one that was approved, and the approval still counts.
    fn must_be_allowed(
        &self,
        approved_by: &[String],
        revalidated: Option<&Snapshot>,
        at: i64,
    ) -> Result<(), String> {
        let reads = matches!(
            self.class,
            SafetyClass::Irreversible | SafetyClass::ApprovalBound
        );
        let now = revalidated.map(|state| state.digest);
        must!(
            !reads || now == self.snapshot,
            "I3: committed on another state"
        );
        let read_at = revalidated.map(|state| state.taken_at.0);
        must!(
            !reads || read_at.is_none_or(|read_at| self.allowed_at <= read_at),
            "I3: committed on a state that was read before the approval"
        );
        if self.class == SafetyClass::ApprovalBound {
            must!(self.is_approved(), "I3: committed without the votes");
            let hold_ms = self.known.approval.map_or(0, |approval| approval.hold_ms);
            must!(
                self.allowed_at + hold_ms <= at,
                "I9: committed within the time in which everybody may still think better of it"
            );
            must!(
                at < self.deadline(),
                "I9: committed at or after the deadline"
            );
            let voters: BTreeSet<_> = self.votes.iter().map(|cast| &cast.voter.id).collect();
            must!(
                approved_by.iter().collect::<BTreeSet<_>>() == voters,
                "I3: other voters"
            );
        }
        Ok(())
    }

    /// Whether a key that the target keeps was sent at this moment or before.
    pub(crate) fn was_sent_by(&self, at: i64) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.first <= at)
    }

    /// The same call once more, for a target that still keeps the key.
    pub(super) fn resend(&mut self, resend: &Resend, at: i64) -> Result<&'static str, String> {
        must!(
            self.is_past_asking,
            "I2: sent again before the source of truth gave up"
        );
        let Some(kept) = &mut self.kept else {
            return Err("I2: sent again to a target that keeps no keys".to_owned());
        };
        must!(
            resend.send_deadline.0.saturating_add_unsigned(LIFETIME_MS) <= kept.until(),
            "I2: sent again so late that the key may be kept no more when it arrives"
        );
        must!(
            at <= resend.send_deadline.0,
            "I2: sent again after its own end"
        );
        kept.resends += 1;
        must!(
            kept.resends <= RESENDS_MAX,
            "I2: sent again {} times",
            kept.resends
        );
        must!(
            resend.attempt as usize == self.attempts.len() + 1 && resend.first == 1,
            "I2: attempt {} is out of order",
            resend.attempt
        );
        let same = resend.digest == self.digest
            && resend.tool_digest == self.tool_digest
            && Some(resend.request_digest) == self.request
            && resend.idempotency_key == self.key;
        must!(same, "I2: something else is sent again");
        self.must_be_allowed(&resend.approved_by, resend.revalidated.as_ref(), at)?;
        self.resend_is_planned = false;
        self.attempts.push(Attempt::default());
        Ok("executing")
    }

    /// Whether it is tried again.
    pub(super) fn later(&self, retry_at: Option<Timestamp>) -> &'static str {
        match (retry_at, &self.approval) {
            (None, _) => "failed",
            (Some(_), Some(_)) => "approved",
            (Some(_), None) => "accepted",
        }
    }

    /// A worker had gone before it could have the attempt: nothing was tried, and another one may have it.
    pub(super) fn taken_back(&self, retry_at: Option<Timestamp>) -> Result<&'static str, String> {
        must!(
            retry_at.is_some(),
            "I27: what no worker had is given to no other one"
        );
        Ok(self.later(retry_at))
    }

    /// A call that had no effect: it is tried as often as the tool says, whatever came between.
    pub(super) fn tried(&mut self, retry_at: Option<Timestamp>) -> Result<&'static str, String> {
        let (most, tried) = &mut self.tries;
        *tried += 1;
        must!(
            retry_at.is_some() == (*tried < *most),
            "I27: tried {tried} of {most} times, and then {}",
            if retry_at.is_some() {
                "again"
            } else {
                "no more"
            }
        );
        Ok(self.later(retry_at))
    }

    /// What the source of truth, or a person, says holds for every attempt in doubt.
    pub(super) fn undo(&mut self) -> Result<(), String> {
        for attempt in &mut self.attempts {
            if attempt.end == Some(End::Unknown) {
                attempt.end = Some(End::NotDone);
            }
        }
        self.end(End::NotDone)
    }

    pub(super) fn end(&mut self, end: End) -> Result<(), String> {
        let Some(last) = self.attempts.last_mut() else {
            return Err("an attempt ends that never began".to_owned());
        };
        last.end = Some(end);
        Ok(())
    }

    /// A request of this action reaches the network now.
    pub(crate) fn send(&mut self, outgoing: &Outgoing) -> Result<(), String> {
        must!(self.status == "executing", "I1: sent while {}", self.status);
        let number = self.attempts.len();
        attempt::send(&mut self.attempts, number)?;
        self.known
            .sends(outgoing, &self.args, self.version.as_deref())
    }

    /// A worker is told to carry an attempt out.
    pub(crate) fn give(&mut self, work: &Value) -> Result<(), String> {
        let number = work["number"].as_u64().and_then(|it| it.try_into().ok());
        attempt::send(&mut self.attempts, number.unwrap_or(0))?;
        must!(
            work["tool"] == *self.tool
                && work["args"] == self.args
                && work["idempotency_key"] == *self.key,
            "I13: {work} is given out, and {} was approved",
            self.args
        );
        Ok(())
    }
}

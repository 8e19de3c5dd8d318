//! The oracle: the life of one action as the design tells it, written without a look at the code.
//!
//! It is shown every durable event, in order, and says what is wrong with it. What it knows (who
//! voted, what was approved, what was sent and how that ended) is kept in the simplest form that the
//! invariants can be asked of. `votes` and `sends` are its parts about people and about calls.

mod attempt;
mod begin;
mod sends;
mod votes;

use std::collections::BTreeSet;

use holdpoint_engine::action::{Event, SafetyClass};
use holdpoint_engine::approval::{CastVote, Requirement, Vote};
use holdpoint_engine::canon::Digest;
use serde_json::Value;

use attempt::Attempt;
pub(crate) use attempt::End;
pub(crate) use attempt::must;
use sends::Kept;

use crate::known::Known;

/// How often the source of truth is asked in vain before a person is.
const ASKED_MAX: u32 = 20;

/// One action.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) tool: String,
    known: Known,
    /// What was asked for.
    args: Value,
    /// Not before when, where somebody chose that.
    chosen: Option<String>,
    pub(crate) key: String,
    class: SafetyClass,
    askers: BTreeSet<String>,
    asked_at: i64,
    /// Since when the call may leave: the state must have been read after it.
    allowed_at: i64,
    digest: Digest,
    tool_digest: Digest,
    request: Option<Digest>,
    snapshot: Option<Digest>,
    approval: Option<Requirement>,
    votes: Vec<CastVote>,
    revision: u32,
    pub(crate) status: &'static str,
    /// The version of the state that was read last before a call.
    version: Option<String>,
    quiet_at: i64,
    not_before: Option<i64>,
    /// How many calls that had no effect the tool allows, and how many there were.
    tries: (u32, u32),
    /// Where the target keeps keys.
    kept: Option<Kept>,
    /// The source of truth cannot tell, or there is none.
    is_past_asking: bool,
    /// How often it could not tell, of this doubt.
    asked: u32,
    /// The same call is to be sent again.
    resend_is_planned: bool,
    pub(crate) attempts: Vec<Attempt>,
    /// The status after each event.
    pub(crate) statuses: Vec<&'static str>,
    /// Everybody who ever said anything: person and vote.
    pub(crate) said: BTreeSet<(String, &'static str)>,
}

const FINAL: [&str; 7] = [
    "succeeded",
    "failed",
    "rejected",
    "expired",
    "cancelled",
    "refused",
    "replan_required",
];

impl Model {
    /// Whether this person or program asked for it, or owns who did.
    pub(crate) fn is_of(&self, id: &str) -> bool {
        self.askers.contains(id)
    }

    pub(crate) fn is_final(&self) -> bool {
        FINAL.contains(&self.status)
    }

    /// Whether the machine has done all that it can, so that a person is asked how it ended.
    pub(crate) fn waits_for_a_person(&self) -> bool {
        self.status == "unknown" && self.is_past_asking && !self.resend_is_planned
    }

    /// Whether it may not leave before this moment, in milliseconds.
    pub(crate) fn leaves_after(&self, moment: i64) -> bool {
        self.not_before.is_some_and(|chosen| moment < chosen)
    }

    /// One more event.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), String> {
        if matches!(event, Event::LateAnswer { .. }) {
            self.statuses.push(self.status);
            return Ok(());
        }
        must!(
            !self.is_final(),
            "I11: {} after the final status {}",
            event.kind(),
            self.status
        );
        self.status = self.next(event)?;
        self.statuses.push(self.status);
        Ok(())
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each event, read as a table"
    )]
    fn next(&mut self, event: &Event) -> Result<&'static str, String> {
        let at = event.at().0;
        must!(
            self.status != "staged" || !self.is_approved() || event.kind() == "action.approved",
            "I4: all votes are there, and {} follows",
            event.kind()
        );
        Ok(match (event, self.status) {
            (Event::VoteRecorded { .. }, "staged") => {
                self.vote(event)?;
                "staged"
            }
            (Event::Approved { .. }, "staged") => {
                must!(
                    self.is_approved(),
                    "I3: approved without the votes it needs"
                );
                self.allowed_at = at;
                "approved"
            }
            (Event::Rejected { .. }, "staged") => {
                let no = self.votes.iter().any(|cast| cast.vote == Vote::Reject);
                must!(no, "I4: rejected without a vote against it");
                "rejected"
            }
            (Event::Expired { .. }, "staged" | "approved") => {
                must!(self.deadline() <= at, "I9: expired before the deadline");
                "expired"
            }
            (Event::Withdrawn { by, .. }, "staged" | "approved") => {
                must!(at < self.deadline(), "I9: withdrawn after the deadline");
                let before = self.votes.len();
                self.votes.retain(|cast| cast.voter.id != *by);
                must!(
                    self.votes.len() < before,
                    "withdrawn by {by}, who has no vote"
                );
                "staged"
            }
            (Event::Cancelled { .. }, "staged" | "approved" | "accepted") => "cancelled",
            (Event::Deferred { retry_at, .. }, "approved" | "accepted") => {
                must!(
                    self.approval.is_none() || retry_at.is_some(),
                    "I27: an approval ends by its deadline, not by reads that failed"
                );
                self.later(*retry_at)
            }
            (Event::ReplanRequired { .. }, "approved" | "accepted") => "replan_required",
            // The target refused the version that was sent.
            (Event::ReplanRequired { .. }, "executing") => {
                self.end(End::NotDone)?;
                "replan_required"
            }
            (Event::Restaged { .. }, "approved") => self.restage(event)?,
            (Event::CommitRecorded { .. }, "approved" | "accepted") => self.commit(event)?,
            (Event::AttemptSucceeded { .. }, "executing")
            | (Event::FoundDone { .. }, "unknown") => {
                self.end(End::Done)?;
                "succeeded"
            }
            (Event::AttemptRefused { .. }, "executing") => {
                self.end(End::NotDone)?;
                "failed"
            }
            (Event::AttemptNotDelivered { retry_at, .. }, "executing") => {
                self.end(End::NotDone)?;
                let last = self.attempts.last();
                if last.is_some_and(|last| last.epoch().is_some()) {
                    self.taken_back(*retry_at)?
                } else {
                    self.tried(*retry_at)?
                }
            }
            (
                Event::AttemptUnknown {
                    quiet_at,
                    next_check,
                    ..
                },
                "executing",
            ) => {
                must!(
                    next_check.is_some() == self.known.has_check,
                    "I27: the source of truth of {} is not asked, or there is none",
                    self.tool
                );
                self.end(End::Unknown)?;
                self.quiet_at = quiet_at.0;
                self.is_past_asking = next_check.is_none();
                "unknown"
            }
            (Event::FoundNotDone { retry_at, .. }, "unknown") => {
                self.asked = 0;
                must!(
                    self.quiet_at <= at,
                    "I10: not found before quiet time is no evidence"
                );
                let machine_may = self.class != SafetyClass::Irreversible;
                must!(
                    machine_may || retry_at.is_none(),
                    "I2: an irreversible call is to be sent again by the machine"
                );
                self.undo()?;
                if machine_may {
                    self.tried(*retry_at)?
                } else {
                    "failed"
                }
            }
            (
                Event::LeaseGranted { .. }
                | Event::LeaseExtended { .. }
                | Event::WorkReported { .. },
                "executing",
            ) => {
                attempt::lease(&mut self.attempts, event)?;
                "executing"
            }
            (Event::LeaseKeyed { attempt, key, .. }, "executing") => {
                attempt::ask(&mut self.attempts, *attempt, key.key)?;
                "executing"
            }
            (
                Event::SecretNamed {
                    attempt, secret, ..
                },
                "executing",
            ) => {
                let count = self.attempts.len();
                let last = self.attempts.last_mut().filter(|last| !last.is_sent());
                let Some(last) = last.filter(|_| *attempt as usize == count) else {
                    return Err(format!("I16: a secret of attempt {attempt} of {count}"));
                };
                last.secret = Some(secret.version.clone());
                "executing"
            }
            (Event::AnswerKept { .. }, "executing") => "executing",
            (Event::Scheduled { not_before, .. }, "staged" | "accepted") => {
                must!(
                    self.chosen == Some(not_before.rfc3339()),
                    "I13: not before {not_before:?}, and {:?} was asked for",
                    self.chosen
                );
                self.not_before = Some(not_before.0);
                self.status
            }
            (
                Event::Instigated { .. },
                "staged" | "approved" | "accepted" | "executing" | "unknown",
            ) => self.status,
            (Event::KeyKept { kept_ms, .. }, "staged" | "accepted") => {
                self.kept = Some(Kept::of(*kept_ms));
                self.status
            }
            (Event::Reminded { .. }, "staged") => {
                must!(at < self.deadline(), "I9: reminded after the deadline");
                "staged"
            }
            (Event::ResendRecorded { resend, .. }, "unknown") => self.resend(resend, at)?,
            // Nothing is known of the first send yet.
            (Event::ResendFailed { .. }, "executing") => {
                self.end(End::NotDone)?;
                self.resend_is_planned = false;
                "unknown"
            }
            (Event::CheckInconclusive { next_check, .. }, "unknown") => {
                self.asked += 1;
                let may_give_up = ASKED_MAX <= self.asked && self.quiet_at <= at;
                must!(
                    next_check.is_some() || may_give_up,
                    "I27: the source of truth is given up after {} questions",
                    self.asked
                );
                self.is_past_asking = next_check.is_none();
                "unknown"
            }
            (Event::ResendPlanned { .. }, "unknown") => {
                must!(
                    self.is_past_asking && self.kept.is_some(),
                    "I2: to be sent again before the source of truth gave up"
                );
                self.resend_is_planned = true;
                "unknown"
            }
            (Event::ResendDropped { .. }, "unknown") => {
                self.resend_is_planned = false;
                "unknown"
            }
            (Event::Settled { by, happened, .. }, "unknown") => {
                let voted = self.votes.iter().any(|cast| cast.voter.id == *by);
                must!(
                    !voted && !self.askers.contains(by),
                    "I8: {by} settles the own action"
                );
                if *happened {
                    self.end(End::Done)?;
                } else {
                    self.undo()?;
                }
                if *happened { "succeeded" } else { "failed" }
            }
            (Event::Cancelled { .. }, "executing" | "unknown") => {
                return Err("I11: cancelled, though the call is on its way".to_owned());
            }
            (other, status) => return Err(format!("I4: {} while {status}", other.kind())),
        })
    }
}

//! The oracle: the life of one action as the design tells it, written without a look at the code.
//!
//! It is shown every durable event, in order, and says what is wrong with it. What it knows (who
//! voted, what was approved, what was sent and how that ended) is kept in the simplest form that the
//! invariants can be asked of.

use std::collections::BTreeSet;

use holdpoint_engine::action::{Event, Resend, SafetyClass};
use holdpoint_engine::approval::{CastVote, Requirement, Vote};
use holdpoint_engine::canon::Digest;

pub(crate) use crate::attempt::End;
use crate::attempt::{self, Attempt, must};

/// One action.
pub(crate) struct Model {
    pub(crate) tool: String,
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
    quiet_at: i64,
    not_before: i64,
    /// How long the target keeps the key, and when it was first sent.
    kept: Option<(u64, i64)>,
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
    /// An action begins.
    pub(crate) fn begin(event: &Event) -> Result<Self, String> {
        let (proposal, snapshot, request, approval, status) = match event {
            Event::Staged {
                proposal,
                snapshot,
                request,
                requirement,
                ..
            } => (
                proposal,
                snapshot.as_ref(),
                Some(request),
                Some(requirement),
                "staged",
            ),
            Event::Accepted {
                proposal,
                snapshot,
                request,
                ..
            } => (proposal, snapshot.as_ref(), Some(request), None, "accepted"),
            Event::Refused { proposal, .. } => (proposal, None, None, None, "refused"),
            other => return Err(format!("{} begins no action", other.kind())),
        };
        let needs_people = proposal.class == SafetyClass::ApprovalBound;
        must!(
            status == "refused" || needs_people == approval.is_some(),
            "I3: {} of class {} is {status}",
            proposal.tool,
            proposal.class.name()
        );
        must!(
            !proposal.idempotency_key.is_empty(),
            "I15: the key is empty"
        );
        let caller = &proposal.caller;
        Ok(Self {
            tool: proposal.tool.clone(),
            key: proposal.idempotency_key.clone(),
            class: proposal.class,
            askers: caller.owner.iter().chain([&caller.id]).cloned().collect(),
            asked_at: event.at().0,
            allowed_at: event.at().0,
            digest: proposal.digest,
            tool_digest: proposal.tool_digest,
            request: request.map(|request| request.digest),
            snapshot: snapshot.map(|snapshot| snapshot.digest),
            approval: approval.cloned(),
            votes: Vec::new(),
            revision: 1,
            status,
            quiet_at: 0,
            not_before: i64::MIN,
            kept: None,
            attempts: Vec::new(),
            statuses: vec![status],
            said: BTreeSet::new(),
        })
    }

    pub(crate) fn is_final(&self) -> bool {
        FINAL.contains(&self.status)
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
            (Event::Deferred { retry_at, .. }, "approved" | "accepted") => self.later(*retry_at),
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
                self.later(*retry_at)
            }
            (Event::AttemptUnknown { quiet_at, .. }, "executing") => {
                self.end(End::Unknown)?;
                self.quiet_at = quiet_at.0;
                "unknown"
            }
            (Event::FoundNotDone { retry_at, .. }, "unknown") => {
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
                self.later(*retry_at)
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
            (Event::SecretNamed { .. } | Event::LeaseKeyed { .. }, "executing") => "executing",
            (Event::Scheduled { not_before, .. }, "staged" | "accepted") => {
                self.not_before = not_before.0;
                self.status
            }
            (Event::KeyKept { kept_ms, .. }, "staged" | "accepted") => {
                self.kept = Some((*kept_ms, i64::MAX));
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
                "unknown"
            }
            (
                Event::CheckInconclusive { .. }
                | Event::ResendPlanned { .. }
                | Event::ResendDropped { .. },
                "unknown",
            ) => "unknown",
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
            (other, status) => return Err(format!("I4: {} while {status}", other.kind())),
        })
    }

    fn later(&self, retry_at: Option<holdpoint_engine::time::Timestamp>) -> &'static str {
        match (retry_at, &self.approval) {
            (None, _) => "failed",
            (Some(_), Some(_)) => "approved",
            (Some(_), None) => "accepted",
        }
    }

    fn deadline(&self) -> i64 {
        self.approval
            .as_ref()
            .map_or(i64::MAX, |approval| approval.deadline.0)
    }

    fn vote(&mut self, event: &Event) -> Result<(), String> {
        let Event::VoteRecorded {
            cast,
            revision,
            digest,
            snapshot_digest,
        } = event
        else {
            return Ok(());
        };
        let who = &cast.voter;
        must!(
            cast.at.0 < self.deadline(),
            "I9: a vote at or after the deadline"
        );
        must!(
            *revision == self.revision
                && *digest == self.digest
                && *snapshot_digest == self.snapshot,
            "I3: a vote on something else than what is there"
        );
        must!(
            who.is_person && who.is_approver,
            "I8: {} may not vote",
            who.id
        );
        must!(
            !self.askers.contains(&who.id),
            "I8: {} votes on the own action",
            who.id
        );
        let changed = who
            .changed_access_at
            .is_some_and(|at| self.asked_at <= at.0);
        must!(!changed, "I8: {} changed access since", who.id);
        let twice = self.votes.iter().any(|other| other.voter.id == who.id);
        must!(!twice, "I8: {} votes twice", who.id);
        self.said.insert((who.id.clone(), cast.vote.name()));
        self.votes.push(cast.clone());
        Ok(())
    }

    /// Whether the votes suffice: each need has as many different people of its groups.
    fn is_approved(&self) -> bool {
        let all_yes = self.votes.iter().all(|cast| cast.vote == Vote::Approve);
        self.approval.as_ref().is_some_and(|approval| {
            all_yes
                && approval.needs.iter().all(|need| {
                    let counts = |cast: &&CastVote| {
                        need.groups.is_empty() || !need.groups.is_disjoint(&cast.voter.groups)
                    };
                    let people: BTreeSet<_> = self
                        .votes
                        .iter()
                        .filter(counts)
                        .map(|cast| &cast.voter.id)
                        .collect();
                    need.required as usize <= people.len()
                })
        })
    }

    fn restage(&mut self, event: &Event) -> Result<&'static str, String> {
        if let Event::Restaged {
            revision,
            snapshot,
            request,
            requirement,
            ..
        } = event
        {
            must!(
                *revision == self.revision + 1,
                "I3: revision {revision} after {}",
                self.revision
            );
            must!(
                requirement.deadline.0 == self.deadline(),
                "I9: staging again moves the deadline"
            );
            self.revision = *revision;
            self.snapshot = Some(snapshot.digest);
            self.request = Some(request.digest);
            self.approval = Some(requirement.clone());
            self.votes.clear();
        }
        Ok("staged")
    }

    fn commit(&mut self, event: &Event) -> Result<&'static str, String> {
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
        let reads = matches!(
            self.class,
            SafetyClass::Irreversible | SafetyClass::ApprovalBound
        );
        let now = revalidated.as_ref().map(|state| state.digest);
        must!(
            !reads || now == self.snapshot,
            "I3: committed on another state"
        );
        let read_at = revalidated.as_ref().map(|state| state.taken_at.0);
        must!(
            !reads || read_at.is_none_or(|read_at| self.allowed_at <= read_at),
            "I3: committed on a state that was read before the approval"
        );
        if self.class == SafetyClass::ApprovalBound {
            must!(self.is_approved(), "I3: committed without the votes");
            must!(
                at.0 < self.deadline(),
                "I9: committed at or after the deadline"
            );
            let voters: BTreeSet<_> = self.votes.iter().map(|cast| &cast.voter.id).collect();
            must!(
                approved_by.iter().collect::<BTreeSet<_>>() == voters,
                "I3: other voters"
            );
        }
        must!(
            self.not_before <= at.0,
            "I9: committed before the moment that was chosen"
        );
        if let Some((_, first)) = &mut self.kept {
            *first = at.0.min(*first);
        }
        self.attempts.push(Attempt::default());
        Ok("executing")
    }

    /// The same call once more, for a target that still keeps the key.
    fn resend(&mut self, resend: &Resend, at: i64) -> Result<&'static str, String> {
        let (kept_ms, first) = self.kept.unwrap_or_default();
        let kept_ms = i64::try_from(kept_ms).unwrap_or(i64::MAX);
        must!(
            at < first.saturating_add(kept_ms),
            "I2: sent again when the key is kept no more"
        );
        let same = resend.digest == self.digest
            && resend.tool_digest == self.tool_digest
            && Some(resend.request_digest) == self.request
            && resend.idempotency_key == self.key;
        must!(same, "I2: something else is sent again");
        self.attempts.push(Attempt::default());
        Ok("executing")
    }

    /// What the source of truth, or a person, says holds for every attempt in doubt.
    fn undo(&mut self) -> Result<(), String> {
        for attempt in &mut self.attempts {
            if attempt.end == Some(End::Unknown) {
                attempt.end = Some(End::NotDone);
            }
        }
        self.end(End::NotDone)
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        let Some(last) = self.attempts.last_mut() else {
            return Err("an attempt ends that never began".to_owned());
        };
        last.end = Some(end);
        Ok(())
    }

    /// A request of this action reaches the network now.
    pub(crate) fn send(&mut self) -> Result<(), String> {
        must!(self.status == "executing", "I1: sent while {}", self.status);
        let number = self.attempts.len();
        attempt::send(&mut self.attempts, number)
    }

    /// A worker is told to carry an attempt out.
    pub(crate) fn give(&mut self, number: u64) -> Result<(), String> {
        attempt::send(&mut self.attempts, usize::try_from(number).unwrap_or(0))
    }
}

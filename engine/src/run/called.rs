//! What a call of a step came to.

use std::collections::BTreeMap;

use serde_json::Value;

use super::authority;
use super::event::{StepOutcome, StepReport, Verdict, Waiting};
use super::id::StepTry;
use crate::action::{
    Action, ActionId, AnswerBody, Attempt, AttemptResult, FailReason, Phase, Status,
};
use crate::canon::CanonicalJson;
use crate::engine::Answered;
use crate::time::Timestamp;
use crate::tool::EffectClass;

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Called {
    /// How it ended: passed where the target did it.
    pub(crate) outcome: StepOutcome,
    /// Why, where it did not pass.
    pub(crate) message: Option<String>,
    /// The action that stands for it; none where it only read.
    pub(crate) action: Option<ActionId>,
    /// How often it was made.
    pub(crate) attempts: u32,
    /// The status of the answer.
    pub(crate) http_status: Option<u16>,
    /// The answer as it is kept.
    pub(crate) answer: Value,
    /// The answer as it came, where this process saw it.
    pub(crate) text: Option<String>,
    /// What should be known about it.
    pub(crate) notes: Vec<String>,
    /// Why there is no body to look at: it did not come whole, or is no text.
    pub(crate) broken: Option<String>,
    /// Whether it took effect and its answer was lost: what stands for it is the evidence that it did.
    pub(crate) answer_lost: bool,
    /// Whether the same call may end in another way a moment later.
    pub(crate) may_end_otherwise: bool,
}

impl Called {
    /// Nothing was called.
    pub(super) fn not_made(outcome: StepOutcome, message: String) -> Self {
        Self {
            outcome,
            message: Some(message),
            action: None,
            attempts: 0,
            http_status: None,
            answer: Value::Null,
            text: None,
            notes: Vec::new(),
            broken: None,
            answer_lost: false,
            may_end_otherwise: false,
        }
    }

    /// As the report of a step, before anything is said about its assertions.
    pub(crate) fn report(&self) -> StepReport {
        StepReport {
            outcome: self.outcome.clone(),
            failures: self.message.iter().cloned().collect(),
            action: self.action,
            attempts: self.attempts,
            http_status: self.http_status,
            answer: CanonicalJson::of(&self.answer),
            asserts: Vec::new(),
            binds: BTreeMap::new(),
            notes: self.notes.clone(),
        }
    }
}

pub(super) fn withheld(verdict: Verdict) -> Called {
    if let Some(flag) = verdict.flag() {
        let message = format!("withheld: nothing was sent; {flag} would allow it");
        return Called::not_made(StepOutcome::Withheld, message);
    }
    if let Verdict::NeedsAuthority(class) = verdict {
        return unauthorised(StepOutcome::Withheld, class);
    }
    let message = "the call is not the one that the step's approve hash was made of: nothing was sent, and no flag allows it";
    Called::not_made(StepOutcome::Failed, message.to_owned())
}

/// Whoever started the run may not let calls of this class out.
pub(super) fn unauthorised(outcome: StepOutcome, class: EffectClass) -> Called {
    let message = format!(
        "{}: nothing was sent; whoever started the run may not let the call out: that needs {}",
        outcome.name(),
        authority::needs(class)
    );
    Called::not_made(outcome, message)
}

/// With the answer as it came.
pub(super) fn with_body(mut called: Called, body: AnswerBody) -> Called {
    match body {
        AnswerBody::Text(text) => called.text = Some(text),
        AnswerBody::Broken(why) => called.broken = Some(why),
    }
    called
}

pub(super) fn answered_of(answered: Answered) -> Called {
    let passed = answered.status == Status::Succeeded;
    let message = (!passed).then(|| match answered.http_status {
        Some(status) if !(200..300).contains(&status) => {
            format!("the answer's status is {status}")
        }
        Some(_) | None => answered
            .result
            .as_str()
            .unwrap_or("there was no answer")
            .to_owned(),
    });
    Called {
        outcome: if passed {
            StepOutcome::Passed
        } else {
            StepOutcome::Failed
        },
        message,
        action: None,
        attempts: 1,
        http_status: answered.http_status,
        answer: answered.result,
        text: None,
        notes: Vec::new(),
        broken: None,
        answer_lost: false,
        may_end_otherwise: !passed
            && answered
                .http_status
                .is_none_or(|status| status == 429 || 500 <= status),
    }
}

/// What a final action came to.
pub(super) fn called_of(action: &Action) -> Called {
    let (outcome, message, answer) = match &action.phase {
        Phase::Succeeded { result } => (StepOutcome::Passed, None, result.value()),
        Phase::Failed(reason) => failed(reason, action),
        Phase::Rejected { by, reason } => {
            let how = format!("rejected by {}", name_of(action, by));
            rejected(StepOutcome::Rejected, &how, reason)
        }
        Phase::Expired => {
            let message = action.expiry_words().to_owned();
            (StepOutcome::Expired, Some(message), Value::Null)
        }
        Phase::Cancelled { reason, .. } => {
            let reason = reason.as_deref().unwrap_or("no reason was given");
            rejected(StepOutcome::Cancelled, "called off", reason)
        }
        Phase::Refused(refused) => rejected(StepOutcome::Refused, &refused.code, &refused.message),
        Phase::ReplanRequired { message } => {
            let message = Some(message.clone());
            (StepOutcome::ReplanRequired, message, Value::Null)
        }
        // Only final actions are looked at.
        Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Unknown { .. } => {
            let message = "it has not ended yet".to_owned();
            (StepOutcome::Failed, Some(message), Value::Null)
        }
    };
    let last = action.attempts.last();
    // How an attempt ended stays as it was recorded: one that was in doubt says why.
    let was_in_doubt =
        |attempt: &Attempt| attempt.result == Some(AttemptResult::Done) && attempt.note.is_some();
    Called {
        answer_lost: action.attempts.iter().any(was_in_doubt),
        outcome,
        message,
        action: Some(action.id),
        attempts: last.map_or(0, |last| last.number),
        http_status: last.and_then(|last| last.http_status),
        answer,
        text: None,
        notes: Vec::new(),
        broken: None,
        may_end_otherwise: false,
    }
}

/// What a final action of somebody else came to that stands for the call of a step.
pub(super) fn stood_for(action: &Action) -> Called {
    let whose = match StepTry::of_action(action) {
        Some(attempt) => format!("of {}", attempt.run),
        None => format!("requested by {}", action.proposal.caller.name),
    };
    let note = format!(
        "{} ({whose}) stands for this call; nothing was sent by this step",
        action.id
    );
    Called {
        attempts: 0,
        notes: vec![note],
        ..called_of(action)
    }
}

/// The name under which somebody voted.
fn name_of<'a>(action: &'a Action, voter: &'a str) -> &'a str {
    let approval = action.approval.iter();
    let mut votes = approval.flat_map(|approval| &approval.votes);
    let cast = votes.find(|cast| cast.voter.id == voter);
    cast.map_or(voter, |cast| cast.voter.name.as_str())
}

fn rejected(outcome: StepOutcome, how: &str, reason: &str) -> (StepOutcome, Option<String>, Value) {
    (outcome, Some(format!("{how}: {reason}")), Value::Null)
}

fn failed(reason: &FailReason, action: &Action) -> (StepOutcome, Option<String>, Value) {
    let status = action.attempts.last().and_then(|last| last.http_status);
    match reason {
        FailReason::TargetRefused { answer } => {
            let message = match status {
                Some(status) => format!("the answer's status is {status}"),
                None => "the target refused it".to_owned(),
            };
            (StepOutcome::Failed, Some(message), answer.value())
        }
        FailReason::NeverDelivered { message } => {
            let message = format!("it was never delivered: {message}");
            (StepOutcome::Failed, Some(message), Value::Null)
        }
        FailReason::WorkerFailed { answer } => {
            let message = "the worker is certain that nothing happened".to_owned();
            (StepOutcome::Failed, Some(message), answer.value())
        }
        FailReason::SettledAsNotDone { reason } => rejected(
            StepOutcome::SettledNotDone,
            "nobody knew whether it happened, and a person settled that it did not",
            reason,
        ),
    }
}

/// What an action waits for that does not come by itself in a moment; of one that is to be called soon only
/// where `said` something else before.
pub(super) fn waits_for(action: &Action, said: Option<Waiting>, now: Timestamp) -> Option<Waiting> {
    let is_later = action.run_at().is_some_and(|at| now < at);
    match &action.phase {
        Phase::Staged => Some(Waiting::Approval),
        Phase::Approved { .. } | Phase::Accepted { .. } | Phase::Executing
            if action.is_pulled() =>
        {
            Some(Waiting::Turn)
        }
        Phase::Unknown { .. } => Some(Waiting::Settlement),
        Phase::Approved { .. } | Phase::Accepted { .. } | Phase::Executing
            if said.is_some() || is_later =>
        {
            Some(Waiting::Call)
        }
        Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => None,
    }
}

pub(super) fn may_still_be_cancelled(action: &Action) -> bool {
    match action.status() {
        Status::Staged | Status::Approved | Status::Accepted => true,
        Status::Executing
        | Status::Unknown
        | Status::Succeeded
        | Status::Failed
        | Status::Rejected
        | Status::Expired
        | Status::Cancelled
        | Status::Refused
        | Status::ReplanRequired => false,
    }
}

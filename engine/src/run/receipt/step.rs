//! One step of a receipt, from what the run knows of it.

use super::totals::{PENDING, RUNNING, SKIPPED, WAITING};
use super::{AssertReceipt, Keys, StepReceipt, Withheld};
use crate::run::event::{StepOutcome, Verdict, Waiting};
use crate::run::id::StepTry;
use crate::run::state::{Made, Run, Step, What};
use crate::run::waits::waits_in;
use crate::time::Timestamp;

/// The note of a step that a run puts before people.
pub const BEFORE_PEOPLE: &str = "put before people";
/// The note of a step that was withheld and that the tools file puts before people.
pub const PEOPLE_DECIDE: &str =
    "people decide on it, whatever is allowed: the tools file says that its tool is approval-bound";

const APPROVED: &str = "approved";

pub(super) fn empty(path: String, title: String) -> StepReceipt {
    StepReceipt {
        path,
        number: None,
        title,
        intent: None,
        outcome: SKIPPED,
        ms: 0,
        tool: None,
        effect: None,
        own_effect: None,
        args_digest: None,
        idempotency_key: None,
        tried: 0,
        rejections: Vec::new(),
        attempts: 0,
        http_status: None,
        asserts: Vec::new(),
        binds: Vec::new(),
        failures: Vec::new(),
        notes: Vec::new(),
        withheld: None,
        action: None,
        approval: None,
    }
}

pub(super) fn of(run: &Run, step: &Step, now: Timestamp, keys: &Keys<'_>) -> StepReceipt {
    match &step.what {
        What::Skipped { title, reason } => StepReceipt {
            failures: vec![reason.clone()],
            ..empty(step.path.to_string(), title.clone())
        },
        What::Made(made) => of_made(run, step, made, now, keys),
    }
}

fn of_made(run: &Run, step: &Step, made: &Made, now: Timestamp, keys: &Keys<'_>) -> StepReceipt {
    let call = &made.call;
    let attempt = StepTry {
        run: run.id,
        path: step.path.clone(),
        number: call.number,
    };
    let mut receipt = StepReceipt {
        intent: call.intent.clone(),
        outcome: RUNNING,
        ms: ms(now, made.started_at),
        tool: Some(call.tool.clone()),
        effect: Some(call.effect.name()),
        args_digest: Some(call.args.digest().to_string()),
        tried: call.number,
        rejections: made.rejections().iter().map(Into::into).collect(),
        notes: call.notes.clone(),
        ..empty(step.path.to_string(), call.title.clone())
    };
    if let Some((action, why)) = &made.waiting {
        receipt.outcome = WAITING;
        receipt.action = Some(action.to_string());
        receipt.failures = vec![waits_in(run, made, *why)];
    }
    let heals = run.heals.iter().filter(|(path, _)| *path == step.path);
    for (_, heal) in heals {
        let note = format!("healed at level {}: {}", heal.level, heal.reason);
        receipt.notes.push(note);
    }
    if made.again && run.ended.is_none() {
        // What it was is over, and the next try has not begun.
        receipt.outcome = PENDING;
        receipt.ms = 0;
        return receipt;
    }
    if let Some((ended_at, report)) = &made.ended {
        receipt.outcome = report.outcome.name();
        receipt.ms = match report.outcome {
            // Nothing was done.
            StepOutcome::Withheld => 0,
            StepOutcome::Passed
            | StepOutcome::Failed
            | StepOutcome::Rejected
            | StepOutcome::Expired
            | StepOutcome::ReplanRequired
            | StepOutcome::Cancelled
            | StepOutcome::Refused
            | StepOutcome::SettledNotDone => ms(*ended_at, made.started_at),
        };
        receipt.attempts = report.attempts;
        receipt.http_status = report.http_status;
        receipt.asserts = report.asserts.iter().map(assert).collect();
        receipt.binds = report.binds.keys().cloned().collect();
        for note in &report.notes {
            if !receipt.notes.contains(note) {
                receipt.notes.push(note.clone());
            }
        }
        receipt.failures.clone_from(&report.failures);
        receipt.action = report.action.map(|action| action.to_string());
    }
    receipt.approval = approval(made);
    let waits = made.waiting.map(|(action, _)| action);
    let ended = made.ended.as_ref().and_then(|(_, report)| report.action);
    let key = |action| keys(&call.tool, action).unwrap_or_else(|| attempt.key());
    receipt.idempotency_key = ended.or(waits).map(key);
    if !call.verdict.calls() {
        receipt.withheld = Some(Withheld {
            tool: call.tool.clone(),
            args: call.args.value(),
            flag: call.verdict.flag(),
        });
    }
    if call.verdict == Verdict::Stage {
        receipt.notes.push(BEFORE_PEOPLE.to_owned());
    }
    receipt
}

/// What came of asking people; none where nobody was asked.
fn approval(made: &Made) -> Option<&'static str> {
    if !made.is_asked {
        return None;
    }
    let Some((_, report)) = &made.ended else {
        return Some(match made.waiting {
            Some((_, Waiting::Approval)) => WAITING,
            Some((_, Waiting::Turn | Waiting::Settlement | Waiting::Call | Waiting::Secret))
            | None => APPROVED,
        });
    };
    Some(match report.outcome {
        StepOutcome::Passed | StepOutcome::Failed | StepOutcome::SettledNotDone => APPROVED,
        StepOutcome::Rejected
        | StepOutcome::Expired
        | StepOutcome::ReplanRequired
        | StepOutcome::Cancelled
        | StepOutcome::Refused
        | StepOutcome::Withheld => report.outcome.name(),
    })
}

fn assert(assert: &crate::run::event::Assert) -> AssertReceipt {
    AssertReceipt {
        assert: assert.text.clone(),
        passed: assert.passed,
        seen: assert.seen.clone(),
    }
}

pub(super) fn ms(later: Timestamp, earlier: Timestamp) -> u64 {
    u64::try_from(later.since(earlier).as_millis()).unwrap_or(u64::MAX)
}

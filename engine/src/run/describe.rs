//! A record of a run as JSON, for the history.

use holdpoint_storage::Record;
use serde_json::{Value, json};

use super::event::{End, Event, Note, Origin};
use super::layout;
use super::waits::waits_for;

/// The record, without secrets; none where it is of another stream.
pub(crate) fn describe(record: &Record) -> Option<Value> {
    layout::of_stream(&record.stream)?;
    Some(match layout::event_of(record).ok()? {
        Event::Started(start) => json!({
            "what": origin(&start.origin),
            "input": start.input.value(),
            "secrets": start.secrets,
            "flags": flags(start.flags),
            "caller": { "id": start.caller.id, "name": start.caller.name, "kind": start.caller.kind.name() },
            "unattended": start.unattended,
            "schedule": start.schedule,
            "continues": start.continues.map(|run| run.to_string()),
        }),
        Event::StepStarted { path, call } => json!({
            "step": path.as_str(), "try": call.number, "title": call.title, "intent": call.intent,
            "tool": call.tool, "args": call.args.value(), "effect": call.effect.name(),
            "withheld": !call.verdict.calls(), "notes": call.notes,
        }),
        Event::StepWaiting { path, action, why } => json!({
            "step": path.as_str(), "action": action.to_string(), "why": waits_for(why),
        }),
        Event::StepEnded { path, report } => json!({
            "step": path.as_str(), "outcome": report.outcome.name(), "failures": report.failures,
            "action": report.action.map(|action| action.to_string()), "attempts": report.attempts,
            "http_status": report.http_status, "answer": report.answer.value(),
            "binds": report.binds.iter().map(|(name, value)| (name.clone(), value.value())).collect::<serde_json::Map<_, _>>(),
            "notes": report.notes,
        }),
        Event::StepSkipped {
            path,
            title,
            reason,
        } => json!({ "step": path.as_str(), "title": title, "reason": reason }),
        Event::Noted { path, note } => json!({ "at": path.as_str(), "note": noted(&note) }),
        Event::Signalled { name, data } => json!({ "name": name, "data": data.value() }),
        Event::Healed { path, heal } => json!({
            "step": path.as_str(), "level": heal.level, "before": heal.before, "after": heal.after,
            "reason": heal.reason,
        }),
        Event::CancelRequested { reason } => json!({ "reason": reason }),
        Event::Resumed { flags: allowed } => json!({ "flags": flags(allowed) }),
        Event::Instigated { by } => json!({ "by": { "id": by.id, "name": by.name } }),
        Event::Ended {
            end,
            output,
            message,
        } => json!({ "end": ended(&end), "output": output.value(), "message": message }),
    })
}

fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::Skill { name, digest, .. } => {
            json!({ "skill": name, "digest": digest.to_string() })
        }
        Origin::Code { name, version } => json!({ "workflow": name, "version": version }),
    }
}

fn flags(flags: super::Flags) -> Value {
    json!({ "allow_writes": flags.allow_writes, "yes": flags.yes, "stage": flags.stage })
}

fn noted(note: &Note) -> Value {
    match note {
        Note::Now(at) => json!({ "now": at.rfc3339() }),
        Note::Random(_) => json!("random bytes"),
        Note::Sleep { until } => json!({ "sleeps_until": until.rfc3339() }),
        Note::WaitFor { name } => json!({ "waits_for": name }),
        Note::Received { name, index } => json!({ "received": name, "index": index }),
        Note::Woke => json!("woke"),
    }
}

fn ended(end: &End) -> Value {
    match end {
        End::Passed => json!("passed"),
        End::Failed => json!("failed"),
        End::Rejected => json!("rejected"),
        End::Expired => json!("expired"),
        End::ReplanRequired => json!("replan_required"),
        End::Cancelled => json!("cancelled"),
        End::Diverged => json!("diverged"),
        End::Continued(next) => json!({ "continued": next.to_string() }),
    }
}

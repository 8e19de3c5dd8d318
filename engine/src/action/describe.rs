//! Events as JSON, for the history. Nothing here is read back.

mod again;
mod work;

use serde_json::{Value, json};

use super::{AnswerBody, Difference, Event, Proposal, Rendered, ReplanReason, Snapshot};
use crate::approval::{CastVote, Requirement};
use crate::time::Timestamp;

/// The event as JSON: `snake_case`, moments in RFC 3339, digests as text.
pub fn describe(event: &Event) -> Value {
    match event {
        Event::Staged { .. } | Event::Accepted { .. } | Event::Refused { .. } => submitted(event),
        Event::VoteRecorded {
            cast,
            revision,
            digest,
            snapshot_digest,
        } => json!({
            "vote": vote(cast), "revision": revision, "digest": digest.to_string(),
            "snapshot_digest": snapshot_digest.map(|digest| digest.to_string()),
            "at": cast.at.rfc3339(),
        }),
        Event::Approved { hold_until, at } => {
            json!({ "hold_until": hold_until.rfc3339(), "at": at.rfc3339() })
        }
        Event::Rejected { .. } | Event::Withdrawn { .. } | Event::Cancelled { .. } => {
            ended_by(event)
        }
        Event::Expired { at } => json!({ "at": at.rfc3339() }),
        Event::Deferred {
            message,
            retry_at,
            at,
        } => json!({ "message": message, "retry_at": moment(*retry_at), "at": at.rfc3339() }),
        Event::ReplanRequired { reason, diff, at } => json!({
            "reason": replan_code(reason), "message": replan_message(reason),
            "diff": differences(diff), "at": at.rfc3339(),
        }),
        Event::Restaged {
            revision,
            snapshot,
            request,
            requirement,
            diff,
            at,
        } => json!({
            "revision": revision, "snapshot": self::snapshot(snapshot),
            "request": self::request(request), "requirement": self::requirement(requirement),
            "diff": differences(diff), "at": at.rfc3339(),
        }),
        Event::CommitRecorded { .. } => committed(event),
        Event::AttemptSucceeded { .. }
        | Event::AttemptRefused { .. }
        | Event::AttemptNotDelivered { .. }
        | Event::AttemptUnknown { .. } => attempted(event),
        Event::FoundDone { .. }
        | Event::FoundNotDone { .. }
        | Event::CheckInconclusive { .. }
        | Event::Settled { .. }
        | Event::LateAnswer { .. } => found(event),
        Event::LeaseGranted { .. }
        | Event::LeaseExtended { .. }
        | Event::LeaseKeyed { .. }
        | Event::WorkReported { .. } => work::worked(event),
        Event::SecretNamed {
            attempt,
            secret,
            at,
        } => json!({
            "attempt": attempt, "secret": secret.name, "version": secret.version,
            "changed_at": moment(secret.changed_at), "at": at.rfc3339(),
        }),
        Event::AnswerKept { attempt, body, at } => kept(*attempt, body, *at),
        Event::Scheduled { .. }
        | Event::KeyKept { .. }
        | Event::Instigated { .. }
        | Event::Reminded { .. } => again::arranged(event),
        Event::ResendPlanned { .. }
        | Event::ResendRecorded { .. }
        | Event::ResendFailed { .. }
        | Event::ResendDropped { .. } => again::sent_again(event),
    }
}

fn ended_by(event: &Event) -> Value {
    match event {
        Event::Rejected { by, reason, at } => {
            json!({ "by": by, "reason": reason, "at": at.rfc3339() })
        }
        Event::Withdrawn { by, reason, at } | Event::Cancelled { by, reason, at } => {
            json!({ "by": by, "reason": reason, "at": at.rfc3339() })
        }
        other => unreachable!("{} is not what somebody ended", other.kind()),
    }
}

fn submitted(event: &Event) -> Value {
    match event {
        Event::Staged {
            proposal,
            snapshot,
            request,
            requirement,
            at,
        } => json!({
            "proposal": self::proposal(proposal),
            "snapshot": snapshot.as_ref().map(self::snapshot),
            "request": self::request(request), "requirement": self::requirement(requirement),
            "at": at.rfc3339(),
        }),
        Event::Accepted {
            proposal,
            snapshot,
            request,
            at,
        } => json!({
            "proposal": self::proposal(proposal),
            "snapshot": snapshot.as_ref().map(self::snapshot),
            "request": self::request(request), "at": at.rfc3339(),
        }),
        Event::Refused {
            proposal,
            refused,
            at,
        } => json!({
            "proposal": self::proposal(proposal), "code": refused.code,
            "message": refused.message, "at": at.rfc3339(),
        }),
        other => unreachable!("{} starts no action", other.kind()),
    }
}

fn committed(event: &Event) -> Value {
    let Event::CommitRecorded {
        attempt,
        digest,
        approved_by,
        tool_digest,
        request_digest,
        revalidated,
        idempotency_key,
        send_deadline,
        window,
        at,
    } = event
    else {
        unreachable!("{} is no commit record", event.kind());
    };
    json!({
        "attempt": attempt, "digest": digest.to_string(), "approved_by": approved_by,
        "tool_digest": tool_digest.to_string(), "request_digest": request_digest.to_string(),
        "revalidated": revalidated.as_ref().map(snapshot), "idempotency_key": idempotency_key,
        "send_deadline": send_deadline.rfc3339(), "window": window.name(), "at": at.rfc3339(),
    })
}

fn attempted(event: &Event) -> Value {
    match event {
        Event::AttemptSucceeded {
            attempt,
            http_status,
            result,
            at,
        } => json!({
            "attempt": attempt, "http_status": http_status, "result": result.value(),
            "at": at.rfc3339(),
        }),
        Event::AttemptRefused {
            attempt,
            http_status,
            answer,
            at,
        } => json!({
            "attempt": attempt, "http_status": http_status, "answer": answer.value(),
            "at": at.rfc3339(),
        }),
        Event::AttemptNotDelivered {
            attempt,
            message,
            retry_at,
            at,
        } => json!({
            "attempt": attempt, "message": message, "retry_at": moment(*retry_at),
            "at": at.rfc3339(),
        }),
        Event::AttemptUnknown {
            attempt,
            http_status,
            message,
            quiet_at,
            next_check,
            at,
        } => json!({
            "attempt": attempt, "http_status": http_status, "message": message,
            "quiet_at": quiet_at.rfc3339(), "next_check": moment(*next_check), "at": at.rfc3339(),
        }),
        other => unreachable!("{} ends no attempt", other.kind()),
    }
}

fn kept(attempt: u32, body: &AnswerBody, at: Timestamp) -> Value {
    let (bytes, broken) = match body {
        AnswerBody::Text(text) => (Some(text.len()), None),
        AnswerBody::Broken(why) => (None, Some(why)),
    };
    json!({ "attempt": attempt, "bytes": bytes, "broken": broken, "at": at.rfc3339() })
}

fn found(event: &Event) -> Value {
    match event {
        Event::FoundDone {
            attempt,
            evidence,
            at,
        } => json!({ "attempt": attempt, "evidence": evidence.value(), "at": at.rfc3339() }),
        Event::FoundNotDone {
            attempt,
            evidence,
            retry_at,
            at,
        } => json!({
            "attempt": attempt, "evidence": evidence.value(), "retry_at": moment(*retry_at),
            "at": at.rfc3339(),
        }),
        Event::CheckInconclusive {
            attempt,
            message,
            next_check,
            at,
        } => json!({
            "attempt": attempt, "message": message, "next_check": moment(*next_check),
            "at": at.rfc3339(),
        }),
        Event::Settled {
            attempt,
            by,
            happened,
            reason,
            at,
        } => json!({
            "attempt": attempt, "by": by, "happened": happened, "reason": reason,
            "at": at.rfc3339(),
        }),
        Event::LateAnswer {
            attempt,
            http_status,
            evidence,
            at,
        } => json!({
            "attempt": attempt, "http_status": http_status, "evidence": evidence.value(),
            "at": at.rfc3339(),
        }),
        other => unreachable!("{} finds nothing", other.kind()),
    }
}

fn moment(at: Option<Timestamp>) -> Option<String> {
    at.map(Timestamp::rfc3339)
}

fn proposal(proposal: &Proposal) -> Value {
    let caller = &proposal.caller;
    json!({
        "tool": proposal.tool, "safety_class": proposal.class.name(),
        "tool_digest": proposal.tool_digest.to_string(), "args": proposal.args.value(),
        "digest": proposal.digest.to_string(),
        "caller": {
            "id": caller.id, "name": caller.name, "kind": caller.kind.name(),
            "owner": caller.owner, "attributes": caller.attributes,
        },
        "reason": proposal.reason, "summary": proposal.summary, "labels": proposal.labels,
        "idempotency_key": proposal.idempotency_key,
    })
}

fn snapshot(snapshot: &Snapshot) -> Value {
    let watched: serde_json::Map<String, Value> = snapshot
        .watched
        .iter()
        .map(|(pointer, value)| (pointer.clone(), value.value()))
        .collect();
    json!({
        "state": snapshot.state.value(), "watched": watched,
        "digest": snapshot.digest.to_string(), "etag": snapshot.etag,
        "taken_at": snapshot.taken_at.rfc3339(),
    })
}

fn request(request: &Rendered) -> Value {
    json!({
        "method": request.method, "url": request.url, "headers": request.headers,
        "content_type": request.content_type, "body": request.body, "secrets": request.secrets,
        "digest": request.digest.to_string(),
    })
}

fn requirement(requirement: &Requirement) -> Value {
    let needs: Vec<Value> = requirement
        .needs
        .iter()
        .map(|need| {
            json!({ "required": need.required, "groups": need.groups, "because": need.because })
        })
        .collect();
    json!({
        "needs": needs, "deadline": requirement.deadline.rfc3339(),
        "hold_ms": requirement.hold_ms,
    })
}

fn vote(cast: &CastVote) -> Value {
    json!({
        "person": cast.voter.id, "name": cast.voter.name, "groups": cast.voter.groups,
        "vote": cast.vote.name(), "reason": cast.reason, "at": cast.at.rfc3339(),
    })
}

fn differences(diff: &[Difference]) -> Vec<Value> {
    diff.iter()
        .map(|field| {
            json!({
                "path": field.path,
                "approved": field.approved.as_ref().map(crate::canon::CanonicalJson::value),
                "now": field.now.as_ref().map(crate::canon::CanonicalJson::value),
            })
        })
        .collect()
}

fn replan_code(reason: &ReplanReason) -> &'static str {
    match reason {
        ReplanReason::StateMoved => "state_moved",
        ReplanReason::PreconditionFailed(_) => "precondition_failed",
        ReplanReason::ToolChanged => "tool_changed",
        ReplanReason::RequestChanged => "request_changed",
        ReplanReason::VersionMoved => "version_moved",
        ReplanReason::ApprovalOutgrown => "approval_outgrown",
    }
}

fn replan_message(reason: &ReplanReason) -> Option<&str> {
    match reason {
        ReplanReason::PreconditionFailed(message) => Some(message),
        ReplanReason::StateMoved
        | ReplanReason::ToolChanged
        | ReplanReason::RequestChanged
        | ReplanReason::VersionMoved
        | ReplanReason::ApprovalOutgrown => None,
    }
}

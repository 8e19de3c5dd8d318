//! From the engine's types to the wire's.

use holdpoint_engine::action::{self as core, FailReason, Phase};
use holdpoint_engine::approval::{CastVote, Requirement};
use holdpoint_engine::engine;
use holdpoint_engine::time::Timestamp;

use super::{
    Action, Answered, Approval, Attempt, Caller, Difference, Doubt, Ended, Header, Json, Lease,
    Need, Request, SecretVersion, Snapshot, Vote,
};

impl Action {
    /// An action as it is now; `replayed` where a submission found it.
    pub fn new(action: &core::Action, replayed: bool) -> Self {
        let proposal = &action.proposal;
        Self {
            id: action.id.to_string(),
            tool: proposal.tool.clone(),
            safety_class: proposal.class.name().into(),
            status: action.status().name().into(),
            revision: action.revision,
            digest: proposal.digest.to_string(),
            args: Json::of(&proposal.args),
            reason: proposal.reason.clone(),
            summary: proposal.summary.clone(),
            labels: proposal.labels.clone(),
            caller: (&proposal.caller).into(),
            idempotency_key: proposal.idempotency_key.clone(),
            replayed,
            request: action.request.as_ref().map(Into::into),
            snapshot: action.snapshot.as_ref().map(Into::into),
            approval: approval(action),
            attempts: action.attempts.iter().map(Into::into).collect(),
            result: result(&action.phase),
            ended: ended(action),
            doubt: doubt(action),
            diff: action.diff.iter().map(Into::into).collect(),
            not_before: action.not_before.map(Timestamp::rfc3339),
            created_at: action.created_at.rfc3339(),
            updated_at: action.updated_at.rfc3339(),
            due_at: action.due_at().map(Timestamp::rfc3339),
        }
    }
}

fn result(phase: &Phase) -> Option<Json> {
    match phase {
        Phase::Succeeded { result } => Some(Json::of(result)),
        Phase::Failed(
            FailReason::TargetRefused { answer } | FailReason::WorkerFailed { answer },
        ) => Some(Json::of(answer)),
        Phase::Failed(FailReason::NeverDelivered { .. } | FailReason::SettledAsNotDone { .. })
        | Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Unknown { .. }
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => None,
    }
}

fn ended(action: &core::Action) -> Option<Ended> {
    let (code, message, by) = match &action.phase {
        Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Unknown { .. }
        | Phase::Succeeded { .. } => return None,
        Phase::Failed(FailReason::TargetRefused { .. }) => (
            "target_refused",
            "the target said no; its answer is the result".into(),
            None,
        ),
        Phase::Failed(FailReason::WorkerFailed { .. }) => (
            "worker_failed",
            "the worker is certain that nothing happened; its reason is the result".into(),
            None,
        ),
        Phase::Failed(FailReason::NeverDelivered { message }) => {
            ("never_delivered", message.clone(), None)
        }
        Phase::Failed(FailReason::SettledAsNotDone { reason }) => {
            ("settled_as_not_done", reason.clone(), None)
        }
        Phase::Rejected { by, reason } => ("rejected", reason.clone(), Some(by.clone())),
        Phase::Expired => (
            "expired",
            format!(
                "expired, not run: {}. If it is still wanted, submit it again",
                action.expiry_words()
            ),
            None,
        ),
        Phase::Cancelled { by, reason } => (
            "cancelled",
            reason.clone().unwrap_or_default(),
            Some(by.clone()),
        ),
        Phase::Refused(refused) => (refused.code.as_str(), refused.message.clone(), None),
        Phase::ReplanRequired { message } => ("replan_required", message.clone(), None),
    };
    let code = code.into();
    Some(Ended { code, message, by })
}

fn doubt(action: &core::Action) -> Option<Doubt> {
    let Phase::Unknown {
        since,
        quiet_at,
        checks,
        next_check,
        next_resend,
    } = &action.phase
    else {
        return None;
    };
    Some(Doubt {
        since: since.rfc3339(),
        quiet_at: quiet_at.rfc3339(),
        checks: *checks,
        next_check: next_check.map(Timestamp::rfc3339),
        resends: action.doubt.map_or(0, |doubt| doubt.resends),
        next_resend: next_resend.map(Timestamp::rfc3339),
    })
}

fn approval(action: &core::Action) -> Option<Approval> {
    let approval = action.approval.as_ref()?;
    let Requirement {
        needs, deadline, ..
    } = &approval.requirement;
    let mut groups: Vec<String> = needs.iter().flat_map(|need| need.groups.clone()).collect();
    groups.sort();
    groups.dedup();
    let hold_until = match &action.phase {
        Phase::Approved { hold_until, .. } => hold_until.map(Timestamp::rfc3339),
        _ => None,
    };
    Some(Approval {
        required: approval.requirement.required(),
        groups,
        deadline: deadline.rfc3339(),
        hold_until,
        because: needs
            .iter()
            .filter_map(|need| need.because.clone())
            .collect(),
        needs: needs
            .iter()
            .map(|need| Need {
                required: need.required,
                groups: need.groups.iter().cloned().collect(),
                because: need.because.clone(),
            })
            .collect(),
        votes: approval.votes.iter().map(Into::into).collect(),
        short: Vec::new(),
    })
}

impl From<&CastVote> for Vote {
    fn from(cast: &CastVote) -> Self {
        Self {
            person: cast.voter.id.clone(),
            name: cast.voter.name.clone(),
            vote: cast.vote.name().into(),
            reason: cast.reason.clone(),
            at: cast.at.rfc3339(),
        }
    }
}

impl From<&core::Caller> for Caller {
    fn from(caller: &core::Caller) -> Self {
        Self {
            id: caller.id.clone(),
            name: caller.name.clone(),
            kind: caller.kind.name().into(),
            owner: caller.owner.clone(),
        }
    }
}

impl From<&core::Rendered> for Request {
    fn from(rendered: &core::Rendered) -> Self {
        let is_json = rendered
            .content_type
            .as_ref()
            .is_some_and(|media_type| media_type.contains("json"));
        let body = rendered.body.as_deref();
        Self {
            method: rendered.method.clone(),
            url: rendered.url.clone(),
            headers: rendered
                .headers
                .iter()
                .map(|(name, value)| Header {
                    name: name.clone(),
                    value: value.clone(),
                })
                .collect(),
            content_type: rendered.content_type.clone(),
            body: body.map(|text| {
                if is_json || rendered.content_type.is_none() {
                    Json::from_text(text)
                } else {
                    Json::string(text)
                }
            }),
            secrets: rendered.secrets.clone(),
            digest: rendered.digest.to_string(),
        }
    }
}

impl From<&core::Snapshot> for Snapshot {
    fn from(snapshot: &core::Snapshot) -> Self {
        Self {
            digest: snapshot.digest.to_string(),
            taken_at: snapshot.taken_at.rfc3339(),
            state: Json::of(&snapshot.state),
            watched: snapshot
                .watched
                .iter()
                .map(|(path, value)| (path.clone(), Json::of(value)))
                .collect(),
            etag: snapshot.etag.clone(),
        }
    }
}

impl From<&core::Attempt> for Attempt {
    fn from(attempt: &core::Attempt) -> Self {
        Self {
            number: attempt.number,
            started_at: attempt.started_at.rfc3339(),
            ended_at: attempt.ended_at.map(Timestamp::rfc3339),
            result: attempt.result.as_ref().map(|result| result.name().into()),
            http_status: attempt.http_status,
            note: attempt.note.clone(),
            window: attempt.window.name().into(),
            request_digest: attempt.request_digest.to_string(),
            resend: attempt.is_resend,
            lease: attempt.lease.as_ref().map(Into::into),
            secret: attempt.secret.as_ref().map(Into::into),
        }
    }
}

impl From<&core::SecretVersion> for SecretVersion {
    fn from(secret: &core::SecretVersion) -> Self {
        Self {
            name: secret.name.clone(),
            version: secret.version.clone(),
            changed_at: secret.changed_at.map(Timestamp::rfc3339),
        }
    }
}

impl From<&core::Lease> for Lease {
    fn from(lease: &core::Lease) -> Self {
        Self {
            worker: lease.worker.id.clone(),
            name: lease.worker.name.clone(),
            until: lease.until.rfc3339(),
            epoch: lease.epoch,
            extensions: lease.extensions,
        }
    }
}

impl From<&core::Difference> for Difference {
    fn from(difference: &core::Difference) -> Self {
        Self {
            path: difference.path.clone(),
            approved: difference.approved.as_ref().map(Json::of),
            now: difference.now.as_ref().map(Json::of),
        }
    }
}

impl Answered {
    /// The answer of an idempotent tool.
    pub fn new(tool: &str, answered: &engine::Answered) -> Self {
        Self {
            tool: tool.into(),
            safety_class: answered.class.name().into(),
            status: answered.status.name().into(),
            summary: answered.summary.clone(),
            http_status: answered.http_status,
            result: Json::value(&answered.result),
        }
    }
}

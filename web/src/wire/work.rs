//! Work for services that pull it, on the wire.

use std::collections::BTreeMap;

use holdpoint_engine::engine::{Assignment, Versioned, WorkId};
use holdpoint_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Caller, Json, Snapshot};

/// A worker asks for something to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkClaim {
    /// The tools that it can carry out, 1 to 100. The key needs the scope `work:{tool}` of each, or
    /// `work:*`.
    #[schema(example = json!(["issue_refund"]))]
    pub tools: Vec<String>,
    /// How long to wait where there is nothing now, up to 60 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "30s")]
    pub wait: Option<String>,
    /// How long it may be silent, 5 to 3600; the time limit of the tool where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 30)]
    pub lease_seconds: Option<u64>,
}

/// What a worker is to do. It is committed: nobody else gets it, and it must be reported on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Work {
    /// The address of this attempt: `act_….1`.
    #[schema(example = "act_01901f3ac0de7000a1b2c3d4e5f60718.1")]
    pub attempt: String,
    /// To be sent along with everything that is said of it. Larger than that of every attempt of the
    /// action before, so that a target can refuse whoever comes late.
    pub epoch: u64,
    /// Counts the attempts of the action from 1.
    pub number: u32,
    /// When it was committed.
    pub claimed_at: String,
    /// From then on nothing that the worker says counts. Heartbeats move it.
    pub lease_until: String,
    /// `act_…`
    pub action: String,
    /// The name of the tool.
    pub tool: String,
    /// `write-once-checkable`, `irreversible` or `approval-bound`.
    pub safety_class: String,
    /// The exact arguments.
    pub args: Json,
    /// One sentence, made by the server.
    pub summary: String,
    /// What lists can be filtered by.
    pub labels: BTreeMap<String, String>,
    /// Who asked for it.
    pub caller: Caller,
    /// The same for every attempt of the action: to be sent to whatever is called.
    pub idempotency_key: String,
    /// What the approval was bound to.
    pub digest: String,
    /// The digest of the request that the commit record names.
    pub request_digest: String,
    /// The state as it was read right before, where the tool has a state query.
    pub snapshot: Option<Snapshot>,
}

/// A worker is still at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkHeartbeat {
    /// The epoch of the claim.
    pub epoch: u64,
    /// How much longer it may be silent, 5 to 3600; the time limit of the tool where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u64>,
}

/// A lease as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkLease {
    /// The attempt.
    pub attempt: String,
    /// The epoch of the claim.
    pub epoch: u64,
    /// From then on nothing that the worker says counts.
    pub lease_until: String,
}

/// A worker says how its attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkReport {
    /// The epoch of the claim.
    pub epoch: u64,
    /// `succeeded` (it took effect), `failed` (certain that nothing happened, and nothing will), or
    /// `unknown` (anything else).
    #[schema(example = "succeeded")]
    pub outcome: String,
    /// What came of it, where it succeeded; must fit the tool's result schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why, where it did not succeed; 1 to 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A report that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkDone {
    /// The attempt.
    pub attempt: String,
    /// `act_…`
    pub action: String,
    /// The status of the action now.
    pub status: String,
    /// `done`, `not_done` or `unknown`.
    pub result: Option<String>,
}

impl Work {
    /// What is given to a worker.
    pub fn new(assignment: &Assignment) -> Self {
        let action = &assignment.action;
        let proposal = &action.proposal;
        let attempt = action.attempts.last();
        let digest = attempt.map(|attempt| attempt.request_digest.to_string());
        let started_at = attempt.map_or(action.updated_at, |attempt| attempt.started_at);
        Self {
            attempt: assignment.id.to_string(),
            epoch: assignment.epoch,
            number: assignment.id.attempt,
            claimed_at: started_at.rfc3339(),
            lease_until: assignment.lease_until.rfc3339(),
            action: action.id.to_string(),
            tool: proposal.tool.clone(),
            safety_class: proposal.class.name().into(),
            args: Json::of(&proposal.args),
            summary: proposal.summary.clone(),
            labels: proposal.labels.clone(),
            caller: (&proposal.caller).into(),
            idempotency_key: proposal.idempotency_key.clone(),
            digest: proposal.digest.to_string(),
            request_digest: digest.unwrap_or_default(),
            snapshot: assignment.state.as_ref().map(Into::into),
        }
    }
}

impl WorkLease {
    /// The lease of an attempt.
    pub fn new(id: WorkId, epoch: u64, until: Timestamp) -> Self {
        Self {
            attempt: id.to_string(),
            epoch,
            lease_until: until.rfc3339(),
        }
    }
}

impl WorkDone {
    /// What became of an attempt.
    pub fn new(id: WorkId, found: &Versioned) -> Self {
        let place = usize::try_from(id.attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let attempt = found.action.attempts.get(place);
        let result = attempt.and_then(|attempt| attempt.result.as_ref());
        Self {
            attempt: id.to_string(),
            action: id.action.to_string(),
            status: found.action.status().name().into(),
            result: result.map(|result| result.name().into()),
        }
    }
}

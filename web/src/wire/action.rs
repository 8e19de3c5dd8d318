//! Actions on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Json;

/// A call that the caller wants to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The name of the tool.
    #[schema(example = "issue_refund")]
    pub tool: String,
    /// The arguments: an object that fits the tool's schema.
    pub args: Json,
    /// The caller's own words, for the approvers; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Further labels; they may not overwrite those of the tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// A shorter time to decide than the tool's own, for example `30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "30m")]
    pub expires_in: Option<String>,
    /// Not to be called before this moment (RFC 3339), which must be before the deadline of the
    /// approval. A moment that has passed means at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-12-01T08:00:00Z")]
    pub not_before: Option<String>,
}

impl Submission {
    /// A call of a tool, with nothing said beside it.
    pub fn new(tool: &str, args: Json) -> Self {
        Self {
            tool: tool.to_owned(),
            args,
            reason: None,
            labels: BTreeMap::new(),
            expires_in: None,
            not_before: None,
        }
    }
}

/// A vote on exactly what was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// `approve` or `reject`.
    #[schema(example = "approve")]
    pub vote: String,
    /// Why; required for a rejection, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The digest that was shown.
    pub digest: String,
    /// The revision that was shown.
    pub revision: u32,
    /// The digest of the snapshot that was shown, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_digest: Option<String>,
}

/// Why, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// At most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a person knows about an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settlement {
    /// Whether it happened.
    pub happened: bool,
    /// How the person knows; at most 2,000 characters.
    pub reason: String,
}

/// The answer to a submission: a recorded action, or the answer of an idempotent tool.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Submitted {
    /// It is durable.
    Action(Box<Action>),
    /// It was called at once.
    Answered(Answered),
}

/// The answer of an idempotent tool, which was called at once and is not recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Answered {
    /// The name of the tool.
    pub tool: String,
    /// Always `idempotent`.
    pub safety_class: String,
    /// `succeeded` or `failed`.
    pub status: String,
    /// One sentence.
    pub summary: String,
    /// The status of the tool's answer, where there was one.
    pub http_status: Option<u16>,
    /// The tool's answer, or why there was none.
    pub result: Json,
}

/// One proposed call, and what has become of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Action {
    /// `act_…`
    #[schema(example = "act_01901f3ac0de7000a1b2c3d4e5f60718")]
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// `idempotent`, `write-once-checkable`, `irreversible` or `approval-bound`.
    pub safety_class: String,
    /// `staged`, `approved`, `accepted`, `executing`, `unknown`; final: `succeeded`, `failed`,
    /// `rejected`, `expired`, `cancelled`, `refused`, `replan_required`.
    pub status: String,
    /// Counts the stagings; a vote names it.
    pub revision: u32,
    /// What an approval binds to; a vote names it.
    pub digest: String,
    /// The exact arguments.
    pub args: Json,
    /// The caller's own words. Not checked by anybody.
    pub reason: Option<String>,
    /// One sentence, made by the server.
    pub summary: String,
    /// What lists can be filtered by.
    pub labels: BTreeMap<String, String>,
    /// Who asked.
    pub caller: Caller,
    /// The key that is sent to the target.
    pub idempotency_key: String,
    /// Whether this submission found an action that was there before.
    pub replayed: bool,
    /// What will be sent, without secrets.
    pub request: Option<Request>,
    /// The state of the world as the approvers see it.
    pub snapshot: Option<Snapshot>,
    /// The approval, where the class asks for one.
    pub approval: Option<Approval>,
    /// Each call, in order.
    pub attempts: Vec<Attempt>,
    /// What the target answered, once there is an answer.
    pub result: Option<Json>,
    /// Why it ended, where it did not succeed.
    pub ended: Option<Ended>,
    /// What is in doubt, while the outcome is unknown.
    pub doubt: Option<Doubt>,
    /// What moved between approval and execution.
    pub diff: Vec<Difference>,
    /// Not to be called before this, where the caller chose a moment.
    pub not_before: Option<String>,
    /// When it was submitted.
    pub created_at: String,
    /// When its last event happened.
    pub updated_at: String,
    /// When the engine looks at it next.
    pub due_at: Option<String>,
}

/// Who asked for an action, as the credential said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Caller {
    /// `per_…` or `key_…`
    pub id: String,
    /// The name at that time.
    pub name: String,
    /// `person`, `service` or `agent`.
    pub kind: String,
    /// The person who answers for the key.
    pub owner: Option<String>,
}

/// A request as it will be sent, without its secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Request {
    /// The method; `WORK` where a worker pulls the call.
    pub method: String,
    /// The whole URL; empty for a worker.
    pub url: String,
    /// The headers, in order.
    pub headers: Vec<Header>,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// The body: as JSON where it is JSON, else as a string.
    pub body: Option<Json>,
    /// The names of the secrets that will be added.
    pub secrets: Vec<String>,
    /// Over all of the above.
    pub digest: String,
}

/// One header of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What the state query returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// Over the watched fields; a vote names it.
    pub digest: String,
    /// When it was read.
    pub taken_at: String,
    /// The whole answer.
    pub state: Json,
    /// The watched fields, by JSON Pointer.
    pub watched: BTreeMap<String, Json>,
    /// The `ETag` of the answer.
    pub etag: Option<String>,
}

/// An approval under way, or given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// The largest number of people that any need asks for.
    pub required: u32,
    /// The groups that any need asks for.
    pub groups: Vec<String>,
    /// From this moment on no vote counts.
    pub deadline: String,
    /// Until when an approver may take the approval back; null once a call was made.
    pub hold_until: Option<String>,
    /// Why more than the usual is asked for.
    pub because: Vec<String>,
    /// Each need; all must be met.
    pub needs: Vec<Need>,
    /// Who said what on this revision.
    pub votes: Vec<Vote>,
    /// That a need cannot be met, in words, since fewer people may still vote than it asks for. Told
    /// where the answer is about this action alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<String>,
}

/// This many people, out of these groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Need {
    /// How many different people.
    pub required: u32,
    /// Any of these groups; any approver where it is empty.
    pub groups: Vec<String>,
    /// Why, where a rule asked for it.
    pub because: Option<String>,
}

/// One vote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vote {
    /// `per_…`
    pub person: String,
    /// The name at that time.
    pub name: String,
    /// `approve` or `reject`.
    pub vote: String,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: String,
}

/// One call of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// When its commit record was durable.
    pub started_at: String,
    /// When its first result was recorded.
    pub ended_at: Option<String>,
    /// `done`, `not_done` or `unknown`; none while it is on its way.
    pub result: Option<String>,
    /// The status of the answer.
    pub http_status: Option<u16>,
    /// Why, in words, where it did not simply succeed.
    pub note: Option<String>,
    /// How sure it was that nothing moved before the call: `closed`, `narrowed` or `open`.
    pub window: String,
    /// The digest of what was sent.
    pub request_digest: String,
    /// Whether it is the attempt before it, sent again with the same key.
    pub resend: bool,
    /// Which worker has it, or had it; none where the server makes the call.
    #[serde(default)]
    pub lease: Option<Lease>,
    /// The version of the secret that it was sent with; none where it needs none.
    #[serde(default)]
    pub secret: Option<SecretVersion>,
}

/// One version of a secret, told from its file and not from its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretVersion {
    /// The secret, as the tools file writes it.
    pub name: String,
    /// The number of its file and the moment of the file's last change, in nanoseconds; `pipe` for a
    /// pipe.
    pub version: String,
    /// That moment.
    pub changed_at: Option<String>,
}

/// The right of one worker to carry out one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// `key_…`
    pub worker: String,
    /// The name of the key at that time.
    pub name: String,
    /// From then on nothing that the worker says counts.
    pub until: String,
    /// Larger than that of every lease of the action before.
    pub epoch: u64,
    /// How often it was extended.
    pub extensions: u32,
}

/// Why an action ended without success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ended {
    /// `target_refused`, `worker_failed`, `never_delivered`, `settled_as_not_done`, `rejected`, `expired`,
    /// `cancelled`, `replan_required`, or the code of a refusal.
    pub code: String,
    /// In words.
    pub message: String,
    /// Who ended it, where somebody did.
    pub by: Option<String>,
}

/// What is known about an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Doubt {
    /// Since when.
    pub since: String,
    /// Before this moment "not found" proves nothing.
    pub quiet_at: String,
    /// How often the source of truth was asked.
    pub checks: u32,
    /// When it is asked next; none where it is not asked any more.
    pub next_check: Option<String>,
    /// How often the same call was sent again with the same key.
    pub resends: u32,
    /// When it is sent again; with neither this nor `next_check`, a person must settle it.
    pub next_resend: Option<String>,
}

/// One watched field that moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// A JSON Pointer into the state.
    pub path: String,
    /// What was approved; none where the field was not there.
    pub approved: Option<Json>,
    /// What is there now; none where the field is gone.
    pub now: Option<Json>,
}

/// One page of actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// The actions.
    pub data: Vec<Action>,
    /// Where the next page starts; none on the last.
    pub next_cursor: Option<String>,
}

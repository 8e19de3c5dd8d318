//! Runs on the wire.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::canon::CanonicalJson;
use holdpoint_engine::run;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Caller, Json, RunReceipt};

/// The status of a run that is not over and that nobody carries on.
pub const INTERRUPTED: &str = "interrupted";

const ADVICE: &str = "the process that carried it on has ended; POST /v1/runs/{id}/resume goes on after the last step that passed, with the secret inputs given again, or POST /v1/runs/{id}/cancel calls it off";

/// A run to be started: of a skill file, or of a function that the server's program registered.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member of its own")]
pub struct NewRun {
    /// All of a skill file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Its inputs, by name, each of the type that the file declares. The secret ones are stored nowhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Json>,
    /// Whether idempotent writes may be made; needs the scope `runs:writes` of a key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_writes: bool,
    /// Whether destructive steps may be made, and so idempotent writes; needs `runs:destructive` as well.
    #[serde(default, skip_serializing_if = "is_false")]
    pub yes: bool,
    /// Whether what is not allowed is put before people instead of being withheld.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stage: bool,
    /// Whether tools may differ from those that the file was made with.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_manifest: bool,
    /// The name of a function, instead of `skill`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Its version; the newest where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// What it is given; null where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
}

/// How a run is gone on with. What is left out stays as it is.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResumption {
    /// Whether idempotent writes may be made from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_writes: Option<bool>,
    /// Whether destructive steps may be made from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yes: Option<bool>,
    /// Whether what is not allowed is put before people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<bool>,
    /// The secret inputs, by name, as texts; they are stored nowhere, so that they are given again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
}

/// An event that the code of a run may be waiting for, now or later.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSignal {
    /// Its name, 1 to 128 bytes.
    pub name: String,
    /// What comes with it; null where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a run is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunFlags {
    /// Idempotent writes may be made.
    pub allow_writes: bool,
    /// Destructive steps may be made, and so idempotent writes.
    pub yes: bool,
    /// What is not allowed is put before people instead of being withheld.
    pub stage: bool,
}

impl From<run::Flags> for RunFlags {
    fn from(flags: run::Flags) -> Self {
        Self {
            allow_writes: flags.allow_writes,
            yes: flags.yes,
            stage: flags.stage,
        }
    }
}

/// A run as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// `run_…`
    #[schema(example = "run_01901f3ac0de7000a1b2c3d4e5f60718")]
    pub id: String,
    /// `running`, `waiting`, `interrupted`; final: `passed`, `failed`, `rejected`, `expired`,
    /// `replan_required`, `cancelled`, `diverged`, `continued`.
    pub status: String,
    /// What to do where it is interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The name of the skill file or function.
    pub name: String,
    /// Who started it.
    pub caller: Caller,
    /// What it is allowed now.
    pub flags: RunFlags,
    /// What it was given, without secrets.
    pub input: Json,
    /// The names of its secret inputs.
    pub secrets: BTreeSet<String>,
    /// Whether the server goes on with it by itself after a restart.
    pub unattended: bool,
    /// The schedule that started it.
    pub schedule: Option<String>,
    /// The run that it goes on from.
    pub continues: Option<String>,
    /// Whether somebody called it off, and it has not ended yet.
    pub cancelling: bool,
    /// How many events it has; send it as `after` to wait for more.
    pub events: u64,
    /// When it began.
    pub created_at: String,
    /// When something last happened.
    pub updated_at: String,
    /// What each step came to so far.
    pub receipt: RunReceipt,
}

impl Run {
    /// A run and its receipt; `is_carried_on` where somebody in the server works on it.
    pub fn new(run: &run::Run, receipt: &run::Receipt, is_carried_on: bool) -> Self {
        let start = &run.start;
        let id = run.id.to_string();
        let is_interrupted = run.ended.is_none() && !is_carried_on;
        let mut receipt = RunReceipt::new(receipt);
        if is_interrupted {
            INTERRUPTED.clone_into(&mut receipt.status);
        }
        Self {
            status: receipt.status.clone(),
            advice: is_interrupted.then(|| ADVICE.replace("{id}", &id)),
            id,
            name: start.origin.name().to_owned(),
            caller: (&start.caller).into(),
            flags: run.flags.into(),
            input: Json::of(&start.input),
            secrets: start.secrets.clone(),
            unattended: start.unattended,
            schedule: start.schedule.clone(),
            continues: start.continues.map(|run| run.to_string()),
            cancelling: run.cancel.is_some() && run.ended.is_none(),
            events: run.events,
            created_at: run.created_at.rfc3339(),
            updated_at: run.updated_at.rfc3339(),
            receipt,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// `run_…`
    pub id: String,
    /// As in the run itself.
    pub status: String,
    /// The name of the skill file or function.
    pub name: String,
    /// `skill` or `workflow`.
    pub kind: String,
    /// Who started it: `per_…`, `key_…` or `local`.
    pub caller: String,
    /// The name of whoever started it.
    pub caller_name: String,
    /// The schedule that started it.
    pub schedule: Option<String>,
    /// Whether the server goes on with it by itself after a restart.
    pub unattended: bool,
    /// How many steps passed.
    pub passed: u32,
    /// How many steps began or were left out.
    pub steps: u32,
    /// How many steps the skill file has; none for a workflow.
    pub planned: Option<u32>,
    /// Why it did not pass, cut to a line.
    pub message: Option<String>,
    /// When it began.
    pub created_at: String,
    /// When something last happened.
    pub updated_at: String,
}

impl RunSummary {
    /// A run of a list; `is_carried_on` where somebody in the server works on it.
    pub fn new(run: &run::RunSummary, is_carried_on: bool) -> Self {
        let is_interrupted = !run.status.is_final() && !is_carried_on;
        let status = if is_interrupted {
            INTERRUPTED
        } else {
            run.status.name()
        };
        let kind = if run.is_skill { "skill" } else { "workflow" };
        Self {
            id: run.id.to_string(),
            status: status.to_owned(),
            name: run.name.clone(),
            kind: kind.to_owned(),
            caller: run.caller.clone(),
            caller_name: run.caller_name.clone(),
            schedule: run.schedule.clone(),
            unattended: run.unattended,
            passed: run.passed,
            steps: run.made,
            planned: run.planned,
            message: run.message.clone(),
            created_at: run.created_at.rfc3339(),
            updated_at: run.updated_at.rfc3339(),
        }
    }
}

/// One page of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Runs {
    /// The runs, the newest first.
    pub data: Vec<RunSummary>,
    /// Send this as `cursor` for the next page; none on the last.
    pub next_cursor: Option<String>,
}

/// JSON of our own making that is none where it is null.
pub(super) fn unless_null(value: &serde_json::Value) -> Option<Json> {
    (!value.is_null()).then(|| Json::of(&CanonicalJson::of(value)))
}

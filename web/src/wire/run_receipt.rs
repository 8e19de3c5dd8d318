//! The receipt of a run on the wire: member for member the one that the engine makes.

use holdpoint_engine::run::receipt;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Json;
use super::runs::unless_null;

/// What each step of a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReceipt {
    /// `run_…`
    pub run: String,
    /// Where it stands.
    pub status: String,
    /// Whether it is over and passed.
    pub passed: bool,
    /// The skill file; none for code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<RunSkill>,
    /// The function; none for a skill file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<RunWorkflow>,
    /// When it began.
    pub started_at: String,
    /// When it ended; none while it goes on.
    pub ended_at: Option<String>,
    /// How long it took, or has taken so far, in milliseconds.
    pub ms: u64,
    /// Why it did not pass.
    pub message: Option<String>,
    /// What code answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The run that goes on from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_as: Option<String>,
    /// How many steps ended how.
    pub totals: RunTotals,
    /// The steps: of a file all of them, of code those that began.
    pub steps: Vec<RunStep>,
}

/// A skill file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunSkill {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunWorkflow {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
}

/// How many steps ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunTotals {
    /// All steps.
    pub steps: u32,
    /// As they should.
    pub passed: u32,
    /// In any other way that was made, or tried.
    pub failed: u32,
    /// Not allowed.
    pub withheld: u32,
    /// Left out, or never reached.
    pub skipped: u32,
    /// Under way.
    pub waiting: u32,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunStep {
    /// Where it stands: its number in a file, `branch/2` in code.
    pub path: String,
    /// Its number in a file; none for code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub intent: Option<String>,
    /// `pending`, `running`, `waiting`, `passed`, `failed`, `withheld`, `skipped`, `rejected`, `expired`,
    /// `replan_required`, `cancelled`, `refused`, `settled_not_done`.
    pub outcome: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The tool.
    pub tool: Option<String>,
    /// What a repeat does to the world: `read`, `idempotent-write` or `destructive`.
    pub effect: Option<String>,
    /// The effect class that the file says itself; what that overrides stands in the notes.
    #[serde(rename = "override")]
    pub own_effect: Option<String>,
    /// The SHA-256 of the canonical arguments, secrets left out.
    pub args_digest: Option<String>,
    /// The key that was sent to targets that take one, where the tool made none of its own.
    pub idempotency_key: Option<String>,
    /// Which try of the step it is.
    pub tried: u32,
    /// The tries before it to which people said no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<RunRejection>,
    /// How often the call was made.
    pub attempts: u32,
    /// The status of the answer.
    pub http_status: Option<u16>,
    /// Each assertion, and whether it held.
    pub asserts: Vec<RunAssert>,
    /// The names that were bound.
    pub binds: Vec<String>,
    /// Why it did not pass, or what it waits for.
    pub failures: Vec<String>,
    /// What should be known about it.
    pub notes: Vec<String>,
    /// The call that was not made, and what would allow it.
    pub withheld: Option<RunWithheld>,
    /// The action that stands for it.
    pub action: Option<String>,
    /// What came of asking people: `waiting`, `approved`, `rejected`, `expired`, `cancelled`, `refused`,
    /// `replan_required`; none where nobody was asked. Who said what is with the action.
    #[serde(default)]
    pub approval: Option<String>,
}

/// An earlier try of a step to which people said no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRejection {
    /// Which try.
    #[serde(rename = "try")]
    pub tried: u32,
    /// When.
    pub at: String,
    /// By whom and why.
    pub why: String,
    /// The action that was rejected.
    pub action: Option<String>,
}

/// An assertion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunAssert {
    /// As it stands in the file.
    pub assert: String,
    /// Whether it held.
    pub passed: bool,
    /// What was there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// A call that was not made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunWithheld {
    /// The tool.
    pub tool: String,
    /// The arguments, filled but for secrets.
    pub args: Json,
    /// The flag that would allow it; none where no flag does.
    pub flag: Option<String>,
}

impl RunReceipt {
    /// The receipt as the engine makes it.
    pub fn new(receipt: &receipt::Receipt) -> Self {
        let totals = receipt.totals;
        Self {
            run: receipt.run.clone(),
            status: receipt.status.to_owned(),
            passed: receipt.passed,
            skill: receipt.skill.as_ref().map(|skill| RunSkill {
                name: skill.name.clone(),
                sha256: skill.sha256.clone(),
            }),
            workflow: receipt.workflow.as_ref().map(|workflow| RunWorkflow {
                name: workflow.name.clone(),
                version: workflow.version,
            }),
            started_at: receipt.started_at.clone(),
            ended_at: receipt.ended_at.clone(),
            ms: receipt.ms,
            message: receipt.message.clone(),
            output: unless_null(&receipt.output),
            continued_as: receipt.continued_as.clone(),
            totals: RunTotals {
                steps: totals.steps,
                passed: totals.passed,
                failed: totals.failed,
                withheld: totals.withheld,
                skipped: totals.skipped,
                waiting: totals.waiting,
            },
            steps: receipt.steps.iter().map(step).collect(),
        }
    }
}

fn rejection(rejection: &receipt::RejectionReceipt) -> RunRejection {
    RunRejection {
        tried: rejection.tried,
        at: rejection.at.clone(),
        why: rejection.why.clone(),
        action: rejection.action.clone(),
    }
}

fn step(step: &receipt::StepReceipt) -> RunStep {
    let assert = |assert: &receipt::AssertReceipt| RunAssert {
        assert: assert.assert.clone(),
        passed: assert.passed,
        seen: assert.seen.clone(),
    };
    RunStep {
        path: step.path.clone(),
        number: step.number,
        title: step.title.clone(),
        intent: step.intent.clone(),
        outcome: step.outcome.to_owned(),
        ms: step.ms,
        tool: step.tool.clone(),
        effect: step.effect.map(str::to_owned),
        own_effect: step.own_effect.map(str::to_owned),
        args_digest: step.args_digest.clone(),
        idempotency_key: step.idempotency_key.clone(),
        tried: step.tried,
        rejections: step.rejections.iter().map(rejection).collect(),
        attempts: step.attempts,
        http_status: step.http_status,
        asserts: step.asserts.iter().map(assert).collect(),
        binds: step.binds.clone(),
        failures: step.failures.clone(),
        notes: step.notes.clone(),
        withheld: step.withheld.as_ref().map(|withheld| RunWithheld {
            tool: withheld.tool.clone(),
            args: Json::value(&withheld.args),
            flag: withheld.flag.map(str::to_owned),
        }),
        action: step.action.clone(),
        approval: step.approval.map(str::to_owned),
    }
}

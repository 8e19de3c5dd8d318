//! What can happen to a run. A stored body is a format byte and then bincode; variants and fields
//! keep their places for ever, new variants go to the end.

use std::collections::{BTreeMap, BTreeSet};

use bincode::{Decode, Encode};

use super::id::{RunId, StepPath};
use crate::action::{ActionId, Caller, Instigator};
use crate::canon::{CanonicalJson, Digest};
use crate::time::Timestamp;
use crate::tool::EffectClass;

/// One fact about a run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// It exists, and may begin. First in its stream.
    Started(Box<Start>),
    /// A step is about to be made. Durable before anything leaves.
    StepStarted {
        /// Which step.
        path: StepPath,
        /// What it calls.
        call: StepCall,
    },
    /// The step waits for people, or for the end of a doubt.
    StepWaiting {
        /// Which step.
        path: StepPath,
        /// The action that stands for it.
        action: ActionId,
        /// What for.
        why: Waiting,
    },
    /// The step is over.
    StepEnded {
        /// Which step.
        path: StepPath,
        /// How it went.
        report: Box<StepReport>,
    },
    /// The step was left out, by its own condition.
    StepSkipped {
        /// Which step.
        path: StepPath,
        /// Its title.
        title: String,
        /// Why.
        reason: String,
    },
    /// Code learned something that it must learn again at every replay.
    Noted {
        /// Where.
        path: StepPath,
        /// What.
        note: Note,
    },
    /// Somebody sent the run an event.
    Signalled {
        /// Its name.
        name: String,
        /// What came with it.
        data: CanonicalJson,
    },
    /// A model changed the file of the run, within what the gate allows.
    Healed {
        /// Which step.
        path: StepPath,
        /// What was changed.
        heal: Heal,
    },
    /// Somebody wants it to end.
    CancelRequested {
        /// Why.
        reason: Option<String>,
    },
    /// It goes on after an end, or in another process.
    Resumed {
        /// What it is allowed from now on.
        flags: Flags,
    },
    /// It is over, until somebody resumes it.
    Ended {
        /// How.
        end: End,
        /// What it answers; null where it answers nothing.
        output: CanonicalJson,
        /// Why, in words, where it did not pass.
        message: Option<String>,
    },
    /// Somebody besides whoever started it made it go on: by resuming it, or by starting it by hand on
    /// their behalf. Stands behind what they did, in the same append.
    Instigated {
        /// Who.
        by: Instigator,
    },
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Start {
    /// What it carries out.
    pub origin: Origin,
    /// What it was given: the inputs of a skill file by name, or the input of code. Never a secret.
    pub input: CanonicalJson,
    /// The names of the inputs that are secret; their values are not stored anywhere.
    pub secrets: BTreeSet<String>,
    /// What it is allowed.
    pub flags: Flags,
    /// Who started it.
    pub caller: Caller,
    /// Whether nobody sits before it: a server goes on with it by itself after a restart.
    pub unattended: bool,
    /// The schedule that started it.
    pub schedule: Option<String>,
    /// The run that this one goes on from.
    pub continues: Option<RunId>,
}

/// What a run carries out.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Origin {
    /// A skill file.
    Skill {
        /// Its name.
        name: String,
        /// All of it.
        text: String,
        /// The SHA-256 of its bytes.
        digest: Digest,
    },
    /// A function of the program.
    Code {
        /// Its name.
        name: String,
        /// Its version.
        version: u32,
    },
}

impl Origin {
    /// The name of the file or function.
    pub fn name(&self) -> &str {
        match self {
            Self::Skill { name, .. } | Self::Code { name, .. } => name,
        }
    }
}

/// What a run is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Flags {
    /// `--allow-writes`: idempotent writes may be made.
    pub allow_writes: bool,
    /// `--yes`: destructive steps may be made, and so idempotent writes.
    pub yes: bool,
    /// `--stage`: what is not allowed is put before people instead of being withheld.
    pub stage: bool,
}

/// What a step calls.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StepCall {
    /// Which try, from 1.
    pub number: u32,
    /// What it is called for people.
    pub title: String,
    /// What it is for, in one sentence.
    pub intent: Option<String>,
    /// The name of the tool.
    pub tool: String,
    /// The arguments; holes of secret inputs are not filled.
    pub args: CanonicalJson,
    /// What a repeat of the call does to the world.
    pub effect: EffectClass,
    /// What the gate says.
    pub verdict: Verdict,
    /// What should be known about it, such as an override of its effect class.
    pub notes: Vec<String>,
}

/// What the gate says about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Verdict {
    /// It may be made.
    Go,
    /// It is put before people.
    Stage,
    /// It is not made. `--allow-writes` would allow it.
    NeedsAllowWrites,
    /// It is not made. `--yes` would allow it.
    NeedsYes,
    /// It is not made, and no flag would allow it: it is not the call that was approved.
    NotAsApproved,
    /// It is not made: whoever started the run may not let calls of this class out.
    NeedsAuthority(EffectClass),
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Waiting {
    /// People who decide, or the end of a hold window.
    Approval,
    /// A worker, or the moment of the call.
    Turn,
    /// The end of a doubt: the source of truth, or a person who settles it.
    Settlement,
    /// Nobody: it is decided, and the call is on its way or is made in a while.
    Call,
    /// A secret input of the run, which the process that was given it took with it.
    Secret,
}

/// How a step went.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StepReport {
    /// How it ended.
    pub outcome: StepOutcome,
    /// Why it did not pass, a line each.
    pub failures: Vec<String>,
    /// The action that stood for it; none where it only read, or nothing was called.
    pub action: Option<ActionId>,
    /// How often the call was made.
    pub attempts: u32,
    /// The status of the answer.
    pub http_status: Option<u16>,
    /// The answer, as evidence; what is long is cut and says so. Code gets all of it.
    pub answer: CanonicalJson,
    /// Each assertion, in order.
    pub asserts: Vec<Assert>,
    /// What was bound, by name.
    pub binds: BTreeMap<String, CanonicalJson>,
    /// What should be known about it.
    pub notes: Vec<String>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StepOutcome {
    /// As it should.
    Passed,
    /// It was made and is not as it should be, or certainly did not happen.
    Failed,
    /// Nothing left: it was not allowed.
    Withheld,
    /// A person said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// The world is not the one that was approved.
    ReplanRequired,
    /// It was called off before it was made.
    Cancelled,
    /// The engine refused it: a scope, a rule, a precondition.
    Refused,
    /// Nobody knew, and then a person said that it did not happen.
    SettledNotDone,
}

impl StepOutcome {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Withheld => "withheld",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::ReplanRequired => "replan_required",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::SettledNotDone => "settled_not_done",
        }
    }
}

/// One assertion, and whether it held.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Assert {
    /// As it stands in the file.
    pub text: String,
    /// Whether it held.
    pub passed: bool,
    /// What was there instead.
    pub seen: Option<String>,
}

/// What code learned.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Note {
    /// The time.
    Now(Timestamp),
    /// Random bytes.
    Random([u8; 16]),
    /// It sleeps until then.
    Sleep {
        /// Until when.
        until: Timestamp,
    },
    /// It waits for an event of that name.
    WaitFor {
        /// Its name.
        name: String,
    },
    /// It got the event that it waited for.
    Received {
        /// Its name.
        name: String,
        /// Which one of that name, from 0.
        index: u32,
    },
    /// It slept long enough.
    Woke,
}

/// What a model changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Heal {
    /// Which level of help: 1 or 2.
    pub level: u8,
    /// The lines before, as they stood in the file.
    pub before: Vec<String>,
    /// The lines after.
    pub after: Vec<String>,
    /// Why, in the model's words. Untrusted.
    pub reason: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum End {
    /// Every step passed or was left out by its condition.
    Passed,
    /// A step failed or was withheld.
    Failed,
    /// A person rejected a step.
    Rejected,
    /// Nobody decided on a step in time.
    Expired,
    /// The world moved before a step.
    ReplanRequired,
    /// Somebody called it off.
    Cancelled,
    /// The code is not the one that the history was made by.
    Diverged,
    /// It goes on as another run, with a new history.
    Continued(RunId),
}

impl End {
    /// The run that it goes on as, where it does.
    pub fn continued_as(&self) -> Option<RunId> {
        match self {
            Self::Continued(next) => Some(*next),
            Self::Passed
            | Self::Failed
            | Self::Rejected
            | Self::Expired
            | Self::ReplanRequired
            | Self::Cancelled
            | Self::Diverged => None,
        }
    }
}

impl Event {
    /// Its name in the log. A contract.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "run.started",
            Self::StepStarted { .. } => "run.step_started",
            Self::StepWaiting { .. } => "run.step_waiting",
            Self::StepEnded { .. } => "run.step_ended",
            Self::StepSkipped { .. } => "run.step_skipped",
            Self::Noted { .. } => "run.noted",
            Self::Signalled { .. } => "run.signalled",
            Self::Healed { .. } => "run.healed",
            Self::CancelRequested { .. } => "run.cancel_requested",
            Self::Resumed { .. } => "run.resumed",
            Self::Ended { .. } => "run.ended",
            Self::Instigated { .. } => "run.instigated",
        }
    }
}

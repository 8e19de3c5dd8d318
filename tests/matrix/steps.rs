//! The steps of one action, from its submission to the end of a doubt, and which faults can strike
//! at each.

use crate::hooks::{Armed, Ask, Fact, Moment, Role, Site};
use crate::{kept, pulled};

/// Which action it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plot {
    /// The engine calls, as soon as it is approved.
    Called,
    /// The engine calls, the answer leaves a doubt, and the target keeps keys.
    Kept,
    /// It is scheduled, a pause comes in between, and a worker carries it out.
    Pulled,
}

impl Plot {
    /// How many steps it has.
    pub(crate) fn steps(self) -> u8 {
        match self {
            Self::Called => STEPS,
            Self::Kept => kept::STEPS,
            Self::Pulled => pulled::STEPS,
        }
    }

    /// The name of a step.
    pub(crate) fn name(self, step: u8) -> &'static str {
        let names = match self {
            Self::Called => &NAMES[..],
            Self::Kept => &kept::NAMES[..],
            Self::Pulled => &pulled::NAMES[..],
        };
        let name = names.get(usize::from(step) - 1);
        name.copied().unwrap_or("no step")
    }

    /// Where a step is reached.
    pub(crate) fn site(self, step: u8) -> Site {
        match self {
            Self::Called => site(step),
            Self::Kept => kept::site(step),
            Self::Pulled => pulled::site(step),
        }
    }

    /// What is armed for a fault at a step, in a life in which nothing has happened yet.
    pub(crate) fn first(self, step: u8, fault: Fault) -> Armed {
        Armed {
            site: self.site(step),
            keeps: fault == Fault::Kill,
            time: match self {
                Self::Called | Self::Pulled => 1,
                Self::Kept => kept::time(step),
            },
        }
    }

    /// Every way to die at one of its steps: where something is written and not synced, it is lost, or
    /// kept.
    pub(crate) fn deaths(self) -> Vec<Death> {
        let ways = |step| {
            let is_written = matches!(self.site(step), Site::Append(_, Moment::Written));
            let keeps: &[bool] = if is_written { &[false, true] } else { &[false] };
            keeps.iter().map(move |keeps| Death {
                step,
                keeps: *keeps,
            })
        };
        (1..=self.steps()).flat_map(ways).collect()
    }

    /// Why a fault cannot strike at a step; none where it can.
    pub(crate) fn impossible(self, step: u8, fault: Fault) -> Option<&'static str> {
        match self {
            Self::Called => impossible(step, fault),
            Self::Kept => kept::impossible(step, fault),
            Self::Pulled => pulled::impossible(step, fault),
        }
    }

    /// Whether there is a durable commit record when a fault strikes here.
    pub(crate) fn is_committed(self, step: u8) -> bool {
        match self {
            Self::Called => is_committed(step),
            Self::Kept => true,
            Self::Pulled => pulled::is_committed(step),
        }
    }
}

/// The end of the process at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Death {
    pub(crate) step: u8,
    /// Whether what is written and not synced survives.
    pub(crate) keeps: bool,
}

/// How many steps there are.
const STEPS: u8 = 34;

/// What strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process dies; what it wrote is kept.
    Kill,
    /// It stands still for longer than a call may take.
    Pause,
    /// The process dies; what was not synced is lost.
    PowerCut,
    /// What is done at this step fails.
    Error,
    /// The requester takes the action back.
    Cancel,
    /// The time to decide ends.
    Expiry,
    /// The process dies, and starts again with another definition of the tool.
    Definition,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] = [
        Self::Kill,
        Self::Pause,
        Self::PowerCut,
        Self::Error,
        Self::Cancel,
        Self::Expiry,
        Self::Definition,
    ];

    /// Whether the process ends.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Kill | Self::PowerCut | Self::Definition)
    }
}

/// The names of the steps of what the engine calls.
const NAMES: [&str; 34] = [
    "parse",
    "canonical checks",
    "digest",
    "append staged",
    "sync",
    "acknowledge",
    "build page",
    "person reads",
    "authenticate",
    "authorise",
    "compare digest",
    "append the vote",
    "sync",
    "answer",
    "take up the work",
    "read the state again",
    "compare",
    "append the commit",
    "sync",
    "read the secret",
    "resolve",
    "connect",
    "first byte",
    "last byte",
    "first byte of the answer",
    "last byte of the answer",
    "class the outcome",
    "append the result",
    "sync",
    "wake who waits",
    "wait for quiet time",
    "read the source",
    "append the evidence",
    "sync",
];

/// Where a step is reached.
fn site(step: u8) -> Site {
    use Moment::{
        Answered, Before, Connect, FirstAnswerByte, FirstByte, LastAnswerByte, LastByte, Synced,
        Written,
    };
    let call = |moment| Site::Target(Ask::Call, Role::Engine, moment);
    let state = |moment| Site::Target(Ask::State, Role::Engine, moment);
    match step {
        1 => Site::HalfBody(Role::Submit),
        2 => Site::WholeBody(Role::Submit),
        3 => Site::Target(Ask::State, Role::Submit, Answered),
        4 => Site::Append(Fact::Staged, Before),
        5 => Site::Append(Fact::Staged, Written),
        6 => Site::Append(Fact::Staged, Synced),
        7 => Site::Load(Role::Show, 1),
        8 => Site::Reading,
        9 => Site::Arrives(Role::Vote),
        10 => Site::HalfBody(Role::Vote),
        11 => Site::Load(Role::Vote, 2),
        12 => Site::Append(Fact::Vote, Before),
        13 => Site::Append(Fact::Vote, Written),
        14 => Site::Append(Fact::Vote, Synced),
        15 => Site::Load(Role::Engine, 1),
        16 => state(Before),
        17 => state(Answered),
        18 => Site::Append(Fact::Commit, Before),
        19 => Site::Append(Fact::Commit, Written),
        20 => Site::Secret,
        21 => call(Before),
        22 => call(Connect),
        23 => call(FirstByte),
        24 => call(LastByte),
        25 => call(FirstAnswerByte),
        26 => call(LastAnswerByte),
        27 => call(Answered),
        28 => Site::Append(Fact::Result, Before),
        29 => Site::Append(Fact::Result, Written),
        30 => Site::Append(Fact::Result, Synced),
        31 => Site::Quiet,
        32 => Site::Target(Ask::Check, Role::Engine, Before),
        33 => Site::Append(Fact::Evidence, Before),
        34 => Site::Append(Fact::Evidence, Written),
        other => panic!("there is no step {other}"),
    }
}

/// Why a fault cannot strike at a step; none where it can.
fn impossible(step: u8, fault: Fault) -> Option<&'static str> {
    match (step, fault) {
        (1..=5, Fault::Cancel) => Some("nobody knows its id before it is durable"),
        (1..=3, Fault::Expiry) => Some("there is no deadline before the approval is drawn up"),
        (8 | 31, Fault::Error) => Some("nothing is done that could fail"),
        _ => None,
    }
}

/// Whether the process holds a durable commit record when a fault strikes here.
fn is_committed(step: u8) -> bool {
    20 <= step
}

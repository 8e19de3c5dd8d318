//! What a run is, as its events say.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{
    End, Flags, Heal, Note, Origin, Start, StepCall, StepOutcome, StepReport, Waiting,
};
use super::id::{RunId, StepPath, StepTry};
use crate::action::{ActionId, Instigator};
use crate::canon::CanonicalJson;
use crate::skill::holes;
use crate::time::Timestamp;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// How it began.
    pub start: Arc<Start>,
    /// What it is allowed now: as at the start, or as at the last resumption.
    pub flags: Flags,
    /// How many steps its skill file has; none for code, which nobody knows beforehand.
    pub planned: Option<u32>,
    /// Its steps, in the order in which they began.
    pub steps: Vec<Arc<Step>>,
    /// Who, besides whoever started it, made it go on.
    pub instigators: Vec<Instigator>,
    /// What code learned, by the place where.
    pub notes: BTreeMap<StepPath, Vec<Note>>,
    /// The events that it was sent, by name, in order.
    pub signals: BTreeMap<String, Vec<Arc<CanonicalJson>>>,
    /// The places at which its code was answered, in that order; none for a skill file.
    pub answered: Vec<StepPath>,
    /// What a model changed.
    pub heals: Vec<(StepPath, Heal)>,
    /// Whether somebody wants it to end, and why.
    pub cancel: Option<Option<String>>,
    /// How it ended; none while it goes on.
    pub ended: Option<Ended>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened.
    pub updated_at: Timestamp,
    /// How many events it has.
    pub events: u64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub end: End,
    /// What it answers.
    pub output: CanonicalJson,
    /// Why, where it did not pass.
    pub message: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it stands.
    pub path: StepPath,
    /// What it is.
    pub what: What,
}

/// What is known of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It was left out.
    Skipped {
        /// Its title.
        title: String,
        /// Why.
        reason: String,
    },
    /// It was, or is being, made.
    Made(Box<Made>),
}

/// A step that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// What it calls.
    pub call: StepCall,
    /// When this try began.
    pub started_at: Timestamp,
    /// What it waits for.
    pub waiting: Option<(ActionId, Waiting)>,
    /// How it ended, and when.
    pub ended: Option<(Timestamp, StepReport)>,
    /// Whether people were asked.
    pub is_asked: bool,
    /// Whether it is to be tried once more: it did not pass, and the run was resumed.
    pub again: bool,
    /// The actions of the tries before this one.
    pub before: Vec<ActionId>,
    /// The tries before this one to which people said no, in order.
    pub rejected: Vec<Rejection>,
}

/// A try of a step to which people said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which try, from 1.
    pub number: u32,
    /// When.
    pub at: Timestamp,
    /// By whom and why, in words.
    pub why: String,
    /// The action that was rejected.
    pub action: Option<ActionId>,
}

/// Where a run stands, on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// A step of it waits for people, a worker, or the end of a doubt; or code waits for an event.
    Waiting,
    /// It ended well.
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
    /// It goes on as another run.
    Continued,
}

impl RunStatus {
    /// Every status.
    pub const ALL: [Self; 10] = [
        Self::Running,
        Self::Waiting,
        Self::Passed,
        Self::Failed,
        Self::Rejected,
        Self::Expired,
        Self::ReplanRequired,
        Self::Cancelled,
        Self::Diverged,
        Self::Continued,
    ];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::ReplanRequired => "replan_required",
            Self::Cancelled => "cancelled",
            Self::Diverged => "diverged",
            Self::Continued => "continued",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether it is over.
    pub fn is_final(self) -> bool {
        match self {
            Self::Running | Self::Waiting => false,
            Self::Passed
            | Self::Failed
            | Self::Rejected
            | Self::Expired
            | Self::ReplanRequired
            | Self::Cancelled
            | Self::Diverged
            | Self::Continued => true,
        }
    }
}

impl Run {
    /// Where it stands.
    pub fn status(&self) -> RunStatus {
        if let Some(ended) = &self.ended {
            return match ended.end {
                End::Passed => RunStatus::Passed,
                End::Failed => RunStatus::Failed,
                End::Rejected => RunStatus::Rejected,
                End::Expired => RunStatus::Expired,
                End::ReplanRequired => RunStatus::ReplanRequired,
                End::Cancelled => RunStatus::Cancelled,
                End::Diverged => RunStatus::Diverged,
                End::Continued(_) => RunStatus::Continued,
            };
        }
        let mut open = self.steps.iter().filter_map(|step| step.open()).peekable();
        let calls_wait = open.peek().is_some() && open.all(|made| made.waiting.is_some());
        let code_waits = || {
            self.notes.values().any(|notes| match notes.last() {
                Some(Note::Sleep { .. } | Note::WaitFor { .. }) => true,
                Some(Note::Now(_) | Note::Random(_) | Note::Received { .. } | Note::Woke)
                | None => false,
            })
        };
        if calls_wait || (self.steps.iter().all(|step| step.open().is_none()) && code_waits()) {
            RunStatus::Waiting
        } else {
            RunStatus::Running
        }
    }

    /// Whether it carries out a skill file.
    pub fn is_skill(&self) -> bool {
        match self.start.origin {
            Origin::Skill { .. } => true,
            Origin::Code { .. } => false,
        }
    }

    /// The step at a path.
    pub fn step(&self, path: &StepPath) -> Option<&Step> {
        // The step that is asked for is nearly always one of the last.
        let step = self.steps.iter().rev().find(|step| step.path == *path)?;
        Some(step)
    }

    pub(super) fn step_mut(&mut self, path: &StepPath) -> Option<&mut Step> {
        let step = self
            .steps
            .iter_mut()
            .rev()
            .find(|step| step.path == *path)?;
        Some(Arc::make_mut(step))
    }

    /// How many events of that name it was sent.
    pub(super) fn sent(&self, name: &str) -> usize {
        self.signals.get(name).map_or(0, Vec::len)
    }

    /// How many events of that name its code has got.
    pub(super) fn received(&self, name: &str) -> usize {
        let notes = self.notes.values().flatten();
        let is_of = |note: &&Note| match note {
            Note::Received { name: other, .. } => other == name,
            Note::Now(_)
            | Note::Random(_)
            | Note::Sleep { .. }
            | Note::WaitFor { .. }
            | Note::Woke => false,
        };
        notes.filter(is_of).count()
    }

    /// The events that it was sent and that its code has not got.
    pub(super) fn not_taken(&self) -> impl Iterator<Item = (&str, &CanonicalJson)> {
        let mut taken = BTreeMap::<&str, usize>::new();
        for note in self.notes.values().flatten() {
            match note {
                Note::Received { name, .. } => *taken.entry(name.as_str()).or_default() += 1,
                Note::Now(_)
                | Note::Random(_)
                | Note::Sleep { .. }
                | Note::WaitFor { .. }
                | Note::Woke => {}
            }
        }
        self.signals.iter().flat_map(move |(name, sent)| {
            let taken = taken.get(name.as_str()).copied().unwrap_or(0);
            let left = sent.iter().skip(taken);
            left.map(|data| (name.as_str(), data.as_ref()))
        })
    }

    /// How many they are, and how many bytes they have.
    pub(super) fn untaken(&self) -> (usize, usize) {
        self.not_taken()
            .fold((0, 0), |(count, bytes), (name, data)| {
                (count + 1, bytes + name.len() + data.as_str().len())
            })
    }

    /// The try of a step that is under way or was made last.
    pub fn try_of(&self, path: &StepPath) -> Option<StepTry> {
        let made = self.step(path)?.made()?;
        Some(StepTry {
            run: self.id,
            path: path.clone(),
            number: made.call.number,
        })
    }

    /// The secret inputs that stand in some arguments.
    pub fn secrets_in(&self, args: &CanonicalJson) -> impl Iterator<Item = &String> + use<'_> {
        let used = holes(&args.value());
        let secrets = self.start.secrets.iter();
        secrets.filter(move |name| used.contains(*name))
    }

    /// Which try of a step an action is; none where it is none, whatever it says of itself: see
    /// [`StepTry::made`].
    pub fn try_made(&self, path: &StepPath, action: ActionId) -> Option<u32> {
        let last = self.try_of(path).map_or(0, |last| last.number);
        (1..=last).find(|number| {
            let attempt = StepTry {
                run: self.id,
                path: path.clone(),
                number: *number,
            };
            attempt.made(action)
        })
    }
}

impl Step {
    /// The step, where it began.
    pub fn made(&self) -> Option<&Made> {
        match &self.what {
            What::Made(made) => Some(made),
            What::Skipped { .. } => None,
        }
    }

    /// The step, where it is under way.
    pub fn open(&self) -> Option<&Made> {
        self.made().filter(|made| made.ended.is_none())
    }

    /// What it is called for people.
    pub fn title(&self) -> &str {
        match &self.what {
            What::Skipped { title, .. } => title,
            What::Made(made) => &made.call.title,
        }
    }
}

impl Made {
    /// The tries to which people said no: those before this one, and this one where it is to be made again.
    pub fn rejections(&self) -> Vec<Rejection> {
        let mut all = self.rejected.clone();
        let ended = self.ended.as_ref().filter(|_| self.again);
        if let Some((at, report)) = ended
            && report.outcome == StepOutcome::Rejected
        {
            all.push(Rejection {
                number: self.call.number,
                at: *at,
                why: report.failures.join("; "),
                action: report.action,
            });
        }
        all
    }

    /// How it ended, where it need not be tried once more.
    pub fn settled(&self) -> Option<&StepReport> {
        let (_, report) = self.ended.as_ref()?;
        (!self.again).then_some(report)
    }
}

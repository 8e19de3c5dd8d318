//! What may happen to a run.

use serde_json::Value;

use super::event::{
    End, Event, Flags, Heal, Note, Start, StepCall, StepOutcome, StepReport, Waiting,
};
use super::id::StepPath;
use super::refusal::{Divergence, RunRefusal};
use super::state::{Run, What};
use crate::action::{ActionId, Instigator};
use crate::canon::{CanonicalJson, pointer_push};
use crate::limits::{RUN_EVENTS_MAX, RUN_SIGNALS_MAX, RUN_UNTAKEN_BYTES_MAX, RUN_UNTAKEN_MAX};

/// The longest arguments that a message shows, in characters.
const WORDS_CHARS_MAX: usize = 1000;

/// A wish.
#[derive(Clone, Debug)]
pub enum Command {
    /// Begin to exist.
    Start(Box<Start>),
    /// Begin a step, or go on with the one that began there.
    BeginStep {
        /// Which step.
        path: StepPath,
        /// What it calls; which try it is, is decided here.
        call: StepCall,
    },
    /// Begin a step that is under way from its beginning: whoever wishes it knows that nothing of it was
    /// sent.
    BeginAnew {
        /// Which step.
        path: StepPath,
        /// What it calls now; which try it is, is decided here.
        call: StepCall,
    },
    /// Leave a step out.
    SkipStep {
        /// Which step.
        path: StepPath,
        /// Its title.
        title: String,
        /// Why.
        reason: String,
    },
    /// Say what a step waits for.
    Wait {
        /// Which step.
        path: StepPath,
        /// Its action.
        action: ActionId,
        /// What for.
        why: Waiting,
    },
    /// End a step.
    EndStep {
        /// Which step.
        path: StepPath,
        /// How.
        report: Box<StepReport>,
    },
    /// Remember what code learned.
    Note {
        /// Where.
        path: StepPath,
        /// What.
        note: Note,
    },
    /// Take the next event of a name that it was sent, where there is one.
    Receive {
        /// Where.
        path: StepPath,
        /// The name.
        name: String,
    },
    /// Send it an event.
    Signal {
        /// Its name.
        name: String,
        /// What comes with it.
        data: CanonicalJson,
    },
    /// Record what a model changed.
    Heal {
        /// Which step.
        path: StepPath,
        /// What.
        heal: Heal,
    },
    /// End it soon.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
    /// Go on after an end, or in another process.
    Resume {
        /// What it is allowed from now on.
        flags: Flags,
    },
    /// Remember who makes it go on, where that is not whoever started it.
    Instigate {
        /// Who.
        by: Instigator,
    },
    /// End it.
    End {
        /// How.
        end: End,
        /// What it answers.
        output: CanonicalJson,
        /// Why, where it did not pass.
        message: Option<String>,
    },
}

/// What follows a wish.
pub fn decide(state: Option<&Run>, command: Command) -> Result<Vec<Event>, RunRefusal> {
    match (state, command) {
        (None, Command::Start(start)) => Ok(vec![Event::Started(start)]),
        (None, _) => Err(RunRefusal::Start),
        (Some(run), command) => of(run, command),
    }
}

fn of(run: &Run, command: Command) -> Result<Vec<Event>, RunRefusal> {
    let (is_over, is_full) = (run.ended.is_some(), RUN_EVENTS_MAX <= run.events);
    let event = match command {
        Command::Start(_) => return Err(RunRefusal::Start),
        Command::Resume { flags } => return resume(run, flags, is_full),
        Command::Instigate { by } if run.is_known(&by) => return Ok(Vec::new()),
        Command::BeginStep { .. }
        | Command::BeginAnew { .. }
        | Command::SkipStep { .. }
        | Command::Wait { .. }
        | Command::EndStep { .. }
        | Command::Note { .. }
        | Command::Receive { .. }
        | Command::Signal { .. }
        | Command::Heal { .. }
        | Command::Cancel { .. }
        | Command::Instigate { .. }
        | Command::End { .. }
            if is_over =>
        {
            return Err(over(run));
        }
        Command::BeginStep { path, call } => return begin(run, path, call, is_full),
        Command::BeginAnew { path, call } => return begin_anew(run, path, call, is_full),
        Command::SkipStep {
            path,
            title,
            reason,
        } => match run.step(&path) {
            Some(step) if step.made().is_none() => return Ok(Vec::new()),
            Some(_) => return Err(differs(run, path, format!("to leave out {title:?}"))),
            None if is_full => return Err(RunRefusal::Full),
            None => Event::StepSkipped {
                path,
                title,
                reason,
            },
        },
        Command::Wait { path, action, why } => match run.step(&path).and_then(|step| step.open()) {
            Some(made) if made.waiting == Some((action, why)) => return Ok(Vec::new()),
            // Nothing hangs on it: the room that is left is for the ends.
            Some(_) if is_full => return Ok(Vec::new()),
            Some(_) => Event::StepWaiting { path, action, why },
            None => return Err(RunRefusal::NotUnderWay(path)),
        },
        Command::EndStep { path, report } => match run.step(&path).and_then(|step| step.open()) {
            Some(_) => Event::StepEnded { path, report },
            None => return Err(RunRefusal::NotUnderWay(path)),
        },
        Command::Note { .. }
        | Command::Receive { .. }
        | Command::Signal { .. }
        | Command::Heal { .. }
        | Command::Instigate { .. }
            if is_full =>
        {
            return Err(RunRefusal::Full);
        }
        Command::Note { path, note } => Event::Noted { path, note },
        Command::Receive { path, name } => return Ok(receive(run, path, name)),
        Command::Signal { name, data } => signal(run, name, data)?,
        Command::Heal { path, heal } => Event::Healed { path, heal },
        Command::Instigate { by } => Event::Instigated { by },
        Command::Cancel { .. } if run.cancel.is_some() => return Ok(Vec::new()),
        Command::Cancel { reason } => Event::CancelRequested { reason },
        Command::End {
            end,
            output,
            message,
        } => ended(run, end, output, message),
    };
    Ok(vec![event])
}

fn over(run: &Run) -> RunRefusal {
    let ended = run.ended.as_ref();
    let next = ended.and_then(|ended| ended.end.continued_as());
    next.map_or(RunRefusal::Over, RunRefusal::GoesOn)
}

/// Others may not fill a history that the run needs for itself.
fn signal(run: &Run, name: String, data: CanonicalJson) -> Result<Event, RunRefusal> {
    if RUN_SIGNALS_MAX <= run.sent(&name) {
        return Err(RunRefusal::TooManySignals(name));
    }
    let (count, bytes) = run.untaken();
    let more = name.len() + data.as_str().len();
    if RUN_UNTAKEN_MAX <= count || RUN_UNTAKEN_BYTES_MAX < bytes + more {
        return Err(RunRefusal::TooManyUntaken { count, bytes });
    }
    Ok(Event::Signalled { name, data })
}

/// A run that was called off does not end well, whatever its last step came to: whoever called it off
/// was told so.
fn ended(run: &Run, end: End, output: CanonicalJson, message: Option<String>) -> Event {
    match (&run.cancel, end) {
        (Some(reason), End::Passed | End::Continued(_)) => Event::Ended {
            end: End::Cancelled,
            output: CanonicalJson::of(&Value::Null),
            message: reason.clone(),
        },
        (_, end) => Event::Ended {
            end,
            output,
            message,
        },
    }
}

/// The next event of the name that no other place has got; nothing where there is none, or where this
/// place has its answer.
fn receive(run: &Run, path: StepPath, name: String) -> Vec<Event> {
    let index = run.received(&name);
    let waits = match run.notes.get(&path).and_then(|notes| notes.last()) {
        Some(Note::WaitFor { .. } | Note::Sleep { .. }) => true,
        Some(Note::Now(_) | Note::Random(_) | Note::Received { .. } | Note::Woke) | None => false,
    };
    if !waits || run.sent(&name) <= index {
        return Vec::new();
    }
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    let note = Note::Received { name, index };
    vec![Event::Noted { path, note }]
}

fn begin(
    run: &Run,
    path: StepPath,
    mut call: StepCall,
    is_full: bool,
) -> Result<Vec<Event>, RunRefusal> {
    call.number = match run.step(&path).map(|step| &step.what) {
        None => 1,
        Some(What::Made(made)) if made.again => made.call.number + 1,
        // The same call: the one that began there goes on.
        Some(What::Made(made)) if made.call.tool == call.tool && made.call.args == call.args => {
            return Ok(Vec::new());
        }
        Some(What::Made(_) | What::Skipped { .. }) => return Err(is_another(run, path, &call)),
    };
    if is_full {
        return Err(RunRefusal::Full);
    }
    Ok(vec![Event::StepStarted { path, call }])
}

fn begin_anew(
    run: &Run,
    path: StepPath,
    mut call: StepCall,
    is_full: bool,
) -> Result<Vec<Event>, RunRefusal> {
    let Some(made) = run.step(&path).and_then(|step| step.open()) else {
        return Err(RunRefusal::NotUnderWay(path));
    };
    call.number = made.call.number;
    if made.call == call {
        return Ok(Vec::new());
    }
    if is_full {
        return Err(RunRefusal::Full);
    }
    call.number += 1;
    Ok(vec![Event::StepStarted { path, call }])
}

fn resume(run: &Run, flags: Flags, is_full: bool) -> Result<Vec<Event>, RunRefusal> {
    match run.ended.as_ref().map(|ended| &ended.end) {
        None if run.cancel.is_some() => Err(RunRefusal::NotResumable(
            "the run is being called off; resume it when that is over",
        )),
        None if run.flags == flags => Ok(Vec::new()),
        None | Some(_) if is_full => Err(RunRefusal::Full),
        None | Some(End::Diverged) => Ok(vec![Event::Resumed { flags }]),
        Some(End::Passed) => Err(RunRefusal::NotResumable("the run has passed")),
        Some(End::Continued(_)) => Err(RunRefusal::NotResumable(
            "the run goes on as another one; look there",
        )),
        Some(_) if run.is_skill() => Ok(vec![Event::Resumed { flags }]),
        Some(_) => Err(RunRefusal::NotResumable(
            "code that has ended does not go on, since its compensations would be made twice; start it again",
        )),
    }
}

impl Run {
    /// Whether somebody is on the asking side of the run already.
    fn is_known(&self, by: &Instigator) -> bool {
        let caller = &self.start.caller;
        caller.id == by.id
            || caller.owner.as_ref() == Some(&by.id)
            || self.instigators.iter().any(|other| other.id == by.id)
    }
}

/// A call in words, for people who compare it with another one.
pub(super) fn words_of(tool: &str, args: &CanonicalJson) -> String {
    let mut chars = args.as_str().chars();
    let shown: String = chars.by_ref().take(WORDS_CHARS_MAX).collect();
    match chars.count() {
        0 => format!("{tool} with {shown}"),
        more => format!("{tool} with {shown}… ({more} more characters)"),
    }
}

fn differs(run: &Run, path: StepPath, is: String) -> RunRefusal {
    let was = match run.step(&path).map(|step| &step.what) {
        Some(What::Made(made)) => words_of(&made.call.tool, &made.call.args),
        Some(What::Skipped { title, .. }) => format!("{title:?}, left out"),
        None => "nothing".to_owned(),
    };
    RunRefusal::Diverged(Box::new(Divergence { path, was, is }))
}

/// Another call than the one that the history has.
fn is_another(run: &Run, path: StepPath, call: &StepCall) -> RunRefusal {
    let mut is = words_of(&call.tool, &call.args);
    let made = run.step(&path).and_then(|step| step.made());
    if let Some(made) = made.filter(|made| made.call.tool == call.tool)
        && let Some(place) = first_difference(&made.call.args.value(), &call.args.value())
    {
        is = format!("{is}; they differ at {place}");
    }
    differs(run, path, is)
}

/// The JSON Pointer of the first value that is not the same; none where that is the whole.
fn first_difference(was: &Value, is: &Value) -> Option<String> {
    let (Value::Object(was), Value::Object(is)) = (was, is) else {
        return None;
    };
    let mut keys = was.keys().chain(is.keys());
    let key = keys.find(|key| was.get(*key) != is.get(*key))?;
    let place = pointer_push("", key);
    let inner = was
        .get(key)
        .zip(is.get(key))
        .and_then(|(was, is)| first_difference(was, is));
    Some(place + &inner.unwrap_or_default())
}

impl StepOutcome {
    /// How a run ends that a step ends in this way; none where it goes on.
    pub fn ends(&self) -> Option<End> {
        match self {
            Self::Passed => None,
            Self::Failed | Self::Withheld | Self::Refused | Self::SettledNotDone => {
                Some(End::Failed)
            }
            Self::Rejected => Some(End::Rejected),
            Self::Expired => Some(End::Expired),
            Self::ReplanRequired => Some(End::ReplanRequired),
            Self::Cancelled => Some(End::Cancelled),
        }
    }
}

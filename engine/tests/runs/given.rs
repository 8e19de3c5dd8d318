//! Runs that something happened to, for tests of the core.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::{ActionId, Caller, PrincipalKind};
use holdpoint_engine::canon::{CanonicalJson, Digest};
use holdpoint_engine::run::event::{StepCall, StepOutcome, StepReport, Verdict};
use holdpoint_engine::run::{
    Command, Event, Flags, Origin, Run, RunId, RunRefusal, Start, StepPath, decide, evolve,
};
use holdpoint_engine::time::Timestamp;
use holdpoint_engine::tool::EffectClass;
use serde_json::{Value, json};

pub(crate) const T0: Timestamp = Timestamp(1_800_000_000_000);

pub(crate) fn run_id() -> RunId {
    RunId::new(T0, [7; 10])
}

pub(crate) fn path(text: &str) -> StepPath {
    StepPath::new(text).expect("a path")
}

pub(crate) fn json_of(value: &Value) -> CanonicalJson {
    CanonicalJson::of(value)
}

pub(crate) fn action_id() -> ActionId {
    ActionId::new(T0, [3; 10])
}

pub(crate) fn code() -> Origin {
    Origin::Code {
        name: "w".to_owned(),
        version: 1,
    }
}

pub(crate) fn skill() -> Origin {
    Origin::Skill {
        name: "release".to_owned(),
        text: "---\nname: release\n---\n".to_owned(),
        digest: Digest::of(b"file"),
    }
}

pub(crate) fn start(origin: Origin) -> Command {
    Command::Start(Box::new(Start {
        origin,
        input: json_of(&json!(1)),
        secrets: BTreeSet::new(),
        flags: Flags::default(),
        caller: Caller {
            id: "per_otto".to_owned(),
            name: "Otto".to_owned(),
            kind: PrincipalKind::Person,
            owner: None,
            attributes: BTreeMap::new(),
        },
        unattended: true,
        schedule: None,
        continues: None,
    }))
}

pub(crate) fn call(tool: &str, args: &Value) -> StepCall {
    StepCall {
        number: 1,
        title: tool.to_owned(),
        intent: None,
        tool: tool.to_owned(),
        args: json_of(args),
        effect: EffectClass::IdempotentWrite,
        verdict: Verdict::Go,
        notes: Vec::new(),
    }
}

pub(crate) fn begin(at: &str, tool: &str) -> Command {
    Command::BeginStep {
        path: path(at),
        call: call(tool, &json!({ "n": 1 })),
    }
}

pub(crate) fn end_step(at: &str, outcome: StepOutcome) -> Command {
    let report = StepReport {
        outcome,
        failures: Vec::new(),
        action: None,
        attempts: 1,
        http_status: None,
        answer: json_of(&Value::Null),
        asserts: Vec::new(),
        binds: BTreeMap::new(),
        notes: Vec::new(),
    };
    Command::EndStep {
        path: path(at),
        report: Box::new(report),
    }
}

pub(crate) fn signal(name: &str, data: u64) -> Command {
    Command::Signal {
        name: name.to_owned(),
        data: json_of(&json!(data)),
    }
}

/// A run and everything that happened to it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) run: Run,
    pub(crate) events: Vec<Event>,
}

impl Case {
    pub(crate) fn new(origin: Origin) -> Self {
        let events = decide(None, start(origin)).expect("it starts");
        let run = evolve(None, run_id(), T0, &events[0]).expect("a first event");
        Self { run, events }
    }

    /// Makes one wish come true; answers what happened.
    pub(crate) fn wish(&mut self, command: Command) -> Result<Vec<Event>, RunRefusal> {
        let events = decide(Some(&self.run), command)?;
        for event in &events {
            let next = evolve(Some(self.run.clone()), self.run.id, T0, event);
            self.run = next.expect("evolve takes what decide answers");
        }
        self.events.extend(events.iter().cloned());
        Ok(events)
    }

    pub(crate) fn after(mut self, commands: impl IntoIterator<Item = Command>) -> Self {
        for command in commands {
            self.wish(command).expect("a wish that is granted");
        }
        self
    }

    /// The state that the events alone give.
    pub(crate) fn replayed(&self) -> Run {
        let state = self.events.iter().fold(None, |state, event| {
            Some(evolve(state, self.run.id, T0, event).expect("it happened"))
        });
        state.expect("a run")
    }
}

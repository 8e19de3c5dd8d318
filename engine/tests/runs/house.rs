//! An engine whose tools are closures that count what they did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_engine::action::{ActionId, PrincipalKind, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{Ballot, Engine, Options, RunOptions};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, Run, RunId, RunStatus};
use holdpoint_engine::target::Locals;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::{Value, json};

/// What the closures did, in order: the name and the idempotency key.
pub(crate) type Done = Arc<Mutex<Vec<(String, String)>>>;

pub(crate) struct House {
    pub(crate) engine: Engine,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) done: Done,
    pub(crate) by: Principal,
}

pub(crate) fn locals(done: &Done) -> Locals {
    let named = |name: &'static str, answer: fn(&Value) -> Value| {
        let done = Arc::clone(done);
        move |call: holdpoint_engine::target::LocalCall| {
            let entry = (name.to_owned(), call.idempotency_key.clone());
            done.lock().expect("no panic").push(entry);
            let answer = answer(&call.args);
            async move { Ok(answer) }
        }
    };
    Locals::default()
        .with(
            "read",
            named("read", |_| json!({ "version": "1.2.3", "size": 5 })),
        )
        .with("label", named("label", Value::clone))
        .with("remove", named("remove", |_| json!({ "removed": true })))
}

pub(crate) fn tools() -> Value {
    json!({ "tools": {
        "get_version": { "execute": { "local": "read" }, "safetyClass": "idempotent" },
        "set_label": { "execute": { "local": "label" }, "safetyClass": "write-once-checkable" },
        "remove_label": { "execute": { "local": "remove" }, "safetyClass": "write-once-checkable" },
        "delete_all": { "execute": { "local": "remove" }, "safetyClass": "approval-bound" },
    } })
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(Workflows::default()).await
    }

    pub(crate) async fn with(workflows: Workflows) -> Self {
        let done = Done::default();
        let log = Arc::new(MemoryLog::new());
        let engine = open(log.clone(), &done, workflows).await;
        let new = NewPerson {
            email: "otto@example.com".to_owned(),
            name: "Otto".to_owned(),
            roles: BTreeSet::from([Role::Requester]),
            groups: BTreeSet::new(),
            scopes: BTreeSet::new(),
            attributes: BTreeMap::new(),
            password: None,
        };
        let person = engine.identity().create_person("test", new).await;
        let id = person.expect("a person").id;
        let by = engine.identity().principal(&id).expect("who can act");
        Self {
            engine,
            log,
            done,
            by,
        }
    }

    /// As if the process had died and another one had started.
    pub(crate) async fn die_and_start(self, workflows: Workflows) -> Self {
        let Self {
            engine,
            log,
            done,
            by,
        } = self;
        drop(engine);
        let engine = open(log.clone(), &done, workflows).await;
        Self {
            engine,
            log,
            done,
            by,
        }
    }

    pub(crate) async fn start(&self, skill: &str, flags: Flags) -> RunId {
        let what = NewOrigin::Skill {
            text: skill.to_owned(),
            inputs: Inputs::Texts(Vec::new()),
            ignore_manifest: false,
        };
        self.begin(what, flags).await
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> RunId {
        let what = NewOrigin::Code {
            name: name.to_owned(),
            version: None,
            input,
        };
        self.begin(what, Flags::default()).await
    }

    async fn begin(&self, what: NewOrigin, flags: Flags) -> RunId {
        let new = NewRun {
            what,
            flags,
            unattended: true,
            schedule: None,
            continues: None,
        };
        let run = self.engine.start_run(&self.by, new).await;
        run.expect("it starts").id
    }

    pub(crate) fn run(&self, id: RunId) -> Arc<Run> {
        self.engine.run(&self.by, id).expect("the run")
    }

    /// The run, once it is as it should be.
    pub(crate) async fn until(&self, id: RunId, is: impl Fn(&Run) -> bool) -> Arc<Run> {
        let mut run = self.run(id);
        let mut patience = 60;
        while !is(&run) {
            assert!(0 < patience, "it stays so: {run:#?}");
            let moved = self
                .engine
                .wait_run(&self.by, id, run.events, Duration::from_secs(1));
            run = moved.await.expect("the run");
            patience -= 1;
        }
        run
    }

    pub(crate) async fn until_status(&self, id: RunId, status: RunStatus) -> Arc<Run> {
        self.until(id, |run| run.status() == status).await
    }

    pub(crate) fn done(&self, name: &str) -> usize {
        let done = self.done.lock().expect("no panic");
        done.iter().filter(|(other, _)| other == name).count()
    }

    /// The action that a step waits for.
    pub(crate) fn waiting(&self, id: RunId) -> ActionId {
        let run = self.run(id);
        let made = run.steps.iter().find_map(|step| step.open());
        made.and_then(|made| made.waiting).expect("it waits").0
    }

    pub(crate) async fn vote(&self, id: ActionId, vote: Vote) {
        let view = self.engine.get(&approver(), id).expect("the action");
        let ballot = Ballot {
            vote,
            reason: Some("seen".to_owned()),
            revision: view.action.revision,
            digest: view.action.proposal.digest,
            snapshot_digest: view.action.snapshot.as_ref().map(|state| state.digest),
        };
        let voted = self.engine.vote(&approver(), id, ballot).await;
        assert!(matches!(
            voted.expect("a vote").action.status(),
            Status::Approved | Status::Rejected | Status::Executing | Status::Succeeded
        ));
    }
}

pub(crate) fn approver() -> Principal {
    Principal {
        id: "per_ada".to_owned(),
        name: "Ada".to_owned(),
        kind: PrincipalKind::Person,
        owner: None,
        scopes: BTreeSet::new(),
        groups: BTreeSet::new(),
        roles: BTreeSet::from([Role::Approver]),
        attributes: BTreeMap::new(),
        changed_access_at: None,
    }
}

async fn open(log: Arc<dyn EventLog>, done: &Done, workflows: Workflows) -> Engine {
    let file = ToolsFile::from_str(&tools().to_string(), Format::Json).expect("the tools");
    let options = Options {
        locals: locals(done),
        runs: RunOptions {
            workflows,
            resume: true,
            ..RunOptions::default()
        },
        ..Options::default()
    };
    let opened = Engine::open(log, Arc::new(file.registry), options).await;
    opened.expect("the engine opens")
}

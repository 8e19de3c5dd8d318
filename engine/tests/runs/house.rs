//! An engine in a world that counts what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{ActionId, PrincipalKind, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{ActError, Ballot, Engine, Options, RunOptions};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, Run, RunError, RunId, RunStatus};
use holdpoint_engine::target::Locals;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::Value;

use crate::world::{Books, OwnClock, World, locals, tools};

pub(crate) struct House {
    pub(crate) engine: Engine,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) world: Arc<World>,
    pub(crate) by: Principal,
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(Workflows::default()).await
    }

    pub(crate) async fn with(workflows: Workflows) -> Self {
        let log = Arc::new(MemoryLog::new());
        Self::on(log.clone(), log, World::default().into(), workflows).await
    }

    /// A house whose engine writes to `log`, which is around `inner` or is it.
    pub(crate) async fn on(
        inner: Arc<MemoryLog>,
        log: Arc<dyn EventLog>,
        world: Arc<World>,
        workflows: Workflows,
    ) -> Self {
        let engine = open(log, &world, workflows).await;
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
            log: inner,
            world,
            by,
        }
    }

    /// As if the process had died and another one had started.
    pub(crate) async fn die_and_start(self, workflows: Workflows) -> Self {
        let locals = locals(&self.world);
        self.die_and_start_with(&tools(), locals, workflows).await
    }

    /// The same, and the other one has other tools.
    pub(crate) async fn die_and_start_with(
        self,
        tools: &Value,
        locals: Locals,
        workflows: Workflows,
    ) -> Self {
        let Self {
            engine,
            log,
            world,
            by,
        } = self;
        drop(engine);
        let log = Arc::new(log.reopen());
        let engine = open_with(log.clone(), &world, tools, locals, workflows).await;
        Self {
            engine,
            log,
            world,
            by,
        }
    }

    pub(crate) async fn send(&self, id: RunId, name: &str, data: Value) -> Result<(), RunError> {
        let sent = self.engine.signal_run(&self.by, id, name, &data).await;
        sent.map(|_| ())
    }

    /// Sets the clock forward.
    pub(crate) fn pass(&self, time: Duration) {
        self.world.passes(time);
        self.engine.wake();
    }

    pub(crate) async fn start(&self, skill: &str, flags: Flags) -> RunId {
        self.try_start(skill, flags).await.expect("it starts")
    }

    pub(crate) async fn try_start(&self, skill: &str, flags: Flags) -> Result<RunId, RunError> {
        let what = NewOrigin::Skill {
            text: skill.to_owned(),
            inputs: Inputs::Texts(Vec::new()),
            ignore_manifest: false,
        };
        self.begin(what, flags).await
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> RunId {
        self.try_call(name, input).await.expect("it starts")
    }

    pub(crate) async fn try_call(&self, name: &str, input: Value) -> Result<RunId, RunError> {
        let what = NewOrigin::Code {
            name: name.to_owned(),
            version: None,
            input,
        };
        self.begin(what, Flags::default()).await
    }

    pub(crate) async fn begin(&self, what: NewOrigin, flags: Flags) -> Result<RunId, RunError> {
        let new = NewRun {
            what,
            flags,
            unattended: true,
            schedule: None,
            continues: None,
        };
        let run = self.engine.start_run(&self.by, new).await?;
        Ok(run.id)
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

    /// Waits until the run is over or the engine has stopped.
    pub(crate) async fn until_over_or_stopped(&self, id: RunId) {
        let mut run = self.run(id);
        while run.ended.is_none() && self.engine.ready().is_ok() {
            let moved = self
                .engine
                .wait_run(&self.by, id, run.events, Duration::from_secs(1));
            run = moved.await.expect("the run");
        }
    }

    /// Waits until nobody works on a run any more.
    pub(crate) async fn until_forgotten(&self) {
        while self.engine.runs_in_memory() != 0 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn until_status(&self, id: RunId, status: RunStatus) -> Arc<Run> {
        self.until(id, |run| run.status() == status).await
    }

    /// Why the run did not pass.
    pub(crate) fn message(&self, id: RunId) -> String {
        let run = self.run(id);
        let message = run.ended.as_ref().and_then(|end| end.message.clone());
        message.expect("an end with words")
    }

    pub(crate) fn output(&self, id: RunId) -> Value {
        let run = self.run(id);
        run.ended.as_ref().expect("an end").output.value()
    }

    pub(crate) fn done(&self, name: &str) -> usize {
        let counts = self.world.counts();
        let of = counts.iter().filter(|((other, _), _)| other == name);
        of.map(|(_, count)| count).sum()
    }

    /// The action that a step waits for.
    pub(crate) fn waiting(&self, id: RunId) -> ActionId {
        waiting_in(&self.run(id)).expect("it waits").0
    }

    pub(crate) async fn vote(&self, id: ActionId, vote: Vote) {
        let status = self.try_vote(id, vote).await.expect("a vote");
        assert!(matches!(
            status,
            Status::Approved | Status::Rejected | Status::Executing | Status::Succeeded
        ));
    }

    pub(crate) async fn try_vote(&self, id: ActionId, vote: Vote) -> Result<Status, ActError> {
        let view = self.engine.get(&approver(), id)?;
        let ballot = Ballot {
            vote,
            reason: Some("seen".to_owned()),
            revision: view.action.revision,
            digest: view.action.proposal.digest,
            snapshot_digest: view.action.snapshot.as_ref().map(|state| state.digest),
        };
        let voted = self.engine.vote(&approver(), id, ballot).await?;
        Ok(voted.action.status())
    }
}

/// The action that a step of the run waits for, and what for.
pub(crate) fn waiting_in(run: &Run) -> Option<(ActionId, Waiting)> {
    let mut open = run.steps.iter().filter_map(|step| step.open());
    open.find_map(|made| made.waiting)
}

pub(crate) fn approver() -> Principal {
    Principal {
        id: "per_ada".to_owned(),
        name: "Ada".to_owned(),
        kind: PrincipalKind::Person,
        owner: None,
        scopes: BTreeSet::new(),
        groups: BTreeSet::new(),
        roles: BTreeSet::from([Role::Approver, Role::Operator]),
        attributes: BTreeMap::new(),
        changed_access_at: None,
    }
}

async fn open(log: Arc<dyn EventLog>, world: &Arc<World>, workflows: Workflows) -> Engine {
    open_with(log, world, &tools(), locals(world), workflows).await
}

async fn open_with(
    log: Arc<dyn EventLog>,
    world: &Arc<World>,
    tools: &Value,
    locals: Locals,
    workflows: Workflows,
) -> Engine {
    let file = ToolsFile::from_str(&tools.to_string(), Format::Json).expect("the tools");
    let options = Options {
        clock: Arc::new(OwnClock(Arc::clone(world))),
        locals,
        target: Some(Arc::new(Books(Arc::clone(world)))),
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

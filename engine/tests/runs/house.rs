//! An engine whose tools are closures that count what they did, and a target that knows of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::action::{ActionId, PrincipalKind, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{ActError, Ballot, Engine, Options, RunOptions};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, Run, RunError, RunId, RunStatus};
use holdpoint_engine::target::{
    Answer, Body, CallError, LocalCall, LocalError, Locals, Outgoing, Target,
};
use holdpoint_engine::time::{Clock, SystemClock, Timestamp};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::{Value, json};

/// Something that was done.
struct Deed {
    name: String,
    key: String,
    answer: Value,
}

/// The world outside: what was done in it, in order.
#[derive(Default)]
pub(crate) struct World {
    done: Mutex<Vec<Deed>>,
    /// What an approver looks at; moves when told.
    version: AtomicU64,
    /// How far its clock is before the machine's, in milliseconds.
    ahead: AtomicI64,
}

impl World {
    /// What was done, each with how often.
    pub(crate) fn counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for deed in self.done.lock().expect("no panic").iter() {
            let entry = (deed.name.clone(), deed.key.clone());
            *counts.entry(entry).or_default() += 1;
        }
        counts
    }

    fn does(&self, name: &str, key: &str, answer: &Value) {
        let deed = Deed {
            name: name.to_owned(),
            key: key.to_owned(),
            answer: answer.clone(),
        };
        self.done.lock().expect("no panic").push(deed);
    }

    /// How much was done, reads among it.
    pub(crate) fn count(&self) -> usize {
        self.done.lock().expect("no panic").len()
    }

    pub(crate) fn moves(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    fn ahead(&self) -> i64 {
        self.ahead.load(Ordering::SeqCst)
    }
}

/// A clock that goes on by itself and can be set forward.
struct OwnClock(Arc<World>);

impl Clock for OwnClock {
    fn now(&self) -> Timestamp {
        Timestamp(SystemClock.now().0 + self.0.ahead())
    }

    fn steady(&self) -> Option<Duration> {
        let ahead = Duration::from_millis(self.0.ahead().unsigned_abs());
        Some(SystemClock.steady()? + ahead)
    }
}

/// Answers what was done under a key, and what version the world has.
struct Books(Arc<World>);

#[async_trait]
impl Target for Books {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        let key = outgoing.url.split_once("key=").map(|(_, key)| key);
        let body = match key {
            Some(key) => {
                let done = self.0.done.lock().expect("no panic");
                let key = key.replace("%3A", ":").replace("%2F", "/");
                let deed = done.iter().find(|deed| deed.key == key);
                deed.map_or(Value::Null, |deed| deed.answer.clone())
            }
            None => json!({ "version": self.0.version.load(Ordering::SeqCst) }),
        };
        Ok(Answer {
            status: 200,
            etag: None,
            body: Body::Whole(body.to_string().into_bytes()),
        })
    }
}

pub(crate) struct House {
    pub(crate) engine: Engine,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) world: Arc<World>,
    pub(crate) by: Principal,
}

pub(crate) fn locals(world: &Arc<World>) -> Locals {
    let named = |name: &'static str, answer: fn(&Value) -> Result<Value, LocalError>| {
        let world = Arc::clone(world);
        move |call: LocalCall| {
            let answer = answer(&call.args);
            let told = answer.clone().unwrap_or_default();
            world.does(name, &call.idempotency_key, &told);
            async move { answer }
        }
    };
    let no = |_: &Value| Err(LocalError::Refused("no".to_owned()));
    let doubt = |_: &Value| Err(LocalError::Unknown("the line broke".to_owned()));
    Locals::default()
        .with(
            "read",
            named("read", |_| Ok(json!({ "version": "1.2.3", "size": 5 }))),
        )
        .with("label", named("label", |args| Ok(args.clone())))
        .with(
            "remove",
            named("remove", |_| Ok(json!({ "removed": true }))),
        )
        .with("no", named("no", no))
        .with("doubt", named("doubt", doubt))
}

pub(crate) fn tools() -> Value {
    let check = json!({
        "http": { "get": "http://books.example/done?key={idempotency_key}" },
        "happened": "body != null",
    });
    let write = |local: &str, class: &str| {
        json!({ "execute": { "local": local }, "safetyClass": class, "check": check,
                "requestLifetime": "1s" })
    };
    let keyed = |local: &str, class: &str| {
        let order = json!({ "order": { "type": "string" } });
        let input = json!({ "type": "object", "required": ["order"], "properties": order });
        json!({ "execute": { "local": local }, "safetyClass": class, "input": input,
                "idempotencyKey": "pay:{order}" })
    };
    let state = json!({ "http": { "get": "http://books.example/state" }, "watch": ["/version"] });
    json!({ "tools": {
        "get_version": { "execute": { "local": "read" }, "safetyClass": "idempotent" },
        "set_label": write("label", "write-once-checkable"),
        "remove_label": write("remove", "write-once-checkable"),
        "delete_all": write("remove", "approval-bound"),
        "pay_out": keyed("remove", "approval-bound"),
        "refuse_out": keyed("no", "write-once-checkable"),
        "move_all": { "execute": { "local": "remove" }, "safetyClass": "approval-bound", "state": state },
        "read_nothing": { "execute": { "local": "no" }, "safetyClass": "idempotent" },
        "fail": { "execute": { "local": "no" }, "safetyClass": "write-once-checkable" },
        "doubt": { "execute": { "local": "doubt" }, "safetyClass": "irreversible" },
        "forbidden": { "execute": { "local": "label" }, "safetyClass": "irreversible",
                       "requiredScopes": ["nobody:has"] },
    } })
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
        let Self {
            engine,
            log,
            world,
            by,
        } = self;
        drop(engine);
        let log = Arc::new(log.reopen());
        let engine = open(log.clone(), &world, workflows).await;
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
        let millis = i64::try_from(time.as_millis()).expect("a short time");
        self.world.ahead.fetch_add(millis, Ordering::SeqCst);
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
    let file = ToolsFile::from_str(&tools().to_string(), Format::Json).expect("the tools");
    let options = Options {
        clock: Arc::new(OwnClock(Arc::clone(world))),
        locals: locals(world),
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

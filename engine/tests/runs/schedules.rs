//! Runs that begin by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use holdpoint_engine::engine::{Engine, NewSchedule, Options, RunOptions, RunQuery, Upcoming};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, RunError, RunId, RunStatus, RunSummary};
use holdpoint_engine::schedule::ScheduleId;
use holdpoint_engine::time::{Clock, Timestamp};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{Batch, Direction, EventLog, MemoryLog, ScanRange};
use serde_json::{Value, json};

use crate::world::{World, locals, tools};

/// A clock that a test sets; it begins on a Monday at noon, UTC.
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct House {
    pub(crate) engine: Engine,
    log: Arc<MemoryLog>,
    clock: Arc<SetClock>,
    done: Arc<World>,
    pub(crate) by: Principal,
}

const READ: &str = "---\nname: watch\ndescription: Look at it\n---\n\n### Step 1 — Read\n- intent: Look\n- action: get_version {}\n";

async fn engine(log: Arc<dyn EventLog>, clock: &Arc<SetClock>, done: &Arc<World>) -> Engine {
    let file = ToolsFile::from_str(&tools().to_string(), Format::Json).expect("the tools");
    let workflows = Workflows::default()
        .with("waits", 1, async |ctx: Context, _: Value| {
            Ok(ctx.wait_for("go").await)
        })
        .with("loops", 1, async |ctx: Context, turn: u32| match turn {
            0 => Err(Failure::continue_as_new(1)),
            _ => Ok(ctx.wait_for("go").await),
        });
    let options = Options {
        clock: clock.clone(),
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

impl House {
    pub(crate) async fn open() -> Self {
        let log = Arc::new(MemoryLog::new());
        Self::on(log.clone(), log).await
    }

    /// A house whose engine writes to `around`, which is around `log` or is it.
    pub(crate) async fn on(log: Arc<MemoryLog>, around: Arc<dyn EventLog>) -> Self {
        let noon = Timestamp::parse_rfc3339("2026-11-30T12:00:00Z").expect("a moment");
        let clock = Arc::new(SetClock(AtomicI64::new(noon.0)));
        let done = Arc::<World>::default();
        let engine = engine(around, &clock, &done).await;
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
            clock,
            done,
            by,
        }
    }

    /// As if the process had died, and another one had started so much later.
    async fn die_and_start(self, later: Duration) -> Self {
        let Self {
            engine: old,
            log,
            clock,
            done,
            by,
            ..
        } = self;
        drop(old);
        let millis = i64::try_from(later.as_millis()).expect("a short time");
        clock.0.fetch_add(millis, Ordering::SeqCst);
        let engine = engine(log.clone(), &clock, &done).await;
        Self {
            engine,
            log,
            clock,
            done,
            by,
        }
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.pass_unseen(time);
        self.engine.wake();
    }

    /// Sets the clock forward as a machine does that slept: nobody says so.
    pub(crate) fn pass_unseen(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).expect("a short time");
        self.clock.0.fetch_add(millis, Ordering::SeqCst);
    }

    pub(crate) async fn make(&self, what: NewOrigin, cron: &str, overlap: bool) -> Upcoming {
        let new = NewSchedule {
            name: "watch".to_owned(),
            what,
            flags: Flags::default(),
            cron: cron.to_owned(),
            zone: "UTC".to_owned(),
            overlap,
        };
        let made = self.engine.create_schedule(&self.by, new).await;
        made.expect("it is made")
    }

    pub(crate) fn runs(&self) -> Vec<RunSummary> {
        let query = RunQuery {
            limit: 200,
            ..RunQuery::default()
        };
        self.engine.runs(&self.by, &query).expect("a list").runs
    }

    /// Waits until that many runs have passed and that many wait.
    async fn until_each(&self, passed: usize, waiting: usize) {
        let mut patience = 600;
        loop {
            let runs = self.runs();
            let count = |status| runs.iter().filter(|run| run.status == status).count();
            if (passed, waiting) == (count(RunStatus::Passed), count(RunStatus::Waiting)) {
                return;
            }
            assert!(0 < patience, "it stays so: {runs:#?}");
            patience -= 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The runs, once there are that many and all of them have this status.
    pub(crate) async fn until(&self, count: usize, status: RunStatus) -> Vec<RunSummary> {
        let is_so = |house: &Self| {
            let runs = house.runs();
            runs.len() == count && runs.iter().all(|run| run.status == status)
        };
        self.until_so(is_so).await;
        self.runs()
    }

    /// Waits until something is so.
    pub(crate) async fn until_so(&self, is_so: impl Fn(&Self) -> bool) {
        let mut patience = 4000;
        while !is_so(self) {
            assert!(0 < patience, "it stays so: {:#?}", self.runs());
            patience -= 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Why nothing was started, once that is noted.
    pub(crate) async fn skipped(&self, id: ScheduleId) -> String {
        let reason = |house: &Self| {
            let now = house.engine.schedule(&house.by, id).expect("it is there");
            now.schedule.last_skipped
        };
        self.until_so(|house| reason(house).is_some()).await;
        reason(self).expect("it was skipped")
    }
}

fn file(text: &str) -> NewOrigin {
    NewOrigin::Skill {
        text: text.to_owned(),
        inputs: Inputs::Values(Vec::new()),
        ignore_manifest: false,
    }
}

pub(crate) fn waiting() -> NewOrigin {
    NewOrigin::Code {
        name: "waits".to_owned(),
        version: None,
        input: Value::Null,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_started_once() {
    let house = House::open().await;
    let made = house.make(file(READ), "0 * * * *", false).await;
    assert_eq!(made.next[0].rfc3339(), "2026-11-30T13:00:00.000Z");
    assert!(house.runs().is_empty());
    house.pass(Duration::from_hours(1));
    let runs = house.until(1, RunStatus::Passed).await;
    assert_eq!(runs[0].schedule, Some(made.schedule.id.to_string()));
    house.engine.wake();
    house.pass(Duration::from_mins(30));
    house.pass(Duration::from_mins(30));
    house.until(2, RunStatus::Passed).await;
    assert_eq!(house.done.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_while_nothing_ran_is_made_up_for_by_one_run() {
    let house = House::open().await;
    house.make(file(READ), "0 * * * *", false).await;
    let house = house.die_and_start(Duration::from_mins(330)).await;
    let runs = house.until(1, RunStatus::Passed).await;
    assert_eq!(runs[0].created_at.rfc3339(), "2026-11-30T17:30:00.000Z");
    let before = RunId::new(Timestamp(runs[0].created_at.0 - 1), [0xff; 10]);
    assert!(before < runs[0].id, "it is listed where it began");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_moment_of_a_start_leads_to_no_second_run() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for successes in 0..3 {
            let log = Arc::new(MemoryLog::new());
            let faulty = Arc::new(FaultyLog::new(Arc::clone(&log)));
            let house = House::on(log, faulty.clone()).await;
            house.make(file(READ), "0 * * * *", false).await;
            faulty.fail_after(successes, fault);
            house.pass(Duration::from_hours(1));
            let struck = async {
                while faulty.faults() == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let struck = tokio::time::timeout(Duration::from_mins(1), struck).await;
            struck.expect("something is appended");
            let house = house.die_and_start(Duration::from_mins(1)).await;
            let begun = async {
                while house.runs().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let begun = tokio::time::timeout(Duration::from_mins(1), begun).await;
            begun.expect("it is started");
            // What is next is after the moment that was due: that one is done with.
            let next = async {
                loop {
                    let all = house.engine.schedules(&house.by);
                    if all[0].next[0].rfc3339() == "2026-11-30T14:00:00.000Z" {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let next = tokio::time::timeout(Duration::from_mins(1), next).await;
            next.expect("it is recorded");
            assert_eq!(house.runs().len(), 1, "{fault:?} after {successes}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_runs_of_a_schedule_at_once_unless_it_allows_that() {
    let house = House::open().await;
    let one = house.make(waiting(), "0 * * * *", false).await;
    house.pass(Duration::from_hours(1));
    house.until(1, RunStatus::Waiting).await;
    house.pass(Duration::from_hours(1));
    let reason = house.skipped(one.schedule.id).await;
    assert!(reason.contains("still goes on"), "{reason}");
    assert_eq!(house.runs().len(), 1);

    house.make(waiting(), "0 * * * *", true).await;
    house.pass(Duration::from_hours(1));
    house.until(2, RunStatus::Waiting).await;
    house.pass(Duration::from_hours(1));
    house.until(3, RunStatus::Waiting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_schedule_starts_nothing_but_what_somebody_wants_now() {
    let house = House::open().await;
    let made = house.make(file(READ), "0 * * * *", false).await;
    let id = made.schedule.id;
    let paused = house
        .engine
        .pause_schedule(&house.by, id, "a holiday")
        .await;
    assert!(paused.expect("it is paused").next.is_empty());
    house.pass(Duration::from_hours(3));
    let run = house.engine.run_schedule(&house.by, id).await;
    run.expect("it starts");
    house.until(1, RunStatus::Passed).await;
    let resumed = house.engine.resume_schedule(&house.by, id).await;
    let next = resumed.expect("it goes on").next[0];
    assert_eq!(next.rfc3339(), "2026-11-30T16:00:00.000Z", "from now on");
    let deleted = house.engine.delete_schedule(&house.by, id, "done").await;
    deleted.expect("it is deleted");
    assert!(house.engine.schedule(&house.by, id).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn i24_who_starts_a_run_of_a_schedule_by_hand_is_in_the_log_and_on_its_asking_side() {
    let house = House::open().await;
    let made = house.make(file(READ), "0 * * * *", false).await;
    let ada = crate::house::approver();
    let run = house.engine.run_schedule(&ada, made.schedule.id).await;
    let run = run.expect("it starts");
    let asking: Vec<_> = run.instigators.iter().map(|by| by.id.as_str()).collect();
    assert_eq!(
        (run.start.caller.id.as_str(), asking),
        (house.by.id.as_str(), vec![ada.id.as_str()])
    );
    let log = house.engine.events(&ada, 0, 200).expect("the history");
    for kind in ["run.started", "run.instigated", "schedule.fired"] {
        let entry = log.iter().find(|entry| entry.kind == kind);
        assert_eq!(entry.expect("it is in the log").actor, ada.id, "{kind}");
    }
    house.until(1, RunStatus::Passed).await;
    let run = house.engine.run_schedule(&house.by, made.schedule.id).await;
    assert!(
        run.expect("it starts").instigators.is_empty(),
        "it is their own"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_ends_with_the_credential_of_whoever_made_it() {
    let house = House::open().await;
    let made = house.make(file(READ), "0 * * * *", false).await;
    let disabled = house
        .engine
        .identity()
        .disable_person("test", &house.by.id, "left")
        .await;
    disabled.expect("it is disabled");
    house.pass(Duration::from_hours(1));
    let auditor = Principal {
        id: "per_auditor".to_owned(),
        roles: BTreeSet::from([Role::Auditor]),
        ..house.by.clone()
    };
    let paused = async {
        loop {
            let now = house.engine.schedule(&auditor, made.schedule.id);
            if let Some(reason) = now.expect("it is there").schedule.paused {
                return reason;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reason = tokio::time::timeout(Duration::from_mins(1), paused).await;
    assert!(reason.expect("it is paused").contains("works no longer"));
    assert_eq!(house.done.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_never_kept_for_later() {
    let house = House::open().await;
    let text = READ.replace(
        "description: Look at it\n",
        "description: Look at it\ninputs: {\"token\": {\"type\": \"string\", \"secret\": true}}\n",
    );
    let what = NewOrigin::Skill {
        text,
        inputs: Inputs::Values(vec![("token".to_owned(), json!("s3cr3t-value"))]),
        ignore_manifest: false,
    };
    let new = NewSchedule {
        name: "watch".to_owned(),
        what,
        flags: Flags::default(),
        cron: "0 * * * *".to_owned(),
        zone: "UTC".to_owned(),
        overlap: false,
    };
    let refused = house.engine.create_schedule(&house.by, new).await;
    let Err(RunError::BadInputs(lines)) = refused else {
        panic!("it was taken");
    };
    assert!(lines[0].contains("secret") && !lines[0].contains("s3cr3t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_runs_and_schedules_come_back_from_the_log_alone() {
    let mut house = House::open().await;
    let made = house.make(file(READ), "0 * * * *", false).await;
    house.pass(Duration::from_hours(1));
    house.until(1, RunStatus::Passed).await;
    house.make(waiting(), "30 13 * * *", false).await;
    house.pass(Duration::from_mins(30));
    house.until_each(1, 1).await;
    house.engine.shutdown(Duration::from_secs(10)).await;
    let runs = house.runs();
    let content = |log: &MemoryLog| {
        let scan = |index| log.scan(index, ScanRange::default(), 10_000, Direction::Forward);
        (1..=79)
            .map(|index| scan(index).expect("a scan"))
            .collect::<Vec<_>>()
    };
    house.log = Arc::new(house.log.reopen());
    let before = content(&house.log);
    for (index, entries) in (1..=79).zip(&before) {
        let batch = Batch {
            deletes: entries
                .iter()
                .map(|(key, _)| (index, key.clone()))
                .collect(),
            ..Batch::default()
        };
        house.log.append(batch).await.expect("deleted");
    }
    house.engine = engine(house.log.clone(), &house.clock, &house.done).await;
    let after = content(&house.log);
    for index in [70, 71, 75] {
        assert!(
            !before[index - 1].is_empty(),
            "index {index} held something"
        );
        assert_eq!(after[index - 1], before[index - 1], "index {index}");
    }
    assert_eq!(house.runs(), runs);
    let again = house.engine.schedule(&house.by, made.schedule.id);
    assert_eq!(again.expect("it is there").schedule.plan.name, "watch");
    house.pass(Duration::from_mins(30));
    house.until_each(2, 1).await;
}

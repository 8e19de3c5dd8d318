//! Steps of runs whose tools decide by a secret, past all that looks at their files before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdpoint_storage::MemoryLog;
use serde_json::json;

use super::*;
use crate::action::FailReason;
use crate::engine::Options;
use crate::run::shell::Live;
use crate::run::{Flags, Inputs, NewOrigin, NewRun, StepPath, StepTry};
use crate::target::Locals;
use crate::target::aside::{SECRETS_LABEL, undecided};
use crate::tool::{Format, ToolsFile};

async fn engine() -> Engine {
    let decides = json!([{ "rule": "args.id != 'admin'", "message": "no" }]);
    let tools = json!({ "tools": { "set_it": {
        "execute": { "local": "set" }, "safetyClass": "irreversible", "preconditions": decides,
    } } });
    let file = ToolsFile::from_str(&tools.to_string(), Format::Json).expect("the tools");
    let options = Options {
        locals: Locals::default().with("set", async |_| panic!("it was called")),
        ..Options::default()
    };
    let opened = Engine::open(Arc::new(MemoryLog::new()), Arc::new(file.registry), options).await;
    opened.expect("the engine opens")
}

/// A run whose only step was withheld.
async fn run(engine: &Engine, by: &Principal) -> Arc<Live> {
    let text = concat!(
        "---\nname: a\ndescription: b\n---\n### Step 1 — A\n- intent: x\n",
        "- action: set_it {\"id\": \"x\"}\n",
    );
    let new = NewRun {
        what: NewOrigin::Skill {
            text: text.to_owned(),
            inputs: Inputs::Texts(Vec::new()),
            ignore_manifest: false,
        },
        flags: Flags::default(),
        unattended: true,
        schedule: None,
        continues: None,
    };
    let run = engine.start_run(by, new).await.expect("it starts");
    engine.inner.runs.open(run.id).expect("the run")
}

/// A step of a run and its call, with the hole of a secret.
async fn step(engine: &Engine, by: &Principal) -> (Submission, AsStep) {
    let live = run(engine, by).await;
    let attempt = StepTry {
        run: live.id,
        path: StepPath::number(1),
        number: 1,
    };
    let step = AsStep {
        id: attempt.action_id(engine.now()),
        key: attempt.key(),
        class: SafetyClass::Irreversible,
        timeout: None,
        attempts: Some(1),
        live,
        labels: BTreeMap::from([(SECRETS_LABEL.to_owned(), "token".to_owned())]),
    };
    let submission = Submission {
        tool: "set_it".to_owned(),
        args: json!({ "id": "{{token}}" }),
        reason: None,
        labels: BTreeMap::new(),
        expires_in: None,
        not_before: None,
        request_key: None,
    };
    (submission, step)
}

#[tokio::test]
async fn i03_a_step_whose_tool_decides_by_a_secret_is_not_taken_on() {
    let engine = engine().await;
    let by = Principal::local("me", BTreeSet::new());
    let (submission, step) = step(&engine, &by).await;
    let taken = engine.submit_as(&by, submission, Some(step)).await;
    let Err(SubmitError::InvalidArgs(wrong)) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!(wrong[0].0, "/id");
    assert!(wrong[0].1.contains("decides by this argument"), "{wrong:?}");
}

#[tokio::test]
async fn i03_an_action_that_was_taken_on_although_its_tool_decides_by_a_secret_is_not_sent() {
    let engine = engine().await;
    let by = Principal::local("me", BTreeSet::new());
    let (submission, step) = step(&engine, &by).await;
    let id = step.id;
    let tool = engine.registry().get("set_it").expect("the tool");
    let draft = Draft::new(&engine, tool, &by, submission, Some(step)).expect("a draft");
    let store = &engine.inner.store;
    let at = store.time.now();
    let command = Command::Submit {
        arranged: draft.arranged(),
        proposal: draft.proposal().expect("a proposal"),
        snapshot: None,
        request: draft.request().expect("a request"),
        requirement: None,
        at,
    };
    let request = Request {
        before: None,
        id,
        command,
        actor: by.id.clone(),
        claims: Vec::new(),
        releases: Vec::new(),
        at,
    };
    let given = Arc::new(crate::target::given::Given::default());
    given.add(&secrets());
    let _beside = engine.work().world.asides.begin(id, given);
    let mut waiter = store.waiters.register(id);
    store.commit(request).await.expect("it is stored");
    let action = loop {
        let view = store.load(id).expect("the log").expect("the action");
        if view.action.status().is_final() {
            break view.action;
        }
        waiter.changed().await;
    };
    let crate::action::Phase::Failed(FailReason::NeverDelivered { message }) = &action.phase else {
        panic!("{action:?}");
    };
    assert!(message.contains("decides by this argument"), "{message}");
    assert!(
        undecided(tool, &action).is_some(),
        "nor is the source of truth asked"
    );
}

fn secrets() -> crate::skill::Secrets {
    let text = concat!(
        "---\nname: a\ndescription: b\ninputs: {\"token\": {\"secret\": true}}\n---\n",
        "### Step 1 — A\n- intent: x\n- action: set_it {\"id\": \"{{token}}\"}\n",
    );
    let skill = crate::skill::Skill::parse(text).expect("a skill");
    let given = [("token".to_owned(), "admin".to_owned())];
    let vars = crate::skill::Vars::given(&skill, &given).expect("its inputs");
    vars.secrets().clone()
}

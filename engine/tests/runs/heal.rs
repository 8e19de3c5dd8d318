//! Help of a model with steps that fail: what it may change, and what it never opens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::engine::{Engine, Options, Resumption, RunOptions};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::heal::{Ask, Helper, Level, Proposal};
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, Receipt, Run};
use holdpoint_engine::skill::Skill;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::MemoryLog;
use serde_json::{Value, json};

use crate::world::{World, locals, tools};

/// Answers every question in the same way, and remembers the questions and the files.
struct Model {
    level: Level,
    answer: Result<Proposal, String>,
    asked: Mutex<Vec<Ask>>,
    kept: Mutex<Vec<String>>,
}

#[async_trait]
impl Helper for Model {
    fn level(&self) -> Level {
        self.level
    }

    async fn propose(&self, ask: &Ask) -> Result<Proposal, String> {
        self.asked.lock().expect("no panic").push(ask.clone());
        self.answer.clone()
    }

    async fn keep(&self, skill: &Skill) -> Result<(), String> {
        let text = skill.text().to_owned();
        self.kept.lock().expect("no panic").push(text);
        Ok(())
    }
}

fn model(level: Level, answer: Result<Proposal, String>) -> Arc<Model> {
    Arc::new(Model {
        level,
        answer,
        asked: Mutex::default(),
        kept: Mutex::default(),
    })
}

/// Runs a file to its end.
async fn run(skill: &str, flags: Flags, model: &Arc<Model>) -> (Arc<Run>, Receipt, Arc<World>) {
    let (engine, _, run, done) = run_in_engine(skill, flags, model).await;
    let receipt = engine.receipt(&run);
    (run, receipt, done)
}

/// The same, with the engine and whoever runs it.
async fn run_in_engine(
    skill: &str,
    flags: Flags,
    model: &Arc<Model>,
) -> (Engine, Principal, Arc<Run>, Arc<World>) {
    let done = Arc::<World>::default();
    let file = ToolsFile::from_str(&tools().to_string(), Format::Json).expect("the tools");
    let options = Options {
        locals: locals(&done),
        runs: RunOptions {
            helper: Some(model.clone()),
            ..RunOptions::default()
        },
        ..Options::default()
    };
    let log = Arc::new(MemoryLog::new());
    let engine = Engine::open(log, Arc::new(file.registry), options).await;
    let engine = engine.expect("the engine opens");
    let by = person(&engine).await;
    let new = NewRun {
        what: NewOrigin::Skill {
            text: skill.to_owned(),
            inputs: Inputs::Texts(Vec::new()),
            ignore_manifest: false,
        },
        flags,
        unattended: false,
        schedule: None,
        continues: None,
    };
    let run = engine.start_run(&by, new).await.expect("it starts");
    let run = until_over(&engine, &by, run).await;
    (engine, by, run, done)
}

async fn until_over(engine: &Engine, by: &Principal, mut run: Arc<Run>) -> Arc<Run> {
    while run.ended.is_none() {
        let moved = engine.wait_run(by, run.id, run.events, Duration::from_mins(1));
        run = moved.await.expect("the run");
    }
    run
}

async fn person(engine: &Engine) -> Principal {
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
    engine.identity().principal(&id).expect("who can act")
}

fn file(action: &str, assert: &str) -> String {
    format!(
        "---\nname: watch\ndescription: Look at it\nx: kept\n---\n\nProse that stays.\n\n\
         ### Step 1 — It\n- intent: See what is there\n- action: {action}\n- assert: {assert}\n\n## Notes\n\nMore prose.\n"
    )
}

#[expect(clippy::unnecessary_wraps, reason = "what a model answers")]
fn proposal(asserts: &[&str], args: Option<Value>) -> Result<Proposal, String> {
    Ok(Proposal {
        asserts: Some(asserts.iter().map(|line| (*line).to_owned()).collect()),
        binds: None,
        args,
        reason: "the version moved\n## Step".to_owned(),
    })
}

fn all() -> Flags {
    Flags {
        yes: true,
        ..Flags::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_assertion_is_taken_into_the_file_and_everything_else_in_it_stays() {
    let model = model(Level::One, proposal(&["json.version == \"1.2.3\""], None));
    let text = file("get_version {}", "json.version == \"0.9\"");
    let (run, receipt, done) = run(&text, Flags::default(), &model).await;
    assert_eq!(receipt.steps[0].outcome, "passed");
    assert!(receipt.steps[0].notes[0].starts_with("healed at level 1"));
    assert_eq!(run.heals.len(), 1);
    assert_eq!(done.count(), 1, "it was not called again");
    let kept = model.kept.lock().expect("no panic")[0].clone();
    let changed = text.replace("\"0.9\"", "\"1.2.3\"");
    assert!(kept.starts_with(&changed), "{kept}");
    assert!(kept[changed.len()..].contains("## Changelog"));
    Skill::parse(&kept).expect("it is still a skill file");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_check_less_or_change_more_than_it_may_is_not_taken() {
    let text = file("get_version {}", "json.version == \"0.9\"");
    let expects = file("get_version {}", "status == 404");
    for (level, text, answer) in [
        (Level::One, &text, proposal(&[], None)),
        (
            Level::One,
            &text,
            proposal(&["json.size == 5"], Some(json!({"a": 1}))),
        ),
        (Level::One, &text, proposal(&["no assertion"], None)),
        (
            Level::One,
            &text,
            proposal(&["json.version == \"0.8\""], None),
        ),
        (Level::One, &text, proposal(&["json.size == 5"], None)),
        (Level::One, &text, proposal(&["body contains \"\""], None)),
        (
            Level::One,
            &text,
            proposal(&["json.version matches /.*/"], None),
        ),
        (Level::One, &expects, proposal(&["json.size == 5"], None)),
        (Level::Two, &text, Err("the model is not there".to_owned())),
    ] {
        let model = model(level, answer.clone());
        let (run, receipt, done) = run(text, Flags::default(), &model).await;
        assert_eq!(receipt.steps[0].outcome, "failed", "{answer:?}");
        let notes = &receipt.steps[0].notes;
        assert!(
            notes.iter().any(|note| note.starts_with("no help")),
            "{notes:?}"
        );
        assert!(run.heals.is_empty() && model.kept.lock().expect("no panic").is_empty());
        assert_eq!(done.count(), 1, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_level_two_a_write_is_made_once_more_with_new_arguments_and_a_key_of_its_own() {
    let answer = proposal(&["json.label == \"new\""], Some(json!({ "label": "new" })));
    let model = model(Level::Two, answer);
    let text = file("set_label {\"label\": \"old\"}", "json.label == \"new\"");
    let (run, receipt, done) = run(&text, all(), &model).await;
    assert_eq!(receipt.steps[0].outcome, "passed", "{receipt:#?}");
    assert_eq!((receipt.steps[0].tried, run.heals.len()), (2, 1));
    assert_eq!(
        (done.count(), done.counts().len()),
        (2, 2),
        "another call has another key"
    );
    assert!(model.kept.lock().expect("no panic")[0].contains("{\"label\":\"new\"}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_took_effect_before_its_arguments_were_changed_is_made_again_by_no_resumption()
{
    let answer = proposal(
        &["json.label == \"new\""],
        Some(json!({ "label": "{{nobody}}" })),
    );
    let model = model(Level::Two, answer);
    let text = file("set_label {\"label\": \"old\"}", "json.label == \"new\"");
    let (engine, by, run, done) = run_in_engine(&text, all(), &model).await;
    assert_eq!((run.heals.len(), done.count()), (1, 1));
    for _ in 0..2 {
        let how = Resumption {
            flags: all().into(),
            ..Resumption::default()
        };
        let resumed = engine.resume_run(&by, run.id, how).await;
        let run = until_over(&engine, &by, resumed.expect("it goes on")).await;
        let message = run.ended.as_ref().and_then(|ended| ended.message.clone());
        let message = message.expect("why");
        assert!(message.contains("is not made again"), "{message}");
        assert_eq!(done.count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destructive_step_is_never_called_again_and_a_withheld_one_never_shown() {
    let answer = proposal(
        &["json.removed == false"],
        Some(json!({ "label": "other" })),
    );
    let first = model(Level::Two, answer.clone());
    let text = file("remove_label {\"label\": \"old\"}", "json.removed == false");
    let (_, receipt, done) = run(&text, all(), &first).await;
    assert_eq!(receipt.steps[0].outcome, "failed");
    assert!(!first.asked.lock().expect("no panic")[0].may_change_args);
    assert_eq!(done.count(), 1);

    let second = model(Level::Two, answer);
    let (_, receipt, done) = run(&text, Flags::default(), &second).await;
    assert_eq!(receipt.steps[0].outcome, "withheld");
    assert!(second.asked.lock().expect("no panic").is_empty());
    assert_eq!(done.count(), 0);
}

//! Secret inputs of a run, and tools that decide by what they stand for: a hole is no value to decide by.

use holdpoint_engine::engine::Resumption;
use holdpoint_engine::run::code::Workflows;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, RunError, RunId, RunStatus, wrong_calls};
use holdpoint_engine::skill::Skill;
use holdpoint_engine::tool::{Format, ToolsFile};
use serde_json::{Value, json};

use crate::house::House;
use crate::world::locals;

const STAGED: Flags = Flags {
    allow_writes: true,
    yes: false,
    stage: true,
};

/// Tools that send `id` on, one for each thing that may decide by it besides.
fn deciding() -> Vec<(&'static str, Value)> {
    let check = |url: &str, happened: &str| json!({ "http": { "get": url }, "happened": happened });
    let id = |schema: Value| json!({ "type": "object", "properties": { "id": schema } });
    vec![
        (
            "preconditions",
            json!([{ "rule": "args.id != 'admin'", "message": "no" }]),
        ),
        ("identity", json!("args.id != 'admin'")),
        (
            "approval",
            json!({ "rules": [{ "when": "args.id == 'admin'", "required": 2, "reason": "r" }] }),
        ),
        (
            "input",
            id(json!({ "type": "string", "not": { "const": "admin" } })),
        ),
        (
            "state",
            json!({ "http": { "get": "http://books.example/state?id={id}" } }),
        ),
        (
            "check",
            check("http://books.example/done?key={id}", "body != null"),
        ),
        (
            "check",
            check("http://books.example/done", "body.id == args.id"),
        ),
        ("idempotencyKey", json!("s:{id}")),
        ("summary", json!("Set {id}")),
        ("labels", json!(["id"])),
    ]
}

/// The tool `set_it`, with one thing more.
fn tools(more: Option<(&str, Value)>) -> Value {
    let mut tool = json!({ "execute": { "local": "label" }, "safetyClass": "approval-bound" });
    if let Some((key, value)) = more {
        tool[key] = value;
    }
    json!({ "tools": {
        "set_it": tool,
        "delete_all": { "execute": { "local": "remove" }, "safetyClass": "approval-bound" },
    } })
}

fn file(kind: &str, steps: &[&str]) -> String {
    let inputs = json!({ "token": { "type": kind, "secret": true } });
    let front = format!("---\nname: set\ndescription: Set it\ninputs: {inputs}\n---\n");
    let steps = (1..).zip(steps).map(|(number, action)| {
        format!("\n### Step {number} — Set it\n- intent: Set it\n- action: {action}\n")
    });
    std::iter::once(front).chain(steps).collect()
}

fn of(text: &str, value: &str) -> NewOrigin {
    NewOrigin::Skill {
        text: text.to_owned(),
        inputs: Inputs::Texts(vec![("token".to_owned(), value.to_owned())]),
        ignore_manifest: false,
    }
}

async fn with(house: House, tools: &Value) -> House {
    let locals = locals(&house.world);
    house
        .die_and_start_with(tools, locals, Workflows::default())
        .await
}

fn refused(what: &str, result: Result<RunId, RunError>) -> String {
    match result {
        Err(RunError::BadSteps(lines)) => lines.join("\n"),
        other => panic!("{what}: {other:?}"),
    }
}

const SET: &str = r#"set_it {"id": "{{token}}"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_run_whose_tool_decides_by_a_secret_is_refused_before_its_first_step() {
    for (key, value) in deciding() {
        let tools = tools(Some((key, value)));
        let house = with(House::open().await, &tools).await;
        for action in [SET, r#"set_it {"id": "x-{{token}}"}"#] {
            let text = file("string", &["delete_all {}", action]);
            let said = refused(key, house.begin(of(&text, "admin"), STAGED).await);
            let words = [
                "step 2, /id",
                "decides by this argument",
                "the secret input token",
            ];
            assert!(
                words.iter().all(|words| said.contains(words)),
                "{key}: {said}"
            );
            let file = ToolsFile::from_str(&tools.to_string(), Format::Json).expect("the tools");
            let skill = Skill::parse(&text).expect("a skill");
            let wrong = wrong_calls(&skill, &file.registry);
            assert!(
                wrong[0].message.contains("decides by this argument"),
                "{key}: {wrong:?}"
            );
        }
        assert_eq!(house.world.count(), 0, "{key}: nothing was asked or sent");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i03_a_run_is_not_gone_on_with_where_its_tool_decides_by_a_secret_by_now() {
    for (key, value) in deciding() {
        let house = with(House::open().await, &tools(None)).await;
        let text = file("string", &["delete_all {}", SET]);
        let id = house
            .begin(of(&text, "admin"), STAGED)
            .await
            .expect("it starts");
        house.until_status(id, RunStatus::Waiting).await;
        let house = with(house, &tools(Some((key, value)))).await;
        let how = Resumption {
            secrets: vec![("token".to_owned(), "admin".to_owned())],
            ..Resumption::default()
        };
        let resumed = house.engine.resume_run(&house.by, id, how).await;
        let said = refused(key, resumed.map(|run| run.id));
        assert!(said.contains("step 2, /id"), "{key}: {said}");
        let cancelled = house.engine.cancel_run(&house.by, id, None).await;
        cancelled.expect("it is called off");
        house.until_status(id, RunStatus::Cancelled).await;
        assert_eq!(house.done("label"), 0, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_goes_along_where_nothing_decides_by_it_and_with_the_type_that_its_schema_asks_for()
 {
    let text = json!({ "type": "object", "properties": { "id": { "type": "string" }, "n": { "maximum": 9 } } });
    let mut tools = tools(Some(("input", text)));
    tools["tools"]["set_it"]["safetyClass"] = json!("write-once-checkable");
    tools["tools"]["set_it"]["execute"]["retry"] = json!({ "attempts": 1 });
    tools["tools"]["set_it"]["idempotencyKey"] = json!("s:{n}");
    let house = with(House::open().await, &tools).await;
    let file = |kind, n| {
        file(
            kind,
            &[&format!(r#"set_it {{"id": "{{{{token}}}}", "n": {n}}}"#)],
        )
    };
    let id = house
        .begin(of(&file("string", 1), "s3cr3t"), STAGED)
        .await
        .expect("it starts");
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.done("label"), 1);

    let id = house
        .begin(of(&file("integer", 2), "47110815"), STAGED)
        .await
        .expect("it starts");
    house.until_status(id, RunStatus::Failed).await;
    let said = house.message(id);
    assert!(
        said.contains("does not fit the input schema") && !said.contains("4711"),
        "{said}"
    );
    assert_eq!(house.done("label"), 1, "a number was not sent for a text");
}

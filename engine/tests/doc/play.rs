// Plays one workflow for the examples of the documentation, which include this file: over a log in
// memory, with tools that do nothing. A tool named with a `!` refuses.

use std::sync::{Arc, Mutex};

/// The output of the last run, and the tools that did something, in order.
async fn play(
    workflows: holdpoint_engine::run::code::Workflows,
    input: serde_json::Value,
    tools: &[&str],
) -> (serde_json::Value, Vec<String>) {
    use holdpoint_engine::engine::{Engine, Options, RunOptions};
    use holdpoint_engine::run::{End, Flags, NewOrigin, NewRun};
    use holdpoint_engine::target::{LocalCall, LocalError, Locals};

    let done = Arc::new(Mutex::new(Vec::new()));
    let (mut locals, mut file) = (Locals::default(), serde_json::Map::new());
    for tool in tools {
        let (name, refuses) = (tool.trim_start_matches('!'), tool.starts_with('!'));
        let definition = serde_json::json!({
            "execute": { "local": name }, "safetyClass": "write-once-checkable",
        });
        file.insert(name.to_owned(), definition);
        let (done, own) = (Arc::clone(&done), name.to_owned());
        locals = locals.with(name, move |call: LocalCall| {
            let answer = if refuses {
                Err(LocalError::Refused("no".to_owned()))
            } else {
                done.lock().expect("no panic").push(own.clone());
                Ok(call.args)
            };
            async move { answer }
        });
    }
    let file = serde_json::json!({ "tools": file }).to_string();
    let file = holdpoint_engine::tool::ToolsFile::from_str(
        &file,
        holdpoint_engine::tool::Format::Json,
    );
    let name = workflows.iter().next().expect("a workflow").0.to_owned();
    let options = Options {
        locals,
        runs: RunOptions {
            workflows,
            ..RunOptions::default()
        },
        ..Options::default()
    };
    let log = Arc::new(holdpoint_storage::MemoryLog::new());
    let registry = Arc::new(file.expect("the tools").registry);
    let engine = Engine::open(log, registry, options).await.expect("an engine");
    let me = holdpoint_engine::identity::Principal::local("me", Default::default());
    let new = NewRun {
        what: NewOrigin::Code {
            name,
            version: None,
            input,
        },
        flags: Flags::default(),
        unattended: true,
        schedule: None,
        continues: None,
    };
    let mut run = engine.start_run(&me, new).await.expect("it starts");
    loop {
        let next = match run.ended.as_ref().map(|ended| &ended.end) {
            Some(End::Continued(next)) => *next,
            Some(_) => break,
            None => run.id,
        };
        let known = if next == run.id { run.events } else { 0 };
        let soon = std::time::Duration::from_secs(1);
        run = engine.wait_run(&me, next, known, soon).await.expect("the run");
    }
    let output = run.ended.as_ref().map(|ended| ended.output.value());
    let done = done.lock().expect("no panic").clone();
    (output.unwrap_or_default(), done)
}

//! Since when which tools there are, as the log tells it.

use std::sync::Arc;

use holdpoint_engine::engine::{Engine, HistoryEntry, Options};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::{Value, json};

use crate::world::{auditor, open_with};

/// A tools file of tools without anything but a class.
fn file(tools: &[(&str, &str)]) -> Value {
    let tools = tools.iter();
    let tools: serde_json::Map<_, _> = tools
        .map(|(name, class)| ((*name).to_owned(), json!({ "safetyClass": class })))
        .collect();
    json!({ "tools": tools })
}

fn digest(tools: &Value) -> String {
    let file = ToolsFile::from_str(&tools.to_string(), Format::Json).expect("valid");
    file.registry.digest().to_string()
}

async fn start(log: &Arc<dyn EventLog>, tools: &Value) -> Engine {
    let options = Options {
        record_tools: true,
        ..Options::default()
    };
    open_with(Arc::clone(log), tools, None, options).await
}

fn changes(engine: &Engine) -> Vec<HistoryEntry> {
    let mut all = engine.events(&auditor(), 0, 1000).expect("visible");
    all.retain(|entry| entry.kind == "engine.tools_changed");
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn i24_each_start_with_other_tools_says_which_were_added_changed_and_removed() {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let first = file(&[("pay", "irreversible"), ("ship", "irreversible")]);
    let second = file(&[("pay", "approval-bound"), ("send", "irreversible")]);
    drop(start(&log, &first).await);
    drop(start(&log, &first).await);
    drop(start(&log, &second).await);
    let engine = start(&log, &first).await;
    let told = changes(&engine);
    let data: Vec<_> = told.iter().map(|entry| entry.data.clone()).collect();
    let of = |tools: &Value, added: &[&str], changed: &[&str], removed: &[&str]| json!({ "digest": digest(tools), "added": added, "changed": changed, "removed": removed });
    assert_eq!(
        data,
        [
            of(&first, &["pay", "ship"], &[], &[]),
            of(&second, &["send"], &["pay"], &["ship"]),
            of(&first, &["ship"], &["pay"], &["send"]),
        ]
    );
    assert!(told.iter().all(|entry| entry.actor == "operator"));
}

#[tokio::test(flavor = "multi_thread")]
async fn i23_a_start_on_a_full_disk_with_other_tools_is_a_start_and_the_next_one_records_them() {
    let full = Arc::new(FaultyLog::new(Arc::new(MemoryLog::new())));
    let log: Arc<dyn EventLog> = full.clone();
    let first = file(&[("pay", "irreversible")]);
    drop(start(&log, &first).await);
    let second = file(&[("pay", "approval-bound")]);
    full.fail_for(0, 1, Fault::Full);
    let engine = start(&log, &second).await;
    assert_eq!(changes(&engine).len(), 1);
    drop(engine);
    let engine = start(&log, &second).await;
    assert_eq!(changes(&engine)[1].data["changed"], json!(["pay"]));
}

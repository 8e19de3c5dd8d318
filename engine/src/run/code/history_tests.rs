//! Code whose history is full, on a log that holds it already.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::{Batch, EventLog as _, MemoryLog, StreamAppend};
use serde_json::Value;

use super::{Context, Failure, Workflows};
use crate::canon::CanonicalJson;
use crate::engine::{Engine, Options, RunOptions};
use crate::identity::Principal;
use crate::limits::RUN_EVENTS_MAX;
use crate::run::event::Note;
use crate::run::{Event, Flags, Origin, RunId, RunStatus, Start, StepPath, evolve, layout};
use crate::time::Timestamp;
use crate::tool::{Format, ToolsFile};

const AT: Timestamp = Timestamp(1_700_000_000_000);

/// How many questions are left before the history is full.
const LEFT: usize = 5;

fn history(by: &Principal) -> Vec<Event> {
    let start = Event::Started(Box::new(Start {
        origin: Origin::Code {
            name: "asks".to_owned(),
            version: 1,
        },
        input: CanonicalJson::of(&Value::Null),
        secrets: std::collections::BTreeSet::new(),
        flags: Flags::default(),
        caller: by.caller(),
        unattended: true,
        schedule: None,
        continues: None,
    }));
    let asked = |number| Event::Noted {
        path: StepPath::number(number),
        note: Note::Now(AT),
    };
    let notes = usize::try_from(RUN_EVENTS_MAX).expect("small") - 1 - LEFT;
    let notes = (1..).take(notes).map(asked);
    std::iter::once(start).chain(notes).collect()
}

/// A log with a run that has that history.
async fn log_with(id: RunId, events: &[Event]) -> Arc<MemoryLog> {
    let log = Arc::new(MemoryLog::new());
    let run = events.iter().fold(None, |run, event| {
        Some(evolve(run, id, AT, event).expect("it happened"))
    });
    let (puts, _) = layout::entries(&run.expect("a run")).expect("encoded");
    let records = events
        .iter()
        .map(|event| layout::record(event, "engine", AT).expect("encoded"));
    let batch = Batch {
        streams: vec![StreamAppend {
            stream: layout::stream_of(id),
            expected: 0,
            records: records.collect(),
        }],
        puts,
        ..Batch::default()
    };
    log.append(batch).await.expect("appended");
    log
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_history_is_full_ends_and_says_what_to_do() {
    let me = Principal::local("me", std::collections::BTreeSet::new());
    let id = RunId::new(AT, [1; 10]);
    let log = log_with(id, &history(&me)).await;
    let workflows = Workflows::default().with("asks", 1, async |ctx: Context, (): ()| {
        while ctx.now().await != Timestamp(0) {}
        Ok::<(), Failure>(())
    });
    let options = Options {
        runs: RunOptions {
            workflows,
            resume: true,
            ..RunOptions::default()
        },
        ..Options::default()
    };
    let tools = ToolsFile::from_str(r#"{"tools":{}}"#, Format::Json).expect("no tools");
    let engine = Engine::open(log, Arc::new(tools.registry), options).await;
    let engine = engine.expect("an engine");
    let mut run = engine.run(&me, id).expect("the run");
    while run.ended.is_none() {
        let soon = Duration::from_secs(10);
        let moved = engine.wait_run(&me, id, run.events, soon).await;
        run = moved.expect("the run");
    }
    assert_eq!(run.status(), RunStatus::Failed);
    assert_eq!(run.events, RUN_EVENTS_MAX + 1);
    let message = run.ended.as_ref().and_then(|end| end.message.clone());
    let message = message.expect("why");
    assert!(message.contains("history of the run is full"), "{message}");
    assert!(message.contains("ContinueAsNew"), "{message}");
}

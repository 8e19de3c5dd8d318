//! Records of a log whose hashes fit and whose bodies are odd: understood, or the start is refused.

use std::sync::Arc;

use holdpoint_engine::engine::{Engine, ListQuery, Options, WebhookOptions};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{Batch, EventLog as _, MemoryLog, NewRecord, StreamAppend, StreamId};
use tokio::runtime::Builder;

use super::house::{TOOLS, house};
use super::post::Post;

/// Each line is a record: its stream, its kind, and its body in hexadecimal digits. Where these end, the
/// bytes of the rest of the input are the body.
pub(crate) fn stored(data: &[u8]) {
    let records = records(data);
    if records.is_empty() {
        return;
    }
    let house = house();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let log = MemoryLog::new();
        for (stream, record) in records {
            let expected = log.stream_version(&stream).expect("a version");
            let append = StreamAppend {
                stream,
                expected,
                records: vec![record],
            };
            let batch = Batch {
                streams: vec![append],
                ..Batch::default()
            };
            if log.append(batch).await.is_err() {
                return;
            }
        }
        let file = ToolsFile::from_str(TOOLS, Format::Json).expect("a tools file");
        let webhooks = WebhookOptions {
            notifier: Some(Arc::new(Post::default())),
            ..WebhookOptions::default()
        };
        let options = Options {
            record_tools: true,
            webhooks,
            ..Options::default()
        };
        let opened = Engine::open(Arc::new(log), Arc::new(file.registry), options).await;
        let engine = match opened {
            Ok(engine) => engine,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return;
            }
        };
        let reader = &house.reader;
        let _shown = engine.events(reader, 0, 100);
        let _hooks = engine.webhooks(reader);
        if let Ok(page) = engine.list(reader, &ListQuery::default()) {
            for action in page.actions {
                let _history = engine.history(reader, action.action.id, 0, 100);
            }
        }
    });
}

fn records(data: &[u8]) -> Vec<(StreamId, NewRecord)> {
    let mut records = Vec::new();
    let mut rest = data;
    while let Some((stream, after)) = word(rest) {
        let Some((kind, after)) = word(after) else {
            break;
        };
        let Some(stream) = StreamId::new(stream) else {
            break;
        };
        let line = after.split(|byte| *byte == b'\n').next().unwrap_or(after);
        let (body, next) = match hexadecimal(line) {
            Some(body) => (body, after.get(line.len() + 1..).unwrap_or_default()),
            None => (after.to_vec(), &[][..]),
        };
        let record = NewRecord {
            time_ms: 1_790_000_000_000,
            actor: "engine".to_owned(),
            kind,
            body,
        };
        records.push((stream, record));
        rest = next;
    }
    records
}

fn word(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b' ')?;
    let word = String::from_utf8(bytes[..end].to_vec()).ok()?;
    Some((word, &bytes[end + 1..]))
}

fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    pairs.iter().map(byte).collect()
}

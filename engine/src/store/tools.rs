//! Which tools there are since when (invariant I24): one record for each start that finds other
//! definitions than the log says, with what was added, changed and removed.
//!
//! What the log says is the sum of those records. They hold names and digests of definitions, never a
//! definition; whoever changed the file, its keeper must know.

use std::collections::{BTreeMap, BTreeSet};

use bincode::{Decode, Encode};
use holdpoint_storage::{Batch, EventLog, NewRecord, Record, StreamAppend, StreamId, Version};
use serde_json::{Value, json};

use super::codec::{self, CodecError};
use super::{CommitError, fatal};
use crate::canon::Digest;
use crate::limits::REPLAY_PAGE;
use crate::time::Timestamp;
use crate::tool::Registry;

/// The kind of the records.
pub(crate) const CHANGED: &str = "engine.tools_changed";

/// Whom the history names: whoever started the engine.
const OPERATOR: &str = "operator";

const STREAM: &str = "engine/tools";

/// The first byte of a stored body.
const FORMAT: u8 = 1;

/// A fact about the tools as a whole. Variants are stored by number: new ones go at the end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum ToolsEvent {
    /// From now on these definitions hold.
    Changed {
        /// Over all definitions: [`Registry::digest`].
        digest: Digest,
        /// The digest of each tool that was not there before.
        added: BTreeMap<String, Digest>,
        /// The digest of each tool whose definition is another one.
        changed: BTreeMap<String, Digest>,
        /// The tools that are not there any more.
        removed: BTreeSet<String>,
    },
}

/// Records the tools, where they are other ones than the log says. Answers whether they are.
pub(crate) async fn record(
    log: &dyn EventLog,
    registry: &Registry,
    at: Timestamp,
) -> Result<bool, CommitError> {
    let (version, known) = load(log)?;
    let tools: BTreeMap<String, Digest> = registry
        .iter()
        .map(|tool| (tool.name.clone(), tool.digest))
        .collect();
    if tools == known {
        return Ok(false);
    }
    let removed = known.keys().filter(|name| !tools.contains_key(*name));
    let removed = removed.cloned().collect();
    let news = tools.into_iter();
    let news = news.filter(|(name, digest)| known.get(name) != Some(digest));
    let (changed, added) = news.partition(|(name, _)| known.contains_key(name));
    let event = ToolsEvent::Changed {
        digest: registry.digest(),
        added,
        changed,
        removed,
    };
    let record = NewRecord {
        time_ms: at.0,
        actor: OPERATOR.to_owned(),
        kind: CHANGED.to_owned(),
        body: codec::encode(FORMAT, event).map_err(|error| CommitError::TooLarge(error.0))?,
    };
    let append = StreamAppend {
        stream: stream(),
        expected: version,
        records: vec![record],
    };
    log.append(Batch {
        streams: vec![append],
        ..Batch::default()
    })
    .await?;
    Ok(true)
}

/// The tools as the log says, and the version of their stream.
fn load(log: &dyn EventLog) -> Result<(Version, BTreeMap<String, Digest>), CommitError> {
    let (stream, mut version, mut tools) = (stream(), 0, BTreeMap::new());
    loop {
        let records = log
            .read_stream(&stream, version, REPLAY_PAGE)
            .map_err(|error| CommitError::Unavailable(Box::new(error)))?;
        let Some(last) = records.last() else {
            return Ok((version, tools));
        };
        version = last.version;
        for record in &records {
            let ToolsEvent::Changed {
                added,
                changed,
                removed,
                ..
            } = decode(record).map_err(|error| CommitError::Unavailable(Box::new(error)))?;
            tools.retain(|name, _| !removed.contains(name));
            tools.extend(added);
            tools.extend(changed);
        }
    }
}

/// The fact in a record as JSON; none where it is not about the tools, or cannot be understood.
pub(crate) fn describe(record: &Record) -> Option<Value> {
    if record.stream.as_str() != STREAM {
        return None;
    }
    let ToolsEvent::Changed {
        digest,
        added,
        changed,
        removed,
    } = decode(record).ok()?;
    let names = |tools: BTreeMap<String, Digest>| tools.into_keys().collect::<Vec<_>>();
    Some(json!({
        "digest": digest.to_string(),
        "added": names(added),
        "changed": names(changed),
        "removed": removed,
    }))
}

fn decode(record: &Record) -> Result<ToolsEvent, CodecError> {
    if record.kind != CHANGED {
        return Err(CodecError(format!("{} is not about tools", record.kind)));
    }
    codec::decode(FORMAT, &record.body)
}

fn stream() -> StreamId {
    match StreamId::new(STREAM) {
        Some(stream) => stream,
        None => fatal("the name of the stream of tools is out of bounds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i26_the_first_format_of_a_change_of_tools_is_still_read() {
        let digest = |byte| Digest::from_bytes([byte; 32]);
        let event = ToolsEvent::Changed {
            digest: digest(1),
            added: BTreeMap::from([("a".to_owned(), digest(2))]),
            changed: BTreeMap::from([("b".to_owned(), digest(3))]),
            removed: BTreeSet::from(["c".to_owned()]),
        };
        let sample = [
            &[1, 0][..],
            &[1; 32],
            &[1, 1, b'a'],
            &[2; 32],
            &[1, 1, b'b'],
            &[3; 32],
            &[1, 1, b'c'],
        ]
        .concat();
        assert_eq!(codec::encode(FORMAT, &event).expect("encodes"), sample);
        let read: ToolsEvent = codec::decode(FORMAT, &sample).expect("decodes");
        assert_eq!(read, event);
    }
}

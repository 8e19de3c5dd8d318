//! Events and receipts on the wire.

use std::fmt::Write as _;

use holdpoint_engine::engine::HistoryEntry;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Action, Json};

/// One event of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its place in the log, from 1, without gaps.
    pub position: u64,
    /// What it belongs to: an action, a person, a key.
    pub stream: String,
    /// Its place in the stream, from 1.
    pub version: u64,
    /// When.
    pub at: String,
    /// Who: `per_…`, `key_…`, or the engine.
    pub actor: String,
    /// What kind of event it is.
    #[schema(example = "action.staged")]
    pub kind: String,
    /// What it says, without secrets.
    pub data: Json,
    /// The hash of the record, hexadecimal.
    pub hash: String,
    /// The hash of the record before it in the log, hexadecimal.
    pub prev: String,
}

impl From<&HistoryEntry> for Event {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            position: entry.position,
            stream: entry.stream.clone(),
            version: entry.version,
            at: entry.at.rfc3339(),
            actor: entry.actor.clone(),
            kind: entry.kind.clone(),
            data: Json::value(&entry.data),
            hash: entry.hash.clone(),
            prev: entry.prev.clone(),
        }
    }
}

/// Some events, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Events {
    /// The events.
    pub data: Vec<Event>,
    /// Send this as `after` to go on; as it was where there is nothing more yet.
    pub next_after: u64,
}

/// Where a record is in the log, and what its hash is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordRef {
    /// Its place in the log.
    pub position: u64,
    /// The kind of event.
    pub kind: String,
    /// When.
    pub at: String,
    /// Who.
    pub actor: String,
    /// Its hash, hexadecimal.
    pub hash: String,
}

/// The durable account of a final action: what, who, when, attempts, evidence, result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Receipt {
    /// The action as it ended.
    pub action: Action,
    /// Every record that it is made of, in order. The hashes prove it against an export of the log.
    pub records: Vec<RecordRef>,
}

impl Receipt {
    /// The receipt of a final action.
    pub fn new(action: Action, history: &[HistoryEntry]) -> Self {
        let records = history
            .iter()
            .map(|entry| RecordRef {
                position: entry.position,
                kind: entry.kind.clone(),
                at: entry.at.rfc3339(),
                actor: entry.actor.clone(),
                hash: entry.hash.clone(),
            })
            .collect();
        Self { action, records }
    }

    /// As text to print. Everything that came from outside is one line each, with control,
    /// invisible and reordering characters as escapes.
    pub fn to_text(&self) -> String {
        let action = &self.action;
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name:<16}{}", visible(value));
        };
        line("Receipt of", &action.id);
        line("Status", &action.status);
        line("What", &action.summary);
        line(
            "Tool",
            &format!("{} ({})", action.tool, action.safety_class),
        );
        line("Arguments", action.args.get());
        line("Digest", &action.digest);
        line("Key", &action.idempotency_key);
        line(
            "Asked by",
            &format!(
                "{} {} ({})",
                action.caller.kind, action.caller.name, action.caller.id
            ),
        );
        line("Submitted", &action.created_at);
        line("Ended", &action.updated_at);
        if let Some(approval) = &action.approval {
            for vote in &approval.votes {
                let why = vote.reason.as_deref().unwrap_or("no reason given");
                line(
                    "Vote",
                    &format!(
                        "{} by {} ({}) at {}: {why}",
                        vote.vote, vote.name, vote.person, vote.at
                    ),
                );
            }
        }
        for attempt in &action.attempts {
            let result = attempt.result.as_deref().unwrap_or("under way");
            let status = attempt
                .http_status
                .map_or_else(String::new, |status| format!(", status {status}"));
            line(
                "Attempt",
                &format!(
                    "{} at {}: {result}{status}, window {}",
                    attempt.number, attempt.started_at, attempt.window
                ),
            );
        }
        if let Some(ended) = &action.ended {
            line("Because", &format!("{}: {}", ended.code, ended.message));
        }
        for difference in &action.diff {
            let show = |side: &Option<Json>| {
                side.as_ref()
                    .map_or("(none)".to_owned(), |json| json.get().to_owned())
            };
            line(
                "Moved",
                &format!(
                    "{}: approved {}, now {}",
                    difference.path,
                    show(&difference.approved),
                    show(&difference.now)
                ),
            );
        }
        if let Some(result) = &action.result {
            line("Result", result.get());
        }
        for record in &self.records {
            line(
                "Record",
                &format!(
                    "{} {} {} {}",
                    record.position, record.at, record.kind, record.hash
                ),
            );
        }
        text
    }
}

/// Characters that show themselves stay, all others become escapes.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_a_printed_receipt_has_no_hidden_characters_and_no_extra_lines() {
        assert_eq!(
            visible("a\nResult ok\u{202e}\u{1b}[2J"),
            "a\\u{a}Result ok\\u{202e}\\u{1b}[2J"
        );
        assert_eq!(visible("Zürich 漢字"), "Zürich 漢字");
    }
}

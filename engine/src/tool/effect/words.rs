//! The words of a tool's name, and the verbs among them.

use super::EffectClass;

/// Verbs that only look.
const READ: &[&str] = &[
    "get",
    "list",
    "read",
    "search",
    "fetch",
    "describe",
    "find",
    "check",
    "show",
    "view",
    "lookup",
    "inspect",
    "retrieve",
    "tail",
    "ping",
    "browse",
    "glob",
    "grep",
    "exists",
    "summarize",
];

/// Verbs that leave the world the same when repeated.
const WRITE: &[&str] = &[
    "create", "update", "set", "upsert", "put", "write", "save", "add", "modify", "move", "insert",
    "label", "mark", "upload", "embed", "patch", "append", "sync",
];

/// Verbs that cannot be taken back, or do more each time.
const DESTRUCTIVE: &[&str] = &[
    "delete",
    "remove",
    "cancel",
    "refund",
    "pay",
    "send",
    "publish",
    "post",
    "charge",
    "drop",
    "destroy",
    "purge",
    "wipe",
    "forward",
    "reply",
    "execute",
    "run",
    "transfer",
    "approve",
    "revoke",
    "terminate",
    "kill",
    "grant",
    "deploy",
    "merge",
    "submit",
    "trash",
    "expire",
    "disable",
    "deactivate",
    "suspend",
    "reset",
    "overwrite",
    "replace",
    "truncate",
    "spawn",
    "exec",
    "eval",
    "evaluate",
    "start",
    "stop",
    "clear",
    "push",
    "rotate",
    "finalize",
];
// Words such as `query`, `status`, `preview` or `logs` stand for reading and are nouns as well:
// `delete_preview`. They decide nothing, so they are in no list.

/// Whether a name has only characters that show what it says.
pub(super) fn is_plain(tool: &str) -> bool {
    own_name(tool)
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-./: ".contains(&byte))
}

/// The verb that decides about a name, and what it stands for. The last segment that has one
/// decides, and in a segment the worst of its verbs.
pub(super) fn deciding(tool: &str) -> Option<(EffectClass, String)> {
    if !is_plain(tool) {
        return None;
    }
    own_name(tool)
        .rsplit(['.', '/', ':'])
        .find_map(|segment| worst(&words(segment)))
}

/// The name that a tool has on its server: of `mcp__SERVER__TOOL` the last part.
fn own_name(tool: &str) -> &str {
    tool.strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
        .map(|(_, name)| name)
        .filter(|name| !name.is_empty())
        .unwrap_or(tool)
}

fn worst(words: &[String]) -> Option<(EffectClass, String)> {
    let lists = [
        (EffectClass::Destructive, DESTRUCTIVE),
        (EffectClass::IdempotentWrite, WRITE),
        (EffectClass::Read, READ),
    ];
    lists.into_iter().find_map(|(effect, verbs)| {
        let verb = words.iter().find(|word| verbs.contains(&word.as_str()))?;
        Some((effect, verb.clone()))
    })
}

/// The words of a segment, in lower case: `HTTPGetItem2` is `http`, `get`, `item`, `2`.
fn words(segment: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let bytes = segment.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| bytes.get(index));
        if starts_word(before, *byte, bytes.get(index + 1)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether a new word starts at a byte, by what stands before and after it.
fn starts_word(before: Option<&u8>, byte: u8, after: Option<&u8>) -> bool {
    let Some(before) = before else {
        return false;
    };
    if !byte.is_ascii_alphanumeric() || before.is_ascii_digit() != byte.is_ascii_digit() {
        return true;
    }
    // `getItem`, and the last capital of an acronym: `HTTPGet`.
    byte.is_ascii_uppercase()
        && (before.is_ascii_lowercase()
            || (before.is_ascii_uppercase() && after.is_some_and(u8::is_ascii_lowercase)))
}

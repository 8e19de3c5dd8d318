//! Names: of the skill, of tools, and of steps that nobody named.

use serde_json::{Map, Value};

use super::error::CompileError;
use super::gather::{Call, Recording};
use super::secret::Secrets;
use super::words::{is_hidden, json_line, one_line, slug, sorted};
use crate::limits::TOOL_NAME_BYTES_MAX;

/// Whether a skill file can name the tool.
pub(super) fn check_name(call: &Call, secrets: &Secrets) -> Result<(), CompileError> {
    let refuse = |what: &str| {
        Err(CompileError::Inexpressible {
            line: call.line,
            what: what.to_owned(),
        })
    };
    let is_odd = |c: char| c.is_whitespace() || is_hidden(c) || "{}<>`\"".contains(c);
    if call.tool.is_empty() || call.tool.len() > TOOL_NAME_BYTES_MAX {
        return refuse("the name of its tool is empty or longer than 128 bytes");
    }
    if call.tool.contains(is_odd) || call.tool.starts_with(['-', '#']) {
        return refuse(
            "the name of its tool has spaces, braces or characters that are not seen; take the call out",
        );
    }
    if secrets.is_in(&call.tool) {
        return refuse("the name of its tool looks like a secret; take the call out");
    }
    Ok(())
}

/// The name of the skill, which is a name of a file and never a path.
pub(super) fn name(
    recording: &Recording,
    fallback: &str,
    secrets: &Secrets,
    warnings: &mut Vec<String>,
) -> String {
    let given = recording.name.as_deref().unwrap_or_default();
    let name = slug(&secrets.redact(given))
        .or_else(|| slug(&secrets.redact(fallback)))
        .unwrap_or_else(|| "recording".to_owned());
    if given.contains(['/', '\\', '\0']) || given.starts_with('.') {
        warnings.push(format!(
            "the name of the recording looks like a path; the skill is called {name}"
        ));
    }
    name
}

/// What a call is for, told from the call.
pub(super) fn intent(tool: &str, args: &Map<String, Value>) -> String {
    const MAIN: [&str; 12] = [
        "url",
        "path",
        "file_path",
        "command",
        "cmd",
        "query",
        "name",
        "title",
        "subject",
        "id",
        "to",
        "text",
    ];
    let main = MAIN
        .iter()
        .find_map(|key| args.get_key_value(*key))
        .or_else(|| {
            sorted(args)
                .into_iter()
                .find(|(_, value)| value.is_string())
        });
    let shown = main.map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => json_line(other),
        };
        (key, text.replace("{{", "{").replace("}}", "}"))
    });
    match shown {
        Some((key, text)) => {
            let (key, text) = (one_line(key, 40), one_line(&text, 80));
            format!("Call {tool} with {key} {text}")
        }
        None => format!("Call {tool}"),
    }
}

//! The manifest: which input schemas the tools of a skill had when it was made.

use std::fmt;

use serde_json::{Value, json};

use crate::canon::Digest;

/// The input schemas that the tools of a skill had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The tools, in the order of the file.
    pub tools: Vec<ManifestTool>,
}

/// One tool of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestTool {
    /// Its name, as in the steps.
    pub name: String,
    /// The server that it comes from.
    pub server: Option<String>,
    /// The digest of its input schema, see [`schema_digest`](super::schema_digest).
    pub digest: Digest,
}

/// A tool that is not what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the manifest says.
    pub expected: ManifestTool,
    /// The digest that its input schema has; none where there is no such tool.
    pub found: Option<Digest>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ManifestTool { name, digest, .. } = &self.expected;
        match self.found {
            None => write!(f, "there is no tool {name:?}, which the manifest names"),
            Some(found) => write!(
                f,
                "the input of {name:?} is no longer what the manifest says: {found} instead of {digest}"
            ),
        }
    }
}

impl Manifest {
    /// The tools that are missing or have another input. `lookup` gives the digest of the input schema
    /// that a tool has now, and none where there is no such tool.
    pub fn check(&self, lookup: impl Fn(&ManifestTool) -> Option<Digest>) -> Vec<Mismatch> {
        self.tools
            .iter()
            .filter_map(|tool| {
                let found = lookup(tool);
                (found != Some(tool.digest)).then(|| Mismatch {
                    expected: tool.clone(),
                    found,
                })
            })
            .collect()
    }

    /// Whether it says something of a tool.
    pub fn names(&self, tool: &str) -> bool {
        self.tools.iter().any(|named| named.name == tool)
    }

    /// It, as it stands in a file.
    pub fn to_json(&self) -> Value {
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|tool| {
                let mut value = json!({ "name": tool.name, "digest": tool.digest.to_string() });
                if let (Some(server), Some(members)) = (&tool.server, value.as_object_mut()) {
                    members.insert("server".to_owned(), server.as_str().into());
                }
                value
            })
            .collect();
        json!({ "v": 1, "tools": tools })
    }
}

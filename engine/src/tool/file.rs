//! The tools file as a whole, and the registry it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::definition::Tool;
use super::effect::EffectClass;
use super::fields::{Fields, Place};
use super::problem::{Problem, Report, ToolsFileError, Warning};
use super::read;
use super::source::{Format, Source};
use crate::action::SafetyClass;
use crate::canon::{CanonicalJson, Digest};
use crate::limits::TOOLS_FILE_BYTES_MAX;

/// The tools that exist. What is not in it is refused.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<Tool>>,
}

impl Registry {
    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// All tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Over the names and definitions of all: another one where any of them is.
    pub fn digest(&self) -> Digest {
        let tools = self.tools.iter();
        let all: serde_json::Map<String, Value> = tools
            .map(|(name, tool)| (name.clone(), tool.digest.to_string().into()))
            .collect();
        CanonicalJson::of(&all.into()).digest()
    }

    /// How many there are of each class, from the weakest to the strongest.
    pub fn census(&self) -> [(SafetyClass, usize); 4] {
        SafetyClass::ALL.map(|class| {
            (
                class,
                self.iter().filter(|tool| tool.class == class).count(),
            )
        })
    }

    /// How many there are of each effect, from the mildest to the worst.
    pub fn effects(&self) -> [(EffectClass, usize); 3] {
        EffectClass::ALL.map(|effect| {
            let same = self.iter().filter(|tool| tool.effect == effect);
            (effect, same.count())
        })
    }

    /// These tools, and those that every run has. A tool of the file that has the name of a built-in
    /// one stands in its place.
    pub fn with_built_in(mut self) -> Self {
        for tool in super::built_in::definitions() {
            let name = tool.name.clone();
            self.tools.entry(name).or_insert_with(|| Arc::new(tool));
        }
        self
    }

    /// The tools that are not shared yet.
    pub(super) fn into_tools(self) -> impl Iterator<Item = Tool> {
        self.tools.into_values().filter_map(Arc::into_inner)
    }

    /// Every scope that some tool asks for.
    pub fn scopes(&self) -> BTreeSet<String> {
        let tools = self.iter();
        tools
            .flat_map(|tool| tool.required_scopes.iter().cloned())
            .collect()
    }

    /// The name that was probably meant by one that is not there.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        super::problem::nearest(name, self.tools.keys().map(String::as_str))
    }
}

/// A tools file that was read and found valid.
#[derive(Clone, Debug)]
pub struct ToolsFile {
    /// Its tools.
    pub registry: Registry,
    /// What it says under `server`, as it stands there; for the program around the engine.
    pub server: Option<Value>,
    /// What works, but perhaps not as meant.
    pub warnings: Vec<Warning>,
    source: Source,
}

impl ToolsFile {
    /// Reads a file; TOML where its name ends in `.toml`, else JSON.
    pub fn load(path: &Path) -> Result<Self, ToolsFileError> {
        let name = path.display().to_string();
        let unreadable = |message: String| ToolsFileError {
            file: name.clone(),
            problems: vec![Problem {
                message,
                help: None,
                pointer: String::new(),
                offset: 0,
                length: 0,
                line: 1,
                column: 1,
            }],
            text: String::new(),
        };
        let size = std::fs::metadata(path)
            .map_err(|error| unreadable(format!("cannot be read: {error}")))?
            .len();
        if u64::try_from(TOOLS_FILE_BYTES_MAX).is_ok_and(|max| max < size) {
            return Err(unreadable(format!(
                "is longer than {TOOLS_FILE_BYTES_MAX} bytes"
            )));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
        let toml = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
        let format = if toml { Format::Toml } else { Format::Json };
        Self::parse(&name, &text, format, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads a text; secrets are looked for in the current folder.
    pub fn from_str(text: &str, format: Format) -> Result<Self, ToolsFileError> {
        let name = match format {
            Format::Json => "holdpoint.json",
            Format::Toml => "holdpoint.toml",
        };
        Self::parse(name, text, format, Path::new(""))
    }

    /// Reads a text that is called `file` in messages; relative names of secrets start at `base`.
    pub fn parse(
        file: &str,
        text: &str,
        format: Format,
        base: &Path,
    ) -> Result<Self, ToolsFileError> {
        let source = Source::read(file, text, format)?;
        let mut report = Report::new(&source);
        let mut registry = Registry::default();
        let top = Place {
            value: &source.root,
            pointer: String::new(),
        };
        let mut server = None;
        if let Some(fields) = Fields::open(&top, &["tools", "server", "$schema"], &mut report) {
            server = fields.get("server").map(|place| place.value.clone());
            if server.as_ref().is_some_and(|server| !server.is_object()) {
                report.wrong("/server", "server must be an object", None);
            }
            fields.text("$schema", &mut report);
            if let Some(tools) = fields.require("tools", &mut report) {
                registry.tools = read_tools(&tools, base, &mut report);
            }
        }
        let Report {
            problems, warnings, ..
        } = report;
        if problems.is_empty() {
            Ok(Self {
                registry,
                server,
                warnings,
                source,
            })
        } else {
            Err(source.error(problems))
        }
    }

    /// The text of the file, so that places in it can be shown.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.source.file
    }

    /// A mistake that whoever reads `server` found at a JSON Pointer such as `/server/listen`; put
    /// several into [`Self::reject`].
    pub fn mistake(&self, pointer: &str, message: String, help: Option<String>) -> Problem {
        self.source.problem(pointer, false, message, help)
    }

    /// The error made of such mistakes.
    pub fn reject(&self, mistakes: Vec<Problem>) -> ToolsFileError {
        self.source.error(mistakes)
    }
}

fn read_tools(
    place: &Place<'_>,
    base: &Path,
    report: &mut Report<'_>,
) -> BTreeMap<String, Arc<Tool>> {
    let Value::Object(map) = place.value else {
        report.wrong(
            &place.pointer,
            "tools must be an object: names and their definitions",
            None,
        );
        return BTreeMap::new();
    };
    map.iter()
        .filter_map(|(name, value)| {
            let pointer = crate::canon::pointer_push(&place.pointer, name);
            let tool = read::tool(name, &Place { value, pointer }, base, report)?;
            Some((name.clone(), Arc::new(tool)))
        })
        .collect()
}

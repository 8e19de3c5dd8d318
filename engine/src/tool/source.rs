//! The text of a tools file as JSON values, with the place of each.

use serde_json::{Map, Value};
use toml_edit::{Document, Item, TableLike};

use super::problem::{Problem, ToolsFileError};
use crate::canon::{Spans, line_and_column, parse_spanned, parse_strict, pointer_push};
use crate::limits::{JSON_DEPTH_MAX, TOOLS_FILE_BYTES_MAX};

/// How a tools file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

/// A file that was read, but not understood yet.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) file: String,
    pub(super) text: String,
    pub(super) root: Value,
    pub(super) spans: Spans,
}

impl Source {
    pub(super) fn read(file: &str, text: &str, format: Format) -> Result<Self, ToolsFileError> {
        let read = match format {
            Format::Json => json(text),
            Format::Toml => toml(text),
        };
        let (root, spans) = read.map_err(|problem| ToolsFileError {
            file: file.to_owned(),
            problems: vec![*problem],
            text: text.to_owned(),
        })?;
        Ok(Self {
            file: file.to_owned(),
            text: text.to_owned(),
            root,
            spans,
        })
    }

    /// The error made of these problems, in the order of the text.
    pub(super) fn error(&self, mut problems: Vec<Problem>) -> ToolsFileError {
        problems.sort_by_key(|problem| problem.offset);
        ToolsFileError {
            file: self.file.clone(),
            problems,
            text: self.text.clone(),
        }
    }
}

type Read = Result<(Value, Spans), Box<Problem>>;

fn json(text: &str) -> Read {
    parse_spanned(text.as_bytes(), TOOLS_FILE_BYTES_MAX).map_err(|error| {
        Box::new(Problem {
            message: error.message,
            help: None,
            pointer: error.pointer,
            offset: error.offset,
            length: usize::from(error.offset < text.len()),
            line: error.line,
            column: error.column,
        })
    })
}

fn toml(text: &str) -> Read {
    let problem = |offset: usize, length: usize, pointer: String, message: String| {
        let (line, column) = line_and_column(text, offset);
        Box::new(Problem {
            message,
            help: None,
            pointer,
            offset,
            length,
            line,
            column,
        })
    };
    if TOOLS_FILE_BYTES_MAX < text.len() {
        let message = format!("the file is longer than {TOOLS_FILE_BYTES_MAX} bytes");
        return Err(problem(0, 0, String::new(), message));
    }
    let document = Document::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        problem(
            span.start,
            span.len(),
            String::new(),
            error.message().to_owned(),
        )
    })?;
    let mut reader = TomlReader {
        spans: Spans::default(),
    };
    let root = reader.table(document.as_table(), "", 0).map_err(|wrong| {
        let span = wrong.item_span.unwrap_or(0..0);
        problem(span.start, span.len(), wrong.pointer, wrong.message)
    })?;
    reader.spans.insert(String::new(), None, 0..text.len());
    Ok((root, reader.spans))
}

struct TomlReader {
    spans: Spans,
}

struct Wrong {
    item_span: Option<std::ops::Range<usize>>,
    pointer: String,
    message: String,
}

impl TomlReader {
    fn table(
        &mut self,
        table: &dyn TableLike,
        pointer: &str,
        depth: usize,
    ) -> Result<Value, Wrong> {
        let mut map = Map::new();
        for (name, item) in table.iter() {
            let pointer = pointer_push(pointer, name);
            let key = table.key(name).and_then(toml_edit::Key::span);
            if let Some(span) = item.span().or_else(|| key.clone()) {
                self.spans.insert(pointer.clone(), key, span);
            }
            map.insert(name.to_owned(), self.item(item, &pointer, depth + 1)?);
        }
        Ok(Value::Object(map))
    }

    fn item(&mut self, item: &Item, pointer: &str, depth: usize) -> Result<Value, Wrong> {
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(value) => self.value(value, pointer, depth),
            Item::Table(table) => self.table(table, pointer, depth),
            Item::ArrayOfTables(tables) => tables
                .iter()
                .enumerate()
                .map(|(index, table)| {
                    let pointer = format!("{pointer}/{index}");
                    if let Some(span) = table.span() {
                        self.spans.insert(pointer.clone(), None, span);
                    }
                    self.table(table, &pointer, depth + 1)
                })
                .collect(),
        }
    }

    fn value(
        &mut self,
        value: &toml_edit::Value,
        pointer: &str,
        depth: usize,
    ) -> Result<Value, Wrong> {
        let wrong = |message: &str| Wrong {
            item_span: value.span(),
            pointer: pointer.to_owned(),
            message: message.to_owned(),
        };
        if JSON_DEPTH_MAX < depth {
            return Err(wrong("the file is nested too deep"));
        }
        // Numbers go through the reader of JSON, so that both formats take and mean the same.
        let number = |text: String| {
            parse_strict(text.as_bytes())
                .map_err(|_| wrong("this number would lose its value; write it as a string"))
        };
        match value {
            toml_edit::Value::String(text) => Ok(Value::String(text.value().clone())),
            toml_edit::Value::Boolean(flag) => Ok(Value::Bool(*flag.value())),
            toml_edit::Value::Integer(integer) => number(integer.value().to_string()),
            toml_edit::Value::Float(float) => number(float.value().to_string()),
            toml_edit::Value::Datetime(_) => Err(wrong("write dates as strings, in quotes")),
            toml_edit::Value::InlineTable(table) => self.table(table, pointer, depth),
            toml_edit::Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| {
                    let pointer = format!("{pointer}/{index}");
                    if let Some(span) = item.span() {
                        self.spans.insert(pointer.clone(), None, span);
                    }
                    self.value(item, &pointer, depth + 1)
                })
                .collect(),
        }
    }
}

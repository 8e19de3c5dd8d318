//! The variables that a skill declares.

use serde_json::Value;

use crate::canon::parse_strict;

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
}

impl InputKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Object,
        Self::Array,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }

    /// The type with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a value is of this type.
    pub fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => {
                value.is_i64()
                    || value.is_u64()
                    || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }

    /// The value that a text stands for: itself for a string, JSON for all others. The error does not
    /// quote the text, which may be a secret.
    pub fn value_of(self, text: &str) -> Result<Value, String> {
        if self == Self::String {
            return Ok(Value::String(text.to_owned()));
        }
        let wrong = || format!("must be JSON of type {}", self.name());
        let value = parse_strict(text.as_bytes())
            .map_err(|error| format!("{}: {}", wrong(), error.message))?;
        if self.fits(&value) {
            Ok(value)
        } else {
            Err(wrong())
        }
    }
}

/// A variable that a skill declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its type.
    pub kind: InputKind,
    /// Whether a run needs it. One with a default has it.
    pub required: bool,
    /// Its value where none is given.
    pub default: Option<Value>,
    /// Whether it is never stored or shown. Such a variable has no default: that would stand in the file.
    pub secret: bool,
    /// What it is for.
    pub description: Option<String>,
}

impl Input {
    /// The declaration as it stands in a file.
    pub fn to_json(&self) -> Value {
        let mut members = serde_json::Map::new();
        members.insert("type".to_owned(), self.kind.name().into());
        if self.required {
            members.insert("required".to_owned(), true.into());
        }
        if let Some(default) = &self.default {
            members.insert("default".to_owned(), default.clone());
        }
        if self.secret {
            members.insert("secret".to_owned(), true.into());
        }
        if let Some(description) = &self.description {
            members.insert("description".to_owned(), description.as_str().into());
        }
        Value::Object(members)
    }
}

//! JSON Schema 2020-12 for arguments and results.
//!
//! Nothing is fetched: references stay inside the schema. Patterns are matched in linear time by an
//! engine without backtracking.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::ahead::{Open, OpenText, is_open_in};
use crate::canon::{CanonicalJson, pointer_push};
use crate::limits::{ARG_ERRORS_MAX, PATTERN_BYTES_MAX, SCHEMA_BYTES_MAX};

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", if pointer.is_empty() { String::new() } else { format!(" (at {pointer})") })]
pub struct ArgError {
    /// A JSON Pointer to the argument.
    pub pointer: String,
    /// What is wrong with it; never quotes the value.
    pub message: String,
}

/// What is wrong with a schema, and where in it.
#[derive(Debug)]
pub(super) struct SchemaError {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    source: Value,
    validator: Validator,
}

impl Schema {
    pub(super) fn compile(source: &Value) -> Result<Self, SchemaError> {
        let wrong = |pointer: &str, message: String| SchemaError {
            pointer: pointer.to_owned(),
            message,
        };
        if SCHEMA_BYTES_MAX < CanonicalJson::of(source).as_str().len() {
            return Err(wrong(
                "",
                format!("the schema is longer than {SCHEMA_BYTES_MAX} bytes"),
            ));
        }
        if let Some(dialect) = source.get("$schema")
            && dialect.as_str().map(|uri| uri.trim_end_matches('#'))
                != Some("https://json-schema.org/draft/2020-12/schema")
        {
            return Err(wrong(
                "/$schema",
                "schemas are read as JSON Schema 2020-12; leave $schema out".to_owned(),
            ));
        }
        local_references("", source)?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_BYTES_MAX)
                    .dfa_size_limit(PATTERN_BYTES_MAX),
            )
            .build(source)
            .map_err(|error| {
                let pointer = error.instance_path().to_string();
                wrong(&pointer, format!("this is not a valid schema: {error}"))
            })?;
        Ok(Self {
            source: source.clone(),
            validator,
        })
    }

    /// The schema as the file says it.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether the value fits.
    pub fn fits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Everything that does not fit, up to a bound.
    pub fn check(&self, value: &Value) -> Result<(), Vec<ArgError>> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let mut errors = self.validator.iter_errors(value);
        let mut list: Vec<ArgError> = errors
            .by_ref()
            .take(ARG_ERRORS_MAX)
            .map(|error| ArgError {
                pointer: error.instance_path().to_string(),
                message: error.masked().to_string(),
            })
            .collect();
        let more = errors.count();
        if more > 0 {
            list.push(ArgError {
                pointer: String::new(),
                message: format!("and {more} more"),
            });
        }
        Err(list)
    }

    /// What does not fit whatever comes to stand where the value is open, up to a bound.
    pub(super) fn check_ahead(&self, value: &Value, open: &Open) -> Vec<ArgError> {
        let errors = self.validator.iter_errors(value);
        errors
            .filter(|error| open.is_empty() || holds_anyway(error, open))
            .take(ARG_ERRORS_MAX)
            .map(|error| ArgError {
                pointer: error.instance_path().to_string(),
                message: error.masked().to_string(),
            })
            .collect()
    }

    /// The names of the top-level properties, and whether there can be no others.
    pub(super) fn properties(&self) -> (Vec<&str>, bool) {
        let mut names: Vec<&str> = self
            .source
            .get("properties")
            .and_then(Value::as_object)
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default();
        names.extend(self.required());
        names.sort_unstable();
        names.dedup();
        let is_false = |key: &str| self.source.get(key) == Some(&Value::Bool(false));
        let composed = [
            "$ref",
            "$dynamicRef",
            "allOf",
            "anyOf",
            "oneOf",
            "if",
            "patternProperties",
            "dependentSchemas",
        ]
        .iter()
        .any(|key| self.source.get(*key).is_some());
        let closed =
            (is_false("additionalProperties") || is_false("unevaluatedProperties")) && !composed;
        (names, closed)
    }

    /// The names of the top-level properties that must be there.
    pub(super) fn required(&self) -> Vec<&str> {
        self.source
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }
}

/// Keywords below which a mistake may be none, depending on something else.
const ALTERNATIVES: [&str; 8] = [
    "if",
    "then",
    "else",
    "anyOf",
    "oneOf",
    "not",
    "contains",
    "dependentSchemas",
];

/// Whether something is wrong whatever comes to stand where the value is open. Keys, how many there are,
/// and that a text is a text are never open.
fn holds_anyway(error: &ValidationError<'_>, open: &Open) -> bool {
    let path = error.evaluation_path().to_string();
    if path.split('/').any(|part| ALTERNATIVES.contains(&part)) {
        return false;
    }
    let at = error.instance_path().to_string();
    if !is_open_in(open, &at) {
        return true;
    }
    let is_hole = open.get(&at) == Some(&OpenText::Whole);
    match error.kind() {
        ValidationErrorKind::Required { .. }
        | ValidationErrorKind::AdditionalProperties { .. }
        | ValidationErrorKind::PropertyNames { .. }
        | ValidationErrorKind::MinProperties { .. }
        | ValidationErrorKind::MaxProperties { .. }
        | ValidationErrorKind::MinItems { .. }
        | ValidationErrorKind::MaxItems { .. }
        | ValidationErrorKind::Type { .. } => !is_hole,
        _ => false, // What is compared with the value itself.
    }
}

/// Refuses references that lead out of the schema.
fn local_references(pointer: &str, value: &Value) -> Result<(), SchemaError> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, inner)| {
            let pointer = pointer_push(pointer, key);
            if matches!(key.as_str(), "$ref" | "$dynamicRef")
                && inner.as_str().is_some_and(|target| !target.starts_with('#'))
            {
                let message = "a reference may only point into the same schema (#/$defs/…); nothing is fetched";
                return Err(SchemaError { pointer, message: message.to_owned() });
            }
            local_references(&pointer, inner)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, inner)| local_references(&format!("{pointer}/{index}"), inner)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(schema: &Value) -> (String, String) {
        let error = Schema::compile(schema).expect_err("a wrong schema");
        (error.pointer, error.message)
    }

    #[test]
    fn references_are_never_fetched() {
        let (pointer, message) =
            wrong(&json!({"properties": {"a": {"$ref": "https://example.com/s.json"}}}));
        assert_eq!(pointer, "/properties/a/$ref");
        assert!(message.contains("nothing is fetched"));
        assert_eq!(wrong(&json!({"$ref": "file:///etc/passwd"})).0, "/$ref");
        let local = json!({"$defs": {"id": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/id"}}});
        assert!(
            Schema::compile(&local)
                .expect("local")
                .check(&json!({"a": 1}))
                .is_err()
        );
    }

    #[test]
    fn v8_patterns_that_backtrack_or_are_huge_are_refused() {
        assert!(wrong(&json!({"pattern": "(?=a)b"})).1.contains("schema"));
        assert!(
            wrong(&json!({"pattern": "(\\w{1000}){1000}"}))
                .1
                .contains("schema")
        );
        let linear =
            Schema::compile(&json!({"type": "string", "pattern": "^(a+)+$"})).expect("linear");
        assert!(!linear.fits(&json!(format!("{}b", "a".repeat(50_000)))));
    }

    #[test]
    fn a_wrong_schema_says_where() {
        assert_eq!(
            wrong(&json!({"properties": {"a": {"type": "strin"}}})).0,
            "/properties/a/type"
        );
        assert_eq!(
            wrong(&json!({"$schema": "http://json-schema.org/draft-07/schema#"})).0,
            "/$schema"
        );
        assert!(
            wrong(&json!({"const": "x".repeat(70_000)}))
                .1
                .contains("longer than")
        );
    }

    #[test]
    fn errors_name_the_argument_and_not_its_value() {
        let schema =
            Schema::compile(&json!({"required": ["b"], "properties": {"a": {"type": "integer"}}}))
                .expect("valid");
        let errors = schema
            .check(&json!({"a": "hunter2"}))
            .expect_err("two errors");
        assert_eq!(errors.len(), 2);
        assert!(errors.iter().any(|error| error.pointer == "/a"));
        assert!(
            errors
                .iter()
                .all(|error| !error.message.contains("hunter2")),
            "{errors:?}"
        );
    }
}

//! Whether a schema looks at what stands at a place, at more of it than its type.

use serde_json::{Map, Value};

use super::schema::Schema;

/// How many parts of a schema are looked at; what is nested further, or refers to itself, counts as looking.
const PARTS_MAX: usize = 1000;

impl Schema {
    /// Whether it looks at the value at a place beyond its type. A keyword that is not known here looks at it.
    pub(super) fn looks_at(&self, path: &[String]) -> bool {
        let mut look = Look {
            root: self.source(),
            left: PARTS_MAX,
        };
        look.schema(self.source(), path, false)
    }
}

struct Look<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Look<'a> {
    /// With `by_type` the type matters too: something else follows from whether the schema fits.
    fn schema(&mut self, schema: &'a Value, path: &[String], by_type: bool) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return true;
        };
        self.left = left;
        // Of `true` and `false`, both are decided without looking.
        let keywords = schema.as_object();
        keywords.is_some_and(|all| {
            all.iter()
                .any(|(key, value)| self.keyword(all, (key, value), path, by_type))
        })
    }

    fn keyword(
        &mut self,
        all: &'a Map<String, Value>,
        (key, value): (&'a str, &'a Value),
        path: &[String],
        by_type: bool,
    ) -> bool {
        match key {
            "$schema" | "$comment" | "$defs" | "definitions" | "title" | "description"
            | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" => false,
            _ if key.starts_with("x-") => false,
            "type" => by_type && path.is_empty(),
            "allOf" => self.any_of(value.as_array().into_iter().flatten(), path, by_type),
            "anyOf" | "oneOf" => self.any_of(value.as_array().into_iter().flatten(), path, true),
            "dependentSchemas" => self.any_of(members(value), path, true),
            "not" | "if" | "then" | "else" => self.schema(value, path, true),
            "$ref" => match value.as_str().and_then(|target| self.target(target)) {
                Some(schema) => self.schema(schema, path, by_type),
                None => true,
            },
            _ => match path.split_first() {
                Some((name, rest)) => self.below(all, (key, value), (name, rest), by_type),
                None => true,
            },
        }
    }

    /// A keyword of what is around the place. Which keys there are, and how many, is no secret.
    fn below(
        &mut self,
        all: &'a Map<String, Value>,
        (key, value): (&'a str, &'a Value),
        (name, rest): (&str, &[String]),
        by_type: bool,
    ) -> bool {
        match key {
            "required" | "minProperties" | "maxProperties" | "propertyNames"
            | "dependentRequired" | "minItems" | "maxItems" | "minContains" | "maxContains" => {
                false
            }
            "uniqueItems" => value != &Value::Bool(false),
            "properties" => match value.get(name) {
                Some(schema) => self.schema(schema, rest, by_type),
                None => false,
            },
            "additionalProperties" if named(all, name) => false,
            "additionalProperties" | "unevaluatedProperties" | "items" | "unevaluatedItems" => {
                self.schema(value, rest, by_type)
            }
            // Which of the patterns fits is not asked.
            "patternProperties" => self.any_of(members(value), rest, by_type),
            "prefixItems" => self.any_of(value.as_array().into_iter().flatten(), rest, by_type),
            "contains" => self.schema(value, rest, true),
            _ => true,
        }
    }

    fn any_of(
        &mut self,
        mut schemas: impl Iterator<Item = &'a Value>,
        path: &[String],
        by_type: bool,
    ) -> bool {
        schemas.any(|schema| self.schema(schema, path, by_type))
    }

    /// What a reference inside of the schema leads to; none where that takes more than a JSON Pointer.
    fn target(&self, target: &str) -> Option<&'a Value> {
        let pointer = target.strip_prefix('#')?;
        (!pointer.contains('%')).then(|| self.root.pointer(pointer))?
    }
}

fn named(all: &Map<String, Value>, name: &str) -> bool {
    let properties = all.get("properties");
    properties.is_some_and(|properties| properties.get(name).is_some())
}

fn members(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(Map::values)
}

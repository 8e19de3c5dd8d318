//! Values that other code made: only those are taken that stay what they are (invariant I13).

use serde_json::Value;

use super::number;
use super::{CanonicalJson, pointer_push};
use crate::limits::JSON_DEPTH_MAX;

/// A value that would not stay what it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    /// Where, as a JSON Pointer.
    pub pointer: String,
    /// What, and what to do about it.
    pub message: String,
}

impl CanonicalJson {
    /// The canonical form of a value that stays what it is by that: one that could have been read
    /// strictly. A program can make others, which would turn into another number, or could not be read
    /// again.
    pub fn exact(value: &Value) -> Result<Self, ValueError> {
        check(value, "", 0)?;
        Ok(Self::of(value))
    }
}

fn check(value: &Value, at: &str, depth: usize) -> Result<(), ValueError> {
    let refused = |message: String| ValueError {
        pointer: at.to_owned(),
        message,
    };
    let is_deep = depth == JSON_DEPTH_MAX;
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(given) => match number::exact(&given.to_string()) {
            Some(_) => Ok(()),
            None => Err(refused(format!(
                "the number {given} at {at:?} does not keep its value in JSON (integers do up to ±2^53); send it as a string"
            ))),
        },
        Value::Array(_) | Value::Object(_) if is_deep => Err(refused(format!(
            "the value is nested more than {JSON_DEPTH_MAX} deep; make it flatter, or send a part of it as a string"
        ))),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| {
                check(item, &pointer_push(at, &index.to_string()), depth + 1)
            })
        }
        Value::Object(members) => {
            let mut members = members.iter();
            members.try_for_each(|(key, item)| check(item, &pointer_push(at, key), depth + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!("leaf"), |inner, _| json!([inner]))
    }

    #[test]
    fn what_is_taken_stays_what_it_is() {
        for value in [
            json!({ "n": 9_007_199_254_740_992_u64, "m": -9_007_199_254_740_992_i64 }),
            json!([0.1, 12.5, 1.0, -0.0, 1e-9]),
            nested(JSON_DEPTH_MAX),
        ] {
            let canonical = CanonicalJson::exact(&value).expect("it stays so");
            let again = CanonicalJson::parse_strict(canonical.as_str().as_bytes());
            assert_eq!(again.as_ref(), Ok(&canonical));
        }
    }

    #[test]
    fn what_would_become_another_value_is_refused_with_its_place() {
        for (value, at) in [
            (json!({ "order": 9_007_199_254_740_993_u64 }), "/order"),
            (json!([1, [u64::MAX]]), "/1/0"),
            (json!({ "a/b": i64::MIN }), "/a~1b"),
            (json!(1e300), ""),
        ] {
            let error = CanonicalJson::exact(&value).expect_err("refused");
            assert_eq!(error.pointer, at);
            assert!(error.message.contains("as a string"), "{error}");
        }
        let error = CanonicalJson::exact(&nested(JSON_DEPTH_MAX + 1)).expect_err("refused");
        assert!(error.message.contains("deep"), "{error}");
    }
}

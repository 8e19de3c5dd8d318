//! Reading the body of a call.

use serde_json::Value;

use super::http::template;
use crate::canon::pointer_push;
use crate::tool::fields::{Fields, Place, kind};
use crate::tool::http::{Body, JsonTemplate};
use crate::tool::problem::Report;
use crate::tool::template::Root;

pub(super) fn body(fields: &Fields<'_>, roots: &[Root], report: &mut Report<'_>) -> Body {
    match (fields.get("json"), fields.get("form")) {
        (None, None) => Body::None,
        (Some(place), None) => json(&place, roots, report).map_or(Body::None, Body::Json),
        (None, Some(place)) => {
            let Value::Object(map) = place.value else {
                report.wrong(
                    &place.pointer,
                    format!("expected an object, found {}", kind(place.value)),
                    None,
                );
                return Body::None;
            };
            let field = |(name, value): (&String, &Value), report: &mut Report<'_>| {
                // Numbers and booleans stand for their text.
                let text = match value {
                    Value::Number(_) | Value::Bool(_) => Value::String(value.to_string()),
                    Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                        value.clone()
                    }
                };
                let place = Place {
                    value: &text,
                    pointer: pointer_push(&place.pointer, name),
                };
                Some((name.clone(), template(&place, roots, report)?))
            };
            Body::Form(
                map.iter()
                    .filter_map(|entry| field(entry, report))
                    .collect(),
            )
        }
        (Some(_), Some(second)) => {
            report.wrong_key(&second.pointer, "a call has one body: json or form", None);
            Body::None
        }
    }
}

fn json(place: &Place<'_>, roots: &[Root], report: &mut Report<'_>) -> Option<JsonTemplate> {
    let below = |name: &str, value, report: &mut Report<'_>| {
        json(
            &Place {
                value,
                pointer: pointer_push(&place.pointer, name),
            },
            roots,
            report,
        )
    };
    Some(match place.value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            JsonTemplate::Literal(place.value.clone())
        }
        Value::String(_) => JsonTemplate::Text(template(place, roots, report)?),
        Value::Array(items) => JsonTemplate::Array(
            items
                .iter()
                .enumerate()
                .filter_map(|(index, item)| below(&index.to_string(), item, report))
                .collect(),
        ),
        Value::Object(map) => JsonTemplate::Object(
            map.iter()
                .filter_map(|(key, value)| Some((key.clone(), below(key, value, report)?)))
                .collect(),
        ),
    })
}

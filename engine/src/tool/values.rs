//! The values that placeholders stand for.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::money;
use super::template::{Currency, Root, Slot};
use crate::action::{ActionId, Caller};
use crate::canon::{CanonicalJson, pointer_push};

/// What a call is made from.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The arguments.
    pub args: &'a Value,
    /// Who proposed the action.
    pub caller: &'a Caller,
    /// What the state query returned, where it was read.
    pub state: Option<StateView<'a>>,
    /// The id of the action, where it has one.
    pub action_id: Option<ActionId>,
    /// The idempotency key, once it is rendered.
    pub idempotency_key: Option<&'a str>,
}

/// What the state query returned.
#[derive(Clone, Copy, Debug)]
pub struct StateView<'a> {
    /// The body.
    pub body: &'a Value,
    /// The `ETag` header.
    pub etag: Option<&'a str>,
}

/// Why a request, or a key, cannot be made from these values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// A JSON Pointer to the argument at fault; none where it is not an argument.
    pub pointer: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl RenderError {
    pub(super) fn of(slot: &Slot, message: &str) -> Self {
        let pointer = match slot.root {
            Root::Args => Some(
                slot.path
                    .iter()
                    .fold(String::new(), |at, name| pointer_push(&at, name)),
            ),
            Root::State
            | Root::StateEtag
            | Root::Caller
            | Root::ActionId
            | Root::IdempotencyKey => None,
        };
        Self {
            pointer,
            message: format!("{{{}}} {message}", slot.written),
        }
    }

    pub(super) fn whole(message: String) -> Self {
        Self {
            pointer: None,
            message,
        }
    }
}

/// The value of a placeholder as text: a string, a number or a boolean.
pub(super) fn text(slot: &Slot, ctx: &Context<'_>) -> Result<String, RenderError> {
    let value = look_up(slot, ctx)?;
    if let Some(currency) = &slot.money {
        let code = match currency {
            Currency::Code(code) => Some(code.as_str()),
            Currency::Argument(path) => path
                .iter()
                .try_fold(ctx.args, |value, name| child(value, name))
                .and_then(Value::as_str),
        };
        let code = code.ok_or_else(|| RenderError::of(slot, "has no currency"))?;
        // An amount that cannot be read as money is shown as it is, with what was meant.
        return money::format(&value, code)
            .or_else(|| Some(format!("{} (minor units of {code})", scalar(&value)?)))
            .ok_or_else(|| RenderError::of(slot, "is not an amount"));
    }
    scalar(&value).ok_or_else(|| {
        let kind = super::fields::kind(&value);
        RenderError::of(
            slot,
            &format!("is {kind}; only a string, a number or a boolean fits there"),
        )
    })
}

pub(super) fn look_up(slot: &Slot, ctx: &Context<'_>) -> Result<Value, RenderError> {
    let missing = || RenderError::of(slot, "has no value");
    let below = |value: &Value| {
        slot.path
            .iter()
            .try_fold(value, |value, name| child(value, name))
            .cloned()
            .ok_or_else(missing)
    };
    match slot.root {
        Root::Args => below(ctx.args),
        Root::State => ctx
            .state
            .ok_or_else(missing)
            .and_then(|state| below(state.body)),
        Root::StateEtag => ctx
            .state
            .and_then(|state| state.etag)
            .map(|etag| json!(etag))
            .ok_or_else(missing),
        Root::Caller => below(&caller_value(ctx.caller)),
        Root::ActionId => ctx
            .action_id
            .map(|id| json!(id.to_string()))
            .ok_or_else(missing),
        Root::IdempotencyKey => ctx
            .idempotency_key
            .map(|key| json!(key))
            .ok_or_else(missing),
    }
}

/// The caller as rules and templates see it: its attributes, and `id`, `name`, `kind`, `owner`.
pub(super) fn caller_value(caller: &Caller) -> Value {
    let mut map: serde_json::Map<String, Value> = caller
        .attributes
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    map.insert("id".to_owned(), json!(caller.id));
    map.insert("name".to_owned(), json!(caller.name));
    map.insert("kind".to_owned(), json!(caller.kind.name()));
    map.insert("owner".to_owned(), json!(caller.owner));
    Value::Object(map)
}

pub(super) fn child<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => Some(CanonicalJson::of(value).as_str().to_owned()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Characters that mean nothing special anywhere in a URL (RFC 3986).
pub(crate) fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Adds a text to `out`, with every byte percent-encoded that is not plain.
pub(crate) fn percent(out: &mut String, text: &str, plain: impl Fn(u8) -> bool) {
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
